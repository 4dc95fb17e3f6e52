// The history, with a search and filters.

import CAdwaita
import PermissionClient
import PermissionTexts

@MainActor
final class HistoryPage {
    let widget: Widget
    let onOpen = Link<AppID>()
    private let model: Model
    private let entry: Widget
    private let appMenu: Widget
    private let kindMenu: Widget
    private let outcomeMenu: Widget
    private let list: RowList<HistoryRow>
    private let stack = cadw_stack_new()!
    private let empty: Widget
    /// The entries of the menus after the first, which is for all.
    private var apps: [AppID] = []
    private let questions: [Question] =
        Permission.allCases.map(Question.permission) + PortalQuestion.allCases.map(Question.portal)
    private let outcomes = Outcome.allCases.filter { $0 != .unknown }
    private var selectedApp: AppID?
    private var isFilling = false

    init(_ model: Model) {
        self.model = model
        entry = cadw_search_new(Texts.text("Search the history"))
        cadw_name(entry, Texts.text("Search the history"))
        appMenu = HistoryPage.menu([Texts.text("All Apps")], isSearchable: true)
        kindMenu = HistoryPage.menu([Texts.text("All Kinds")] + questions.map(Texts.name), isSearchable: false)
        outcomeMenu = HistoryPage.menu([Texts.text("All Outcomes")] + outcomes.map(Texts.name), isSearchable: false)
        for (menu, name) in [
            (appMenu, Texts.text("App")), (kindMenu, Texts.text("Kind")), (outcomeMenu, Texts.text("Outcome")),
        ] { cadw_name(menu, name) }
        list = RowList(
            name: Texts.text("History"), iconSize: 16,
            content: { [names = model.names] in HistoryText.content($0, names: names) },
            open: { [onOpen] in onOpen.follow($0.app) })
        empty = cadw_status_new("document-open-recent-symbolic", "")
        let filters = cadw_flow_new(3)!
        for menu in [appMenu, kindMenu, outcomeMenu] { cadw_flow_add(filters, menu) }
        let top = Widgets.box(GTK_ORIENTATION_VERTICAL, spacing: 6, entry, filters)
        Widgets.margins(top, horizontal: 12, vertical: 6)
        cadw_stack_add(stack, list.widget, "list")
        cadw_stack_add(stack, empty, "empty")
        widget = Widgets.box(GTK_ORIENTATION_VERTICAL, cadw_clamp(top, 720), stack.expands())
        entry.on("search-changed") { [unowned self] in show() }
        appMenu.on("notify::selected") { [unowned self] in chooseApp() }
        for menu in [kindMenu, outcomeMenu] {
            menu.on("notify::selected") { [unowned self] in show() }
        }
        model.onChange { [unowned self] part in
            if part == .apps { fillApps() }
            if part == .history { show() }
        }
    }

    private static func menu(_ choices: [String], isSearchable: Bool) -> Widget {
        var menu: Widget?
        Widgets.withStrings(choices) { menu = cadw_drop_down_new($0, isSearchable ? 1 : 0) }
        return menu!
    }

    func search() { gtk_widget_grab_focus(entry) }

    /// Shows only the rows of an app.
    func filter(_ app: AppID) {
        cadw_search_set(entry, "")
        for menu in [kindMenu, outcomeMenu] { cadw_drop_down_select(menu, 0) }
        selectedApp = app
        fillApps()
        show()
    }

    private func fillApps() {
        let logged = Set(model.history.map(\.app)).union([selectedApp].compactMap { $0 })
        let new = model.apps.filter { logged.contains($0.app) }
        let place = guint(new.firstIndex { $0.app == selectedApp }.map { $0 + 1 } ?? 0)
        isFilling = true
        defer { isFilling = false }
        if new.map(\.app) != apps {
            apps = new.map(\.app)
            Widgets.withStrings([Texts.text("All Apps")] + new.map(\.look.name)) {
                cadw_drop_down_set(appMenu, $0, place)
            }
        } else {
            cadw_drop_down_select(appMenu, place)
        }
    }

    private func chooseApp() {
        guard !isFilling else { return }
        let place = Int(cadw_drop_down_selected(appMenu)) - 1
        selectedApp = apps.indices.contains(place) ? apps[place] : nil
        show()
    }

    private func show() {
        let filter = HistoryFilter(
            app: selectedApp, question: HistoryPage.choice(kindMenu, questions),
            outcome: HistoryPage.choice(outcomeMenu, outcomes),
            search: String(cString: cadw_search_text(entry)))
        let rows = filter.apply(model.history, model.names)
        list.show(rows)
        cadw_stack_show(stack, rows.isEmpty ? "empty" : "list")
        guard rows.isEmpty else { return }
        if model.history.isEmpty {
            cadw_status_set(
                empty, "document-open-recent-symbolic", Texts.text("No History Yet"),
                Texts.text("What apps ask for and what they use is listed here."), nil)
        } else {
            cadw_status_set(
                empty, "system-search-symbolic", Texts.text("Nothing Found"),
                Texts.text("Change the search or the filters."), nil)
        }
    }

    private static func choice<Value>(_ menu: Widget, _ values: [Value]) -> Value? {
        let place = Int(cadw_drop_down_selected(menu)) - 1
        return values.indices.contains(place) ? values[place] : nil
    }
}
