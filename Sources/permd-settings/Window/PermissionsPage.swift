// Each permission with who has it, its devices and what is wrong with them, and the rules of the administrator.

import CAdwaita
import PermissionClient
import PermissionTexts

@MainActor
final class PermissionsPage {
    let widget: Widget
    let onOpen = Link<Permission>()
    private let model: Model
    private let groups: [Permission: Widget]
    private let switches: [SwitchRow]
    private let portals: PortalSection
    private var rows: [Permission: [Widget]] = [:]

    init(_ model: Model, _ changes: Changes) {
        self.model = model
        let content = Widgets.box(GTK_ORIENTATION_VERTICAL, spacing: 24)
        Widgets.margins(content, horizontal: 12, vertical: 12)
        groups = Dictionary(
            uniqueKeysWithValues: Permission.allCases.map { ($0, cadw_group_new(Texts.name($0))) })
        for permission in Permission.allCases { cadw_box_append(content, groups[permission]) }
        switches = Permission.allCases.map { SwitchRow($0, model, changes) }
        for row in switches { cadw_group_add(groups[row.permission], row.widget) }
        portals = PortalSection(model, changes)
        cadw_box_append(content, portals.widget)
        widget = cadw_scrolled(cadw_clamp(content, 720), 0)
        widget.on("map") { [portals] in portals.read() }
        model.onChange { [unowned self] part in
            if [.apps, .devices, .rules].contains(part) { show() }
        }
    }

    private func show() {
        for permission in Permission.allCases {
            guard let group = groups[permission] else { continue }
            for row in rows[permission] ?? [] { cadw_group_remove(group, row) }
            let new = [whoHasIt(permission)] + devices(permission) + rules(permission)
            for row in new { cadw_group_add(group, row) }
            rows[permission] = new
        }
    }

    private func whoHasIt(_ permission: Permission) -> Widget {
        let allowed = model.lists.apps.count { $0.permissions(.grant).contains(permission) }
        let denied = model.lists.apps.count { $0.permissions(.deny).contains(permission) }
        let row = Widgets.row(
            Texts.text("Apps"), Texts.text("Allowed: %@ · Not allowed: %@", "\(allowed)", "\(denied)"),
            icon: "view-app-grid-symbolic")
        cadw_row_add_suffix(row, Widgets.icon("go-next-symbolic", size: 16))
        Widgets.activate(row) { [onOpen] in onOpen.follow(permission) }
        return row
    }

    private func devices(_ permission: Permission) -> [Widget] {
        let devices = model.lists.devices.filter { $0.permission == permission }
        if devices.isEmpty {
            return [
                Widgets.row(
                    Texts.text("No device was found"), Texts.text("Connect one, or switch it on."),
                    icon: "action-unavailable-symbolic")
            ]
        }
        return devices.map { device in
            let name = SafeText.title(device.name)
            var lines: [String] = []
            if !device.isUsable {
                lines = [SafeText.line(device.problem), PermissionsPage.advice(for: device)]
            } else {
                lines = [device.problem, device.node].filter { !$0.isEmpty }.map { SafeText.line($0) }
            }
            return Widgets.row(
                name.isEmpty ? SafeText.line(device.id) : name, lines.joined(separator: "\n"),
                icon: device.isUsable ? Icons.of(permission) : "dialog-warning-symbolic")
        }
    }

    private static func advice(for device: DeviceRow) -> String {
        switch device.permission {
        case .bluetooth: Texts.text("Switch Bluetooth on: with the switch on the machine, or in the system's settings.")
        case .location where device.node.isEmpty: Texts.text("Start GeoClue, or check its configuration.")
        default:
            Texts.text(
                "Log in at the machine itself, or ask the administrator to add you to the group that owns %@.",
                SafeText.line(device.node))
        }
    }

    private func rules(_ permission: Permission) -> [Widget] {
        model.lists.rules.filter { $0.permissions.contains(permission) }.map { rule in
            let apps = SafeText.line(rule.apps)
            let text =
                rule.action == .restrict
                ? Texts.pattern("The administrator forbids it: %@") : Texts.pattern("The administrator allows it: %@")
            return Widgets.row(
                Texts.filled(text, [apps == "*" ? Texts.text("all apps") : apps]),
                Texts.text("Rule %@ in %@", SafeText.line(rule.rule), SafeText.line("\(rule.file):\(rule.line)")),
                icon: "changes-prevent-symbolic")
        }
    }
}
