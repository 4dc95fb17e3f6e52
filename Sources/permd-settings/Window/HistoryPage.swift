// The history, with a search and filters.

import CAdwaita
import PermissionClient
import PermissionTexts

@MainActor
final class HistoryPage {
    let onOpen = Link<AppID>()
    let list: SearchableList<HistoryRow>
    private let model: Model
    private let appMenu: Widget
    private let kindMenu: Widget
    private let outcomeMenu: Widget
    /// The entries of the menus after the first, which is for all.
    private var apps: [AppID] = []
    private let items: [PromptItem] =
        Permission.allCases.map(PromptItem.permission) + PortalItem.allCases.map(PromptItem.portal)
    private let outcomes = Outcome.allCases.filter { $0 != .unknown }
    private var selectedApp: AppID?
    private var isFilling = false

    init(_ model: Model) {
        self.model = model
        appMenu = HistoryPage.menu([Texts.text("All Apps")], isSearchable: true)
        kindMenu = HistoryPage.menu([Texts.text("All Kinds")] + items.map(Texts.name), isSearchable: false)
        outcomeMenu = HistoryPage.menu([Texts.text("All Outcomes")] + outcomes.map(Texts.name), isSearchable: false)
        let filters = cadw_flow_new(3)!
        for (menu, name) in [
            (appMenu, Texts.text("App")), (kindMenu, Texts.text("Kind")), (outcomeMenu, Texts.text("Outcome")),
        ] {
            cadw_name(menu, name)
            cadw_flow_add(filters, menu)
        }
        list = SearchableList(
            name: Texts.text("History"), hint: Texts.text("Search the history"), iconSize: 16, filters: filters,
            content: { [names = model.names] in HistoryText.content($0, names: names) },
            open: { [onOpen] row in
                if let app = row.app { onOpen.follow(app) }
            })
        list.onSearch = { [unowned self] in show() }
        appMenu.on("notify::selected") { [unowned self] in selectApp() }
        for menu in [kindMenu, outcomeMenu] {
            menu.on("notify::selected") { [unowned self] in show() }
        }
        model.onChange { [unowned self] part in
            if part == .apps { fillApps() }
            if part == .history { show() }
        }
    }

    private static func menu(_ entries: [String], isSearchable: Bool) -> Widget {
        var menu: Widget?
        Widgets.withStrings(entries) { menu = cadw_drop_down_new($0, isSearchable ? 1 : 0) }
        return menu!
    }

    /// Shows only the rows of an app.
    func filter(_ app: AppID) {
        list.clear()
        for menu in [kindMenu, outcomeMenu] { cadw_drop_down_select(menu, 0) }
        selectedApp = app
        fillApps()
        show()
    }

    private func fillApps() {
        let logged = Set(model.lists.history.compactMap(\.app)).union([selectedApp].compactMap { $0 })
        let new = model.lists.apps.filter { logged.contains($0.app) }
        let place = guint(new.firstIndex { $0.app == selectedApp }.map { $0 + 1 } ?? 0)
        isFilling = true
        defer { isFilling = false }
        if new.map(\.app) != apps {
            apps = new.map(\.app)
            Widgets.withStrings([Texts.text("All Apps")] + new.map(\.label.name)) {
                cadw_drop_down_set(appMenu, $0, place)
            }
        } else {
            cadw_drop_down_select(appMenu, place)
        }
    }

    private func selectApp() {
        guard !isFilling else { return }
        let place = Int(cadw_drop_down_selected(appMenu)) - 1
        selectedApp = apps.indices.contains(place) ? apps[place] : nil
        show()
    }

    private func show() {
        let item = HistoryPage.selection(kindMenu, items)
        let outcome = HistoryPage.selection(outcomeMenu, outcomes)
        let text = list.text
        let rows = model.lists.history.filter { row in
            (selectedApp == nil || row.app == selectedApp) && (item == nil || row.item == item)
                && (outcome == nil || row.outcome == outcome) && (text.isEmpty || matches(row, text))
        }
        list.show(
            rows,
            orElse: model.lists.history.isEmpty
                ? EmptyState(
                    icon: "document-open-recent-symbolic", title: Texts.text("No History Yet"),
                    text: Texts.text("What apps ask for and what they use is listed here."))
                : EmptyState(
                    icon: "system-search-symbolic", title: Texts.text("Nothing Found"),
                    text: Texts.text("Change the search or the filters.")))
    }

    /// A part of the app's name or identity, of the kind, or of the outcome, in the person's language.
    private func matches(_ row: HistoryRow, _ text: String) -> Bool {
        row.app.map { AppEntry.searched($0, model.names.label(of: $0)).contains(text) } ?? false
            || "\(Texts.name(row.item))\n\(Texts.name(row.outcome))".lowercased().contains(text)
    }

    private static func selection<Value>(_ menu: Widget, _ values: [Value]) -> Value? {
        let place = Int(cadw_drop_down_selected(menu)) - 1
        return values.indices.contains(place) ? values[place] : nil
    }
}
