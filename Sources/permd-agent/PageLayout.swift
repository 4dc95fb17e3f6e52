// Makes a prompt's page fit the screen: its question and its buttons are visible as a whole, whatever the app is named,
// and however large the text is.

import CGtk

/// How much room a page takes. GTK measures a page with the style that it was made with.
struct PageSize {
    /// The class of the page in `StyleSheet`; empty for the usual size.
    let style: String
    /// The margin on each side, in pixels.
    let margin: Int32

    var hasIcon: Bool { style.isEmpty }

    /// The sizes in the order in which they are tried.
    static let all = [
        PageSize(style: "", margin: 24), PageSize(style: "compact", margin: 12), PageSize(style: "small", margin: 8),
        PageSize(style: "smaller", margin: 8), PageSize(style: "smallest", margin: 6),
    ]
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

    /// Lays out the page, which must be in its window. Returns the window's height, and whether the size is right: the
    /// usual one if nothing has to scroll, a smaller one if all that must be visible is.
    func fit(width: Int32, screen: (width: Int32, height: Int32)) -> (height: Int32, isRight: Bool) {
        let room = screen.height - (screen.height > PromptPage.smallHeight ? PromptPage.panel : 0)
        let inner = width - 2 * size.margin
        let fixed = arrange(inner) + 2 * size.margin
        var left = max(PromptPage.leastMiddle, room - fixed)
        if let explanation {
            let height = min(PromptPage.content(of: explanation, inner), left / 2)
            PromptPage.set(explanation, height)
            left -= height
        }
        let content = PromptPage.content(of: middle, inner)
        PromptPage.set(middle, min(content, left))
        let height = PromptPage.height(of: widget, width)
        return (height, height <= room && (content <= left || !size.hasIcon))
    }

    /// Arranges the page for this width. Returns the height of what does not scroll.
    private func arrange(_ width: Int32) -> Int32 {
        let besides = size.hasIcon ? PromptPage.width(of: icon) + gtk_box_get_spacing(cgtk_box(heading)) : 0
        shorten(to: width - besides)
        turnButtons(width)
        for line in lines { turn(line, width) }
        PromptPage.wrap(buttons, width)
        for part in [explanation, middle].compactMap(\.self) {
            let inside = PromptPage.inside(part)
            PromptPage.wrap(inside, width)
            for child in PromptPage.children(of: inside) { PromptPage.hold(child, width) }
        }
        let parts = [heading, buttons].reduce(0) { $0 + PromptPage.height(of: $1, width) }
        let count = Int32(PromptPage.children(of: widget).count)
        return parts + gtk_box_get_spacing(cgtk_box(widget)) * (count - 1)
    }

    // MARK: The app's name

    /// Shortens the app's name in the question, in its middle, so that it has at most two lines and is not too wide.
    private func shorten(to width: Int32) {
        let layout = gtk_widget_create_pango_layout(question, nil)
        defer { g_object_unref(UnsafeMutableRawPointer(layout)) }
        pango_layout_set_wrap(layout, PANGO_WRAP_WORD_CHAR)
        let label = cgtk_label(question)
        let characters = Array(name)
        func fits(_ text: String) -> Bool {
            pango_layout_set_width(layout, width * PANGO_SCALE)
            pango_layout_set_text(layout, text, -1)
            var size = (width: Int32(0), height: Int32(0))
            pango_layout_get_pixel_size(layout, &size.width, &size.height)
            return pango_layout_get_line_count(layout) <= PromptPage.nameLines && size.width <= width
        }
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
        gtk_label_set_text(label, asked)
        cgtk_name(question, asked)
        PromptPage.wrap(question, width)
        PromptPage.hold(question, width)
    }

    // MARK: Widgets

    /// Puts the children of a box below each other if they do not fit side by side. Returns whether they do.
    @discardableResult
    private func turn(_ box: Widget, _ width: Int32) -> Bool {
        let children = PromptPage.children(of: box)
        let spacing = gtk_box_get_spacing(cgtk_box(box)) * Int32(children.count - 1)
        let isWide = children.reduce(spacing) { $0 + PromptPage.natural(of: $1) } <= width
        gtk_orientable_set_orientation(
            cgtk_orientable(box), isWide ? GTK_ORIENTATION_HORIZONTAL : GTK_ORIENTATION_VERTICAL)
        return isWide
    }

    /// Side by side, Not now is apart from the answers, which are at the end. In a column, the answers come first.
    private func turnButtons(_ width: Int32) {
        let isWide = turn(buttons, width)
        gtk_widget_set_hexpand(choices[0], isWide ? 1 : 0)
        gtk_widget_set_halign(choices[0], isWide ? GTK_ALIGN_START : GTK_ALIGN_FILL)
        var before: Widget?
        for button in isWide ? choices : choices.reversed() {
            gtk_box_reorder_child_after(cgtk_box(buttons), button, before)
            before = button
        }
    }

