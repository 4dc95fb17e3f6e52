// What is in use now, at the top of the window, with a button that takes the grant back.

import CAdwaita
import PermissionClient
import PermissionTexts

@MainActor
final class InUseSection {
    let widget: Widget
    let onOpen = Link<AppID>()
    private let model: Model
    private let changes: Changes
    private let list = cadw_list_box_new()!
    private let scrolled: Widget
    private let nothing: Widget
    private var rows: [UInt32: Widget] = [:]

    init(_ model: Model, _ changes: Changes) {
        self.model = model
        self.changes = changes
        let heading = Widgets.label(Texts.text("In Use Now"), style: "heading")
        nothing = Widgets.label(
            Texts.text("No app is using the camera or the microphone."), style: "permd-subtitle", wraps: true)
        Widgets.margins(list, horizontal: 2, vertical: 2)
        scrolled = cadw_scrolled(list, 260)
        cadw_name(list, Texts.text("In Use Now"))
        let box = Widgets.box(GTK_ORIENTATION_VERTICAL, spacing: 6, heading, nothing, scrolled)
        Widgets.margins(box, horizontal: 12, vertical: 12)
        widget = cadw_clamp(box, 720)
        model.onChange { [unowned self] part in
            if part == .uses { show() }
        }
        show()
    }

    private func show() {
        let uses = model.lists.uses
        for (use, row) in rows where !uses.contains(where: { $0.use == use }) {
            cadw_list_box_remove(list, row)
            rows[use] = nil
        }
        for use in uses where rows[use.use] == nil {
            let row = row(use)
            rows[use.use] = row
            cadw_list_box_append(list, row)
        }
        nothing.setVisible(uses.isEmpty)
        scrolled.setVisible(!uses.isEmpty)
    }

    private func row(_ use: UseRow) -> Widget {
        let name =
            use.app.map { model.names.label(of: $0).name } ?? Texts.text("A program that cannot be identified")
        let row = Widgets.row(name, InUseSection.details(use), icon: Icons.of(use.permission))
        guard let app = use.app else { return row }
        let stop = Widgets.button(Texts.text("Stop")) { [changes] in changes.stop(use, app, name) }
        cadw_describe(
            stop, Texts.text("%@: takes back %@", Texts.isolated(name), Texts.name(use.permission)))
        cadw_row_add_suffix(row, stop)
        Widgets.activate(row) { [onOpen] in onOpen.follow(app) }
        return row
    }

    static func details(_ use: UseRow) -> String {
        let device = SafeText.title(use.deviceName)
        var parts = [Texts.name(use.permission)]
        if !device.isEmpty { parts.append(Texts.isolated(device)) }
        parts.append(Texts.text("since %@", TimeText.short(use.since)))
        if let objection = UseTexts.objection(use.status) { parts.append(objection) }
        let line = parts.joined(separator: " · ")
        guard !use.isCut else { return line }
        return line + "\n" + Texts.text("It has opened the device itself. Only quitting it ends that.")
    }
}
