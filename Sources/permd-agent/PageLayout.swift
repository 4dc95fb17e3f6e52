// Makes a prompt's page fit the screen: its question and its buttons are visible as a whole, whatever the app is named,
// and however large the text is.

import CAdwaita

/// How much room a page takes. GTK measures a page with the style that it was made with.
struct PageSize {
    /// The class of the page in `Style`; empty for the usual size.
    let style: String
    /// The margin on each side, in pixels.
    let margin: Int32

    var hasIcon: Bool { style.isEmpty }

    /// The sizes in the order in which they are tried.
    static let all = [
        PageSize(style: "", margin: 24), PageSize(style: "compact", margin: 12), PageSize(style: "small", margin: 8),
        PageSize(style: "smaller", margin: 8), PageSize(style: "smallest", margin: 6),
    ]

    /// The size of the smallest monitor, because the window may appear on any of them.
    static func screen() -> (width: Int32, height: Int32) {
        var smallest = (width: Int32(1024), height: Int32(768))
        guard let display = gdk_display_get_default(), let monitors = gdk_display_get_monitors(display) else {
            return smallest
        }
        for index in 0..<g_list_model_get_n_items(monitors) {
            guard let monitor = g_list_model_get_item(monitors, index) else { continue }
            var area = GdkRectangle()
            gdk_monitor_get_geometry(OpaquePointer(monitor), &area)
            g_object_unref(monitor)
            if index == 0 || area.height < smallest.height { smallest = (area.width, area.height) }
        }
        return smallest
    }
}

extension PromptPage {
    /// Pixels that a panel may cover on screens of common heights. Small screens are a phone's, whose windows are
    /// maximized.
    private static let panel: Int32 = 64
    private static let smallHeight: Int32 = 700
    /// The app's name may have so many lines.
    private static let nameLines: Int32 = 2
    /// What is between the question and the buttons keeps at least so many pixels, so that it can be scrolled.
    private static let leastMiddle: Int32 = 40

    /// Lays out the page, which must be in its window. Returns whether the size is right: the usual one if nothing has
    /// to scroll, a smaller one if all that must be visible is.
    func fit(width: Int32, screen: (width: Int32, height: Int32)) -> Bool {
        let room = screen.height - (screen.height > PromptPage.smallHeight ? PromptPage.panel : 0)
        let inner = width - 2 * size.margin
        let besides = size.hasIcon ? PromptPage.width(of: icon) + gtk_box_get_spacing(cadw_box(heading)) : 0
        shorten(to: inner - besides)
        turnButtons(inner)
        for part in [explanation, middle].compactMap(\.self) { PromptPage.wrap(PromptPage.inside(part), inner) }
        let gaps = gtk_box_get_spacing(cadw_box(widget)) * (explanation == nil ? 3 : 4)
        let fixed = [heading, asleep, buttons].reduce(gaps + 2 * size.margin) { $0 + PromptPage.height(of: $1, inner) }
        var left = max(PromptPage.leastMiddle, room - fixed)
        if let explanation {
            let height = min(PromptPage.height(of: PromptPage.inside(explanation), inner), left / 2)
            gtk_scrolled_window_set_min_content_height(cadw_scrolled_window(explanation), height)
            left -= height
        }
        let content = PromptPage.height(of: PromptPage.inside(middle), inner)
        gtk_scrolled_window_set_min_content_height(cadw_scrolled_window(middle), min(content, left))
        return PromptPage.height(of: widget, width) <= room && (content <= left || !size.hasIcon)
    }

    /// The height that the page, which has been laid out, needs.
    func height(for width: Int32) -> Int32 { PromptPage.height(of: widget, width) }

    /// Shortens the app's name in the question, in its middle, so that it takes at most two lines and is not too wide.
    private func shorten(to width: Int32) {
        let layout = gtk_widget_create_pango_layout(question, nil)
        defer { g_object_unref(UnsafeMutableRawPointer(layout)) }
        pango_layout_set_wrap(layout, PANGO_WRAP_WORD_CHAR)
        pango_layout_set_width(layout, width * PANGO_SCALE)
        func lines(_ name: String) -> (count: Int32, width: Int32) {
            pango_layout_set_text(layout, ask(name), -1)
            var widest: Int32 = 0
            pango_layout_get_pixel_size(layout, &widest, nil)
            return (pango_layout_get_line_count(layout), widest)
        }
        let most = lines("…").count + PromptPage.nameLines - 1
        func fits(_ name: String) -> Bool {
            let lines = lines(name)
            return lines.count <= most && lines.width <= width
        }
        let characters = Array(name)
        func shortened(_ kept: Int) -> String {
            "\(String(characters.prefix((kept + 1) / 2)))…\(String(characters.suffix(kept / 2)))"
        }
        var shown = name
        if !fits(name) {
            var (least, most) = (0, characters.count - 1)
            while least < most {
                let middle = (least + most + 1) / 2
                if fits(shortened(middle)) { least = middle } else { most = middle - 1 }
            }
            shown = fits(shortened(least)) ? shortened(least) : "…"
        }
        asked = ask(shown)
        PromptPage.breakLines(of: question, asked, width)
    }