    /// Breaks the lines of the labels in a widget that is too wide. GTK could do that, but takes ten times as long to lay
    /// out a label that may wrap.
    private static func wrap(_ widget: Widget, _ width: Int32) {
        guard natural(of: widget) > width else { return }
        if cgtk_is_label(widget) != 0 { return breakLines(of: widget, width) }
        let children = children(of: widget)
        let isColumn =
            cgtk_is_box(widget) != 0
            && gtk_orientable_get_orientation(cgtk_orientable(widget)) == GTK_ORIENTATION_VERTICAL
        if isColumn {
            for child in children { wrap(child, width) }
            return
        }
        // In a row, the widest gives way. The fixed words keep their line.
        let flexible = children.filter { gtk_widget_has_css_class($0, "fixed") == 0 && cgtk_is_expander($0) == 0 }
        guard let widest = flexible.max(by: { natural(of: $0) < natural(of: $1) }) else { return }
        wrap(widest, width - (natural(of: widget) - natural(of: widest)))
    }

    /// Puts line separators (U+2028, which no text of an app has) where the text has to break, between words, and within
    /// those that are too long. They do not end a paragraph, so directions of text are as in one line.
    private static func breakLines(of widget: Widget, _ width: Int32) {
        guard width > 0, let now = gtk_label_get_text(cgtk_label(widget)) else { return }
        let text = String(cString: now).unicodeScalars.filter { $0 != "\u{2028}" }.map(String.init).joined()
        let layout = gtk_widget_create_pango_layout(widget, nil)
        defer { g_object_unref(UnsafeMutableRawPointer(layout)) }
        pango_layout_set_wrap(layout, PANGO_WRAP_WORD_CHAR)
        // The space at the end of a line counts for the label's width, but not where Pango breaks lines.
        var space: Int32 = 0
        pango_layout_set_text(layout, " ", -1)
        pango_layout_get_size(layout, &space, nil)
        pango_layout_set_text(layout, text, -1)
        pango_layout_set_width(layout, max(width * PANGO_SCALE - space, 0))
        let bytes = Array(text.utf8)
        var broken: [UInt8] = []
        var last = 0
        for index in 1..<max(1, pango_layout_get_line_count(layout)) {
            guard let line = pango_layout_get_line_readonly(layout, index) else { break }
            let start = Int(line.pointee.start_index)
            broken += bytes[last..<start]
            if bytes[..<start].last != UInt8(ascii: "\n") { broken += "\u{2028}".utf8 }
            last = start
        }
        broken += bytes[last...]
        gtk_label_set_text(cgtk_label(widget), String(decoding: broken, as: UTF8.self))
        cgtk_name(widget, text)
    }

    /// Clips a child that cannot be wrapped to the width (such as a very wide character), so that it makes neither the
    /// window nor the other text wider.
    private static func hold(_ child: Widget, _ width: Int32) {
        guard self.width(of: child) > width, let parent = gtk_widget_get_parent(child), cgtk_is_box(parent) != 0,
            let frame = gtk_scrolled_window_new()
        else { return }
        let before = gtk_widget_get_prev_sibling(child)
        g_object_ref(child)
        gtk_box_remove(cgtk_box(parent), child)
        gtk_scrolled_window_set_policy(cgtk_scrolled(frame), GTK_POLICY_EXTERNAL, GTK_POLICY_NEVER)
        gtk_scrolled_window_set_child(cgtk_scrolled(frame), child)
        gtk_widget_set_hexpand(frame, gtk_widget_get_hexpand(child))
        g_object_unref(child)
        gtk_box_insert_child_after(cgtk_box(parent), frame, before)
    }

    private static func set(_ scrolled: Widget, _ height: Int32) {
        gtk_scrolled_window_set_min_content_height(cgtk_scrolled(scrolled), height)
    }

    /// The widget that a scrolled window scrolls, which is in a viewport.
    private static func inside(_ scrolled: Widget) -> Widget {
        let child = gtk_scrolled_window_get_child(cgtk_scrolled(scrolled))!
        return gtk_widget_get_first_child(child) ?? child
    }

    private static func content(of scrolled: Widget, _ width: Int32) -> Int32 { height(of: inside(scrolled), width) }

    private static func children(of box: Widget) -> [Widget] {
        var found: [Widget] = []
        var next = gtk_widget_get_first_child(box)
        while let child = next {
            if gtk_widget_get_visible(child) != 0 { found.append(child) }
            next = gtk_widget_get_next_sibling(child)
        }
        return found
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
