// All apps, with what each may use.

import CAdwaita
import PermissionClient
import PermissionTexts

@MainActor
final class AppsPage {
    let widget: Widget
    let onOpen = Link<AppID>()
    private let model: Model
    private let entry: Widget
    private let list: RowList<AppEntry>
    private let stack = cadw_stack_new()!
    private let empty: Widget

    init(_ model: Model) {
        self.model = model
        entry = cadw_search_new(Texts.text("Search apps"))
        list = RowList(
            name: Texts.text("Apps"), iconSize: 32,
            content: {
                RowContent(icon: Icons.of($0.look), title: $0.look.name, subtitle: AppsPage.summary($0))
            }, open: { [onOpen] in onOpen.follow($0.app) })
        empty = cadw_status_new("view-app-grid-symbolic", "")
        Widgets.margins(entry, horizontal: 12, vertical: 6)
        cadw_name(entry, Texts.text("Search apps"))
        cadw_stack_add(stack, list.widget, "list")
        cadw_stack_add(stack, empty, "empty")
        widget = Widgets.box(GTK_ORIENTATION_VERTICAL, cadw_clamp(entry, 720), stack.expands())
        entry.on("search-changed") { [unowned self] in show() }
        model.onChange { [unowned self] part in
            if part == .apps { show() }
        }
    }

    func search() { gtk_widget_grab_focus(entry) }

    private func show() {
        let text = String(cString: cadw_search_text(entry)).lowercased()
        let apps = text.isEmpty ? model.apps : model.apps.filter { $0.matches(text) }
        list.show(apps)
        cadw_stack_show(stack, apps.isEmpty ? "empty" : "list")
        guard apps.isEmpty else { return }
        if model.apps.isEmpty {
            cadw_status_set(
                empty, "view-app-grid-symbolic", Texts.text("No Apps Yet"),
                Texts.text("An app is listed here once it has asked for a permission or used a device."), nil)
        } else {
            cadw_status_set(
                empty, "system-search-symbolic", Texts.text("No App Found"),
                Texts.text("Search for a part of its name or of its identity."), nil)
        }
    }

    /// `Allowed: Camera, Microphone · Not allowed: Location`.
    static func summary(_ entry: AppEntry) -> String {
        let parts = [
            (Texts.pattern("Allowed: %@"), DecisionRow.Kind.grant), (Texts.pattern("Not allowed: %@"), .deny),
            (Texts.pattern("Paused: %@"), .pause),
        ].compactMap { pattern, kind -> String? in
            let permissions = entry.permissions(kind)
            return permissions.isEmpty ? nil : Texts.filled(pattern, [Texts.list(permissions)])
        }
        let decided = parts.isEmpty ? [Texts.text("Nothing decided")] : parts
        // Programs without a desktop entry are told apart by their paths.
        let path = entry.app.kind == .exe ? [SafeText.identity(entry.app.name)] : []
        return (decided + path).joined(separator: " · ")
    }
}
