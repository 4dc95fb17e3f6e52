// The page of a permission: all apps about which something was decided.

import CAdwaita
import PermissionClient
import PermissionTexts

@MainActor
final class KindPage {
    let widget: Widget
    let onOpen = Link<AppID>()
    let onBack = Link<Void>()
    private let model: Model
    private let title = adw_window_title_new("", "")!
    private let entry: Widget
    private var list: RowList<AppEntry>!
    private let stack = cadw_stack_new()!
    private let empty: Widget
    private var permission: Permission?

    init(_ model: Model) {
        self.model = model
        entry = cadw_search_new(Texts.text("Search apps"))
        cadw_name(entry, Texts.text("Search apps"))
        empty = cadw_status_new("view-app-grid-symbolic", "")
        Widgets.margins(entry, horizontal: 12, vertical: 6)
        let bar = cadw_header_new(title)!
        cadw_header_start(
            bar, Widgets.iconButton("go-previous-symbolic", Texts.text("Back")) { [onBack] in onBack.follow(()) })
        widget = Widgets.box(GTK_ORIENTATION_VERTICAL, bar, cadw_clamp(entry, 720), stack.expands())
        list = RowList(
            name: Texts.text("Apps"), iconSize: 32,
            content: { [unowned self] entry in
                RowContent(
                    icon: Icons.of(entry.look), title: entry.look.name,
                    subtitle: Choice.of(decision(entry), byRule: false).label)
            }, open: { [onOpen] in onOpen.follow($0.app) })
        cadw_stack_add(stack, list.widget, "list")
        cadw_stack_add(stack, empty, "empty")
        entry.on("search-changed") { [unowned self] in show() }
        model.onChange { [unowned self] part in
            if part == .apps { show() }
        }
    }

    func search() { gtk_widget_grab_focus(entry) }

    func show(_ permission: Permission) {
        if self.permission != permission {
            cadw_search_set(entry, "")
            list.show([])
        }
        self.permission = permission
        show()
    }

    private func decision(_ entry: AppEntry) -> DecisionRow? {
        entry.decisions.first { $0.question.permission == permission }
    }

    private func show() {
        guard let permission else { return }
        cadw_title_set(title, Texts.name(permission), "")
        let text = String(cString: cadw_search_text(entry)).lowercased()
        let decided = model.apps.filter { decision($0) != nil }
        let apps = decided.filter { $0.matches(text) }
        list.show(apps)
        cadw_stack_show(stack, apps.isEmpty ? "empty" : "list")
        guard apps.isEmpty else { return }
        if decided.isEmpty {
            cadw_status_set(
                empty, Icons.of(permission), Texts.text("Nothing Decided"),
                Texts.text("You have neither allowed nor refused it to any app. An app that needs it asks."), nil)
        } else {
            cadw_status_set(
                empty, "system-search-symbolic", Texts.text("No App Found"),
                Texts.text("Search for a part of its name or of its identity."), nil)
        }
    }
}
