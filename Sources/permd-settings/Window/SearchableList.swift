// A list below a search entry, and what is shown in its place while it is empty.

import CAdwaita

/// What is shown instead of rows.
struct EmptyState {
    let icon: String
    let title: String
    let text: String
}

@MainActor
final class SearchableList<Item: Equatable> {
    let widget: Widget
    private let entry: Widget
    private let rows: RowList<Item>
    private let stack = cadw_stack_new()!
    private let empty = cadw_status_new("system-search-symbolic", "")!
    /// Called when another text is searched for.
    var onSearch: @MainActor () -> Void = {}
    /// Called for Escape when there is nothing to clear.
    var onEscape: @MainActor () -> Void = {}

    /// - Parameters:
    ///   - hint: What the entry says as long as it is empty.
    ///   - filters: Shown below the entry.
    ///   - content: What the row of an item shows.
    ///   - open: Called when a row is clicked.
    init(
        name: String, hint: String, iconSize: Int32, filters: Widget? = nil,
        content: @escaping @MainActor (Item) -> RowContent, open: @escaping @MainActor (Item) -> Void
    ) {
        entry = cadw_search_new(hint)
        cadw_name(entry, hint)
        rows = RowList(name: name, iconSize: iconSize, content: content, open: open)
        let top = Widgets.box(GTK_ORIENTATION_VERTICAL, spacing: 6, entry)
        if let filters { cadw_box_append(top, filters) }
        Widgets.margins(top, horizontal: 12, vertical: 6)
        cadw_stack_add(stack, rows.widget, "list")
        cadw_stack_add(stack, empty, "empty")
        widget = Widgets.box(GTK_ORIENTATION_VERTICAL, cadw_clamp(top, 720), stack.expands()).expands()
        entry.on("search-changed") { [unowned self] in onSearch() }
        entry.on("stop-search") { [unowned self] in if text.isEmpty { onEscape() } else { clear() } }
    }

    /// What is searched for, in lower case.
    var text: String { String(cString: cadw_search_text(entry)).lowercased() }

    func focus() { gtk_widget_grab_focus(entry) }

    func clear() { cadw_search_set(entry, "") }

    func show(_ items: [Item], orElse state: @autoclosure () -> EmptyState) {
        rows.show(items)
        cadw_stack_show(stack, items.isEmpty ? "empty" : "list")
        guard items.isEmpty else { return }
        let state = state()
        cadw_status_set(empty, state.icon, state.title, state.text, nil)
    }
}
