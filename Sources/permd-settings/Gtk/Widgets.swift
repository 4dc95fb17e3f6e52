// Short forms for the widgets that the pages are made of. All texts are plain text.

import CAdwaita
import PermissionTexts

@MainActor
enum Widgets {
    static func box(_ orientation: GtkOrientation, spacing: Int32 = 0, _ children: Widget...) -> Widget {
        let box = gtk_box_new(orientation, spacing)!
        for child in children { cadw_box_append(box, child) }
        return box
    }

    static func label(_ text: String, style: String? = nil, wraps: Bool = false) -> Widget {
        let label = cadw_label_new(text, wraps ? 1 : 0)!
        if let style { gtk_widget_add_css_class(label, style) }
        return label
    }

    static func icon(_ name: String, size: Int32) -> Widget {
        let image = gtk_image_new()!
        setIcon(image, name, size: size)
        return image
    }

    static func setIcon(_ image: Widget, _ name: String, size: Int32) { cadw_image_set(image, name, size) }

    static func button(_ text: String, style: String? = nil, _ body: @escaping @MainActor () -> Void) -> Widget {
        let button = gtk_button_new_with_label(text)!
        if let style { gtk_widget_add_css_class(button, style) }
        gtk_widget_set_valign(button, GTK_ALIGN_CENTER)
        button.on("clicked", body)
        return button
    }

    /// A button with an icon; the text is its tooltip and its name for assistive technology.
    static func iconButton(_ icon: String, _ text: String, _ body: @escaping @MainActor () -> Void) -> Widget {
        let button = gtk_button_new()!
        cadw_button_set_icon(button, icon)
        gtk_widget_set_tooltip_text(button, text)
        cadw_name(button, text)
        button.on("clicked", body)
        return button
    }

    /// A header bar with a button that leads back.
    static func header(_ title: Widget, _ onBack: Link<Void>) -> Widget {
        let bar = cadw_header_new(title)!
        cadw_header_start(
            bar, iconButton("go-previous-symbolic", Texts.text("Back")) { onBack.follow(()) })
        return bar
    }

    static func row(_ title: String, _ subtitle: String = "", icon: String? = nil) -> Widget {
        let row = cadw_row_new()!
        cadw_row_set(row, title, subtitle)
        if let icon { cadw_row_add_prefix(row, Widgets.icon(icon, size: 16)) }
        return row
    }

    /// Makes a row lead somewhere.
    static func activate(_ row: Widget, _ body: @escaping @MainActor () -> Void) {
        cadw_row_set_activatable(row, 1)
        row.on("activated", body)
    }

    static func margins(_ widget: Widget, horizontal: Int32, vertical: Int32) {
        gtk_widget_set_margin_start(widget, horizontal)
        gtk_widget_set_margin_end(widget, horizontal)
        gtk_widget_set_margin_top(widget, vertical)
        gtk_widget_set_margin_bottom(widget, vertical)
    }

    /// Calls the body with the strings as a C array that ends with NULL.
    static func withStrings(_ texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Void) {
        var copies: [UnsafeMutablePointer<CChar>?] = texts.map { strdup($0) }
        copies.append(nil)
        defer { for copy in copies { free(copy) } }
        copies.withUnsafeBufferPointer { buffer in
            buffer.withMemoryRebound(to: UnsafePointer<CChar>?.self) { body($0.baseAddress) }
        }
    }
}

extension Widget {
    @MainActor func setVisible(_ isVisible: Bool) { gtk_widget_set_visible(self, isVisible ? 1 : 0) }
    @MainActor func expands() -> Widget {
        gtk_widget_set_vexpand(self, 1)
        gtk_widget_set_hexpand(self, 1)
        return self
    }
}