    /// Puts line separators (U+2028, which no text of an app has) where the text has to break, between words, and within
    /// those that are too long. They do not end a paragraph, so directions of text are as in one line. A window with a
    /// label that may wrap is as wide as GTK thinks that the label's height needs.
    private static func breakLines(of label: Widget, _ text: String, _ width: Int32) {
        let text = text.filter { $0 != "\u{2028}" }
        let layout = gtk_widget_create_pango_layout(label, text)
        defer { g_object_unref(UnsafeMutableRawPointer(layout)) }
        pango_layout_set_wrap(layout, PANGO_WRAP_WORD_CHAR)
        // The space at the end of a line counts for the label's width, but not where Pango breaks lines.
        let space = gtk_widget_create_pango_layout(label, " ")
        defer { g_object_unref(UnsafeMutableRawPointer(space)) }
        var blank: Int32 = 0
        pango_layout_get_size(space, &blank, nil)
        pango_layout_set_width(layout, max(width * PANGO_SCALE - blank, 0))
        let bytes = Array(text.utf8)
        let starts = (1..<max(1, pango_layout_get_line_count(layout))).compactMap {
            pango_layout_get_line_readonly(layout, $0).map { Int($0.pointee.start_index) }
        }
        let lines = zip([0] + starts, starts + [bytes.count]).map { String(decoding: bytes[$0..<$1], as: UTF8.self) }
        gtk_label_set_text(cadw_label(label), lines.joined(separator: "\u{2028}"))
        cadw_name(label, text)
    }

    // MARK: Widgets

    /// Lets the labels wrap of what is too wide. GTK takes ten times as long to lay out a label that may.
    private static func wrap(_ widget: Widget, _ width: Int32) {
        guard natural(of: widget) > width else { return }
        if cadw_is_label(widget) != 0 { return gtk_label_set_wrap(cadw_label(widget), 1) }
        let isColumn = cadw_is_column(widget) != 0
        var child = gtk_widget_get_first_child(widget)
        while let next = child {
            wrap(next, isColumn ? width : 0)
            child = gtk_widget_get_next_sibling(next)
        }
    }

    /// Breaks the labels of the answers where they are too wide. Not now and what is beside it are below each other if
    /// they do not fit side by side.
    private func turnButtons(_ width: Int32) {
        gtk_orientable_set_orientation(cadw_orientable(others), GTK_ORIENTATION_HORIZONTAL)
        if PromptPage.natural(of: others) > width {
            gtk_orientable_set_orientation(cadw_orientable(others), GTK_ORIENTATION_VERTICAL)
        }
        for button in answers + otherButtons where PromptPage.natural(of: button) > width {
            guard let label = gtk_button_get_child(cadw_button(button)) else { continue }
            let besides = PromptPage.natural(of: button) - PromptPage.natural(of: label)
            PromptPage.breakLines(of: label, String(cString: gtk_label_get_text(cadw_label(label))), width - besides)
        }
    }

    /// What a scrolled window scrolls, which is in a viewport.
    private static func inside(_ scrolled: Widget) -> Widget {
        let child = gtk_scrolled_window_get_child(cadw_scrolled_window(scrolled))!
        return gtk_widget_get_first_child(child) ?? child
    }

    private static func height(of widget: Widget, _ width: Int32) -> Int32 {
        var natural: Int32 = 0
        gtk_widget_measure(widget, GTK_ORIENTATION_VERTICAL, width, nil, &natural, nil, nil)
        return natural
    }

    /// The least width.
    private static func width(of widget: Widget) -> Int32 {
        var least: Int32 = 0
        gtk_widget_measure(widget, GTK_ORIENTATION_HORIZONTAL, -1, &least, nil, nil, nil)
        return least
    }

    private static func natural(of widget: Widget) -> Int32 {
        var natural: Int32 = 0
        gtk_widget_measure(widget, GTK_ORIENTATION_HORIZONTAL, -1, nil, &natural, nil, nil)
        return natural
    }
}
