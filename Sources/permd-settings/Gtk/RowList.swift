// A list of any length, of which GTK only makes the rows that are visible. It keeps its place when rows change.

import CAdwaita

/// What a row shows. All of it is plain text.
struct RowContent: Equatable {
    var icon: String
    var title: String
    var subtitle: String
    /// At the end of the row.
    var detail = ""
}

@MainActor
final class RowList<Item: Equatable> {
    /// The list in its scrolled window.
    let widget: Widget
    private let strings: OpaquePointer
    private let source: RowSource
    private var items: [Item] = []

    /// - Parameters:
    ///   - iconSize: The size of the icons of rows.
    ///   - content: What the row of an item shows. It is called when the row becomes visible.
    ///   - open: Called when a row is clicked; nil if nothing happens then.
    init(
        name: String, iconSize: Int32, content: @escaping @MainActor (Item) -> RowContent,
        open: (@MainActor (Item) -> Void)? = nil
    ) {
        strings = cadw_strings_new()!
        source = RowSource(iconSize: iconSize, isActivatable: open != nil)
        let view = source.listView(strings)
        cadw_name(view, name)
        gtk_widget_add_css_class(view, "permd-list")
        widget = cadw_scrolled(cadw_clamp_scrollable(view, 720), 0).expands()
        source.content = { [unowned self] position in
            position < items.count ? content(items[position]) : nil
        }
        if let open {
            onActivate(view) { [unowned self] position in
                if position < items.count { open(items[position]) }
            }
        }
    }

    /// Shows these items. Rows before and after what has changed stay as they are.
    func show(_ new: [Item]) {
        let (same, sameEnd) = Difference.ends(items, new)
        let removed = items.count - same - sameEnd
        let added = new.count - same - sameEnd
        guard removed > 0 || added > 0 else { return }
        items = new
        Widgets.withStrings(Array(repeating: "", count: added)) {
            gtk_string_list_splice(strings, guint(same), guint(removed), $0)
        }
    }
}

enum Difference {
    /// The number of equal items at the beginning and at the end of two arrays.
    static func ends<Item: Equatable>(_ old: [Item], _ new: [Item]) -> (first: Int, last: Int) {
        let most = min(old.count, new.count)
        var first = 0
        while first < most, old[first] == new[first] { first += 1 }
        var last = 0
        while last < most - first, old[old.count - 1 - last] == new[new.count - 1 - last] { last += 1 }
        return (first, last)
    }
}

/// Makes and fills the rows of a list view.
@MainActor
private final class RowSource {
    private let iconSize: Int32
    private let isActivatable: Bool
    var content: (@MainActor (Int) -> RowContent?)?

    init(iconSize: Int32, isActivatable: Bool) {
        self.iconSize = iconSize
        self.isActivatable = isActivatable
    }

    // SAFETY: the list view, and its factory with it, live as long as the window and so as long as this object.
    func listView(_ strings: OpaquePointer) -> Widget {
        cadw_list_view_new(
            strings, { _, item, context in RowSource.with(item, context) { $0.setUp($1) } },
            { _, item, context in RowSource.with(item, context) { $0.bind($1) } },
            Unmanaged.passUnretained(self).toOpaque())
    }

    private nonisolated static func with(
        _ item: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?,
        _ body: @MainActor (RowSource, UnsafeMutableRawPointer) -> Void
    ) {
        guard let item, let context else { return }
        // SAFETY: GTK calls factories on its thread, which is the main actor's.
        nonisolated(unsafe) let row = item
        let source = Unmanaged<RowSource>.fromOpaque(context).takeUnretainedValue()
        MainActor.assumeIsolated { body(source, row) }
    }

    private func setUp(_ item: UnsafeMutableRawPointer) {
        let texts = Widgets.box(
            GTK_ORIENTATION_VERTICAL, spacing: 2, Widgets.label(""), Widgets.label("", style: "permd-subtitle"))
        gtk_widget_set_hexpand(texts, 1)
        gtk_widget_set_valign(texts, GTK_ALIGN_CENTER)
        let detail = Widgets.label("", style: "permd-subtitle")
        let row = Widgets.box(GTK_ORIENTATION_HORIZONTAL, spacing: 12, Widgets.icon("", size: iconSize), texts, detail)
        Widgets.margins(row, horizontal: 6, vertical: 6)
        cadw_list_item_set_child(item, row)
        cadw_list_item_set_activatable(item, isActivatable ? 1 : 0)
    }

    private func bind(_ item: UnsafeMutableRawPointer) {
        guard let content = content?(Int(cadw_list_item_position(item))), let row = cadw_list_item_child(item),
            let icon = gtk_widget_get_first_child(row), let texts = gtk_widget_get_next_sibling(icon),
            let detail = gtk_widget_get_next_sibling(texts), let title = gtk_widget_get_first_child(texts),
            let subtitle = gtk_widget_get_next_sibling(title)
        else { return }
        Widgets.setIcon(icon, content.icon, size: iconSize)
        cadw_label_set(title, content.title)
        cadw_label_set(subtitle, content.subtitle)
        subtitle.setVisible(!content.subtitle.isEmpty)
        cadw_label_set(detail, content.detail)
        detail.setVisible(!content.detail.isEmpty)
        cadw_list_item_set_name(item, content.title, "\(content.subtitle) \(content.detail)")
    }
}
