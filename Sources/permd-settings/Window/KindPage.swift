// The page of a permission: its switch, and all apps about which something was decided.

import CAdwaita
import PermissionClient
import PermissionTexts

@MainActor
final class KindPage {
    let widget: Widget
    let onOpen = Link<AppID>()
    let onBack = Link<Void>()
    private(set) var list: SearchableList<AppEntry>!
    private let model: Model
    private let title = adw_window_title_new("", "")!
    private let onOff: SwitchRow
    private var permission: Permission?

    init(_ model: Model, _ changes: Changes) {
        self.model = model
        onOff = SwitchRow(Permission.allCases[0], model, changes)
        let group = cadw_group_new("")!
        cadw_group_add(group, onOff.widget)
        Widgets.margins(group, horizontal: 12, vertical: 6)
        widget = Widgets.box(
            GTK_ORIENTATION_VERTICAL, Widgets.header(title, onBack), cadw_clamp(group, 720))
        list = SearchableList(
            name: Texts.text("Apps"), hint: Texts.text("Search apps"), iconSize: 32,
            content: { [unowned self] entry in
                RowContent(
                    icon: Icons.of(entry.label), title: entry.label.name,
                    subtitle: Selection.of(decision(entry), byRule: false).label)
            }, open: { [onOpen] in onOpen.follow($0.app) })
        cadw_box_append(widget, list.widget)
        list.onSearch = { [unowned self] in show() }
        list.onEscape = { [onBack] in onBack.follow(()) }
        model.onChange { [unowned self] part in
            if part == .apps { show() }
        }
    }

    func show(_ permission: Permission) {
        if self.permission != permission {
            list.clear()
            list.show([], orElse: .noAppFound)
        }
        self.permission = permission
        onOff.permission = permission
        show()
    }

    private func decision(_ entry: AppEntry) -> DecisionRow? {
        entry.decisions.first { $0.item.permission == permission }
    }

    private func show() {
        guard let permission else { return }
        cadw_title_set(title, Texts.name(permission), "")
        let text = list.text
        let decided = model.lists.apps.filter { decision($0) != nil }
        list.show(
            decided.filter { $0.matches(text) },
            orElse: decided.isEmpty
                ? EmptyState(
                    icon: Icons.of(permission), title: Texts.text("Nothing Decided"),
                    text: Texts.text(
                        "You have neither allowed nor refused it to any app. An app that needs it asks."))
                : .noAppFound)
    }
}
