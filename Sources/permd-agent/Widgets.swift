// Widgets of a prompt's page: labels of plain text, buttons, switches and options, each with its handler.

import CAdwaita
import PermissionClient

typealias Widget = UnsafeMutablePointer<GtkWidget>

/// Makes widgets and keeps their handlers alive, as long as a page.
final class Widgets {
    private final class Handler {
        let body: () -> Void
        init(_ body: @escaping () -> Void) { self.body = body }
    }

    private var handlers: [Handler] = []

    /// More than any text has; without a number, a label that may be shortened has one line.
    private static let maximumLines: Int32 = 1000

    static func box(_ orientation: GtkOrientation, _ spacing: Int32, _ children: Widget...) -> Widget {
        let box = gtk_box_new(orientation, spacing)!
        for child in children { gtk_box_append(cadw_box(box), child) }
        return box
    }

    /// A label of plain text, never markup, in as many lines as it needs where the page's layout lets it wrap. A
    /// character that is wider than the label is left out with the rest, so that no text makes the window wider.
    static func label(_ text: String, _ style: String? = nil) -> Widget {
        let widget = cadw_label_new(text, 0)!
        gtk_label_set_lines(cadw_label(widget), maximumLines)
        // Where a word is broken, no hyphen that is not in it: a path would read as another.
        let attributes = pango_attr_list_new()
        pango_attr_list_insert(attributes, pango_attr_insert_hyphens_new(0))
        gtk_label_set_attributes(cadw_label(widget), attributes)
        pango_attr_list_unref(attributes)
        // Combining marks that a font draws far above or below the line must not cover other text.
        gtk_widget_set_overflow(widget, GTK_OVERFLOW_HIDDEN)
        if let style { gtk_widget_add_css_class(widget, style) }
        return widget
    }

    /// Shows a widget in full if there is room, and else the part that the person scrolls to.
    static func scrolling(_ child: Widget) -> Widget { cadw_scrolled(child, 0) }

    func button(_ text: String, _ description: String = "", style: String? = nil, _ body: @escaping () -> Void)
        -> Widget
    {
        let button = gtk_button_new()!
        let label = Widgets.label(text)
        gtk_label_set_xalign(cadw_label(label), 0.5)
        gtk_button_set_child(cadw_button(button), label)
        cadw_name(button, text)
        if let style { gtk_widget_add_css_class(button, style) }
        if !description.isEmpty {
            cadw_describe(button, description)
            cadw_tooltip(button, description)
        }
        connect(button, "clicked", body)
        return button
    }

    func onOff(_ name: String, isOn: Bool, _ body: @escaping (Bool) -> Void) -> Widget {
        let widget = gtk_switch_new()!
        gtk_switch_set_active(cadw_switch(widget), isOn ? 1 : 0)
        gtk_widget_set_valign(widget, GTK_ALIGN_CENTER)
        cadw_name(widget, name)
        connect(widget, "notify::active") { body(gtk_switch_get_active(cadw_switch(widget)) != 0) }
        return widget
    }

    /// - Parameter group: Another option of the same group, of which one is selected; nil for the first.
    func option(
        _ text: String, _ description: String = "", isOn: Bool, group: Widget?, _ body: @escaping () -> Void
    ) -> Widget {
        check(cadw_option_new(), text, description, isOn: isOn, group: group) { isOn in if isOn { body() } }
    }

    func checkbox(_ text: String, isOn: Bool, _ body: @escaping (Bool) -> Void) -> Widget {
        check(gtk_check_button_new(), text, "", isOn: isOn, group: nil, body)
    }

    private func check(
        _ button: Widget, _ text: String, _ description: String, isOn: Bool, group: Widget?,
        _ body: @escaping (Bool) -> Void
    ) -> Widget {
        gtk_check_button_set_child(cadw_check(button), Widgets.label(text))
        cadw_name(button, text)
        if !description.isEmpty {
            cadw_describe(button, description)
            cadw_tooltip(button, description)
        }
        if let group { gtk_check_button_set_group(cadw_check(button), cadw_check(group)) }
        gtk_check_button_set_active(cadw_check(button), isOn ? 1 : 0)
        connect(button, "toggled") { body(gtk_check_button_get_active(cadw_check(button)) != 0) }
        return button
    }

    func connect(_ object: UnsafeMutableRawPointer, _ signal: String, _ body: @escaping () -> Void) {
        let handler = Handler(body)
        handlers.append(handler)
        cadw_connect(
            object, signal,
            { context in
                guard let context else { return }
                // The body may replace the page, and the handler with it.
                let handler = Unmanaged<Handler>.fromOpaque(context).takeUnretainedValue()
                withExtendedLifetime(handler) { handler.body() }
            }, Unmanaged.passUnretained(handler).toOpaque(), nil)
    }
}
