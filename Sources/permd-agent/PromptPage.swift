// One page of a prompt as widgets. Text from an app is shown as plain text, wrapped, and limited in height.

import CGtk
import PermissionClient

final class PromptPage {
    enum Action: Equatable {
        case proceed
        case choose(PromptChoice)
        case allowAll
        case notNow
        case turn(Int)
        /// Selects an option of a portal dialog's choice, without answering the question.
        case select(option: String, choice: String)
    }

    let widget: UnsafeMutablePointer<GtkWidget>
    private let texts: UnsafeMutablePointer<GtkWidget>
    private let scrolled: UnsafeMutablePointer<GtkWidget>
    private let onAction: (Action) -> Void
    private var buttons: [(widget: UnsafeMutablePointer<GtkWidget>, target: ButtonTarget)] = []
    private var checks: [(widget: UnsafeMutablePointer<GtkWidget>, target: CheckTarget)] = []

    convenience init(_ prompt: AgentPrompt, _ flow: PromptFlow, _ onAction: @escaping (Action) -> Void) {
        self.init(onAction)
        switch flow.page {
        case .explanation(let explanation): build(explanation, prompt)
        case .question(let index): build(flow, index, prompt)
        case .over: break
        }
    }

    private init(_ onAction: @escaping (Action) -> Void) {
        self.onAction = onAction
        widget = gtk_box_new(GTK_ORIENTATION_VERTICAL, 12)
        texts = gtk_box_new(GTK_ORIENTATION_VERTICAL, 12)
        gtk_widget_add_css_class(widget, "page")
        scrolled = PromptPage.scrolling(texts)
        gtk_box_append(cgtk_box(widget), scrolled)
    }

    /// Sets the height of the text area so that all of the text is visible, or as much as fits on the screen with the
    /// buttons; the rest scrolls. The page must already be in its window, because measuring needs the window's fonts.
    func fit(width: Int32, screen: (width: Int32, height: Int32)) {
        let margins: Int32 = 48
        let spacing: Int32 = 12
        for box in [texts, widget] { PromptPage.hold(childrenOf: box, width: screen.width - margins) }
        let buttonsHeight = buttons.reduce(0) { $0 + PromptPage.height(of: $1.widget, width - margins) + spacing }
        let room = screen.height - buttonsHeight - margins - PromptPage.titleBarRoom
        let height = max(PromptPage.leastTextHeight, min(PromptPage.height(of: texts, width - margins), room))
        gtk_scrolled_window_set_min_content_height(cgtk_scrolled(scrolled), height)
    }

    /// Clips each child that cannot be wrapped to the screen's width (such as a very wide character), so that it makes
    /// neither the window nor the other text wider.
    private static func hold(childrenOf box: UnsafeMutablePointer<GtkWidget>, width: Int32) {
        var next = gtk_widget_get_first_child(box)
        while let child = next {
            next = gtk_widget_get_next_sibling(child)
            var least: Int32 = 0
            gtk_widget_measure(child, GTK_ORIENTATION_HORIZONTAL, -1, &least, nil, nil, nil)
            guard least > width, let frame = gtk_scrolled_window_new() else { continue }
            let before = gtk_widget_get_prev_sibling(child)
            g_object_ref(child)
            gtk_box_remove(cgtk_box(box), child)
            gtk_scrolled_window_set_policy(cgtk_scrolled(frame), GTK_POLICY_EXTERNAL, GTK_POLICY_NEVER)
            gtk_scrolled_window_set_child(cgtk_scrolled(frame), child)
            g_object_unref(child)
            gtk_box_insert_child_after(cgtk_box(box), frame, before)
        }
    }

    /// Space for the app's name and two lines of the question.
    private static let leastTextHeight: Int32 = 96
    /// Space for a title bar and a panel.
    private static let titleBarRoom: Int32 = 80

    private static func height(of widget: UnsafeMutablePointer<GtkWidget>, _ width: Int32) -> Int32 {
        var natural: Int32 = 0
        gtk_widget_measure(widget, GTK_ORIENTATION_VERTICAL, width, nil, &natural, nil, nil)
        return natural
    }

    /// Makes the buttons sensitive or insensitive, also for assistive technology.
    func setAwake(_ isAwake: Bool) {
        for button in buttons { gtk_widget_set_sensitive(button.widget, isAwake ? 1 : 0) }
    }

    /// A page with typical contents, which is laid out before the first prompt.
    static func rehearsal() -> PromptPage {
        let page = PromptPage { _ in }
        gtk_box_append(cgtk_box(page.texts), gtk_image_new_from_icon_name(AppIcon.generic))
        page.add(Texts.text("%@ would like to use the camera", Texts.isolated("")), "title", lines: 4)
        page.add(Texts.text("The app says: %@", Texts.isolated("“”")), "reason", lines: 6)
        page.add(Texts.text("In a sandbox"), "dim-label", lines: 2)
        page.addNotNow()
        return page
    }

    // MARK: Pages

    private func build(_ explanation: Explanation, _ prompt: AgentPrompt) {
        addHeader(prompt)
        add(Texts.text("%@ says:", Texts.isolated(prompt.displayName)), "dim-label", lines: 2)
        add(explanation.title, "title", lines: 4)
        add(explanation.body, nil, lines: 12)
        addButton(Texts.text("Continue"), .proceed)
        addNotNow()
    }

    private func build(_ flow: PromptFlow, _ index: Int, _ prompt: AgentPrompt) {
        let item = flow.items[index]
        addHeader(prompt)
        add(Texts.question(item, Texts.isolated(prompt.displayName)), "title", lines: 4)
        if flow.items.count > 1 {
            add(Texts.text("%@ of %@", "\(index + 1)", "\(flow.items.count)"), "dim-label", lines: 1)
        }
        if !item.deviceName.isEmpty { add(Texts.text("Device: %@", Texts.isolated(item.deviceName)), nil, lines: 2) }
        let reason = Texts.reason(item)
        if !reason.isEmpty { add(reason, item.reason.isEmpty ? "dim-label" : "reason", lines: 6) }
        for choice in item.dialog?.choices ?? [] { add(choice, flow.selection(of: choice)) }
        if prompt.behind.count > 0 {
            add(Texts.text("Waiting behind this: %@", "\(prompt.behind.count)"), "dim-label", lines: 1)
        }
        for choice in flow.choices {
            let description = item.isOfPortal ? "" : Texts.description(choice)
            addButton(Texts.label(choice, item), .choose(choice), description)
        }
        if flow.mayAllowAll { addButton(Texts.text("Allow All, Only This Time"), .allowAll) }
        if flow.hasPrevious { addButton(Texts.text("Previous"), .turn(-1), isFlat: true) }
        if flow.hasNext { addButton(Texts.text("Next"), .turn(1), isFlat: true) }
        addNotNow()
    }

    /// The requesting app's icon and identity. A program without a desktop entry is shown as unknown, with its path.
    private func addHeader(_ prompt: AgentPrompt) {
        let row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12)!
        let icon = AppIcon.image(prompt.appIcon)
        gtk_image_set_pixel_size(cgtk_image(icon), 48)
        gtk_box_append(cgtk_box(row), icon)
        let unknown = Texts.unknownProgram(prompt)
        let identity = unknown ?? prompt.app
        let text = label(prompt.isSandboxed ? "\(identity) · \(Texts.text("In a sandbox"))" : identity, lines: 3)
        gtk_widget_add_css_class(text, unknown == nil ? "dim-label" : "unknown")
        gtk_widget_set_hexpand(text, 1)
        gtk_box_append(cgtk_box(row), text)
        gtk_box_append(cgtk_box(texts), row)
    }

    // MARK: Widgets

    /// On a small screen, or with large fonts, the text scrolls and the buttons stay visible.
    private static func scrolling(_ texts: UnsafeMutablePointer<GtkWidget>) -> UnsafeMutablePointer<GtkWidget> {
        let scrolled = gtk_scrolled_window_new()!
        gtk_scrolled_window_set_policy(cgtk_scrolled(scrolled), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC)
        gtk_scrolled_window_set_child(cgtk_scrolled(scrolled), texts)
        gtk_widget_set_vexpand(scrolled, 1)
        return scrolled
    }

    var lastCheck: UnsafeMutablePointer<GtkWidget>? { checks.last?.widget }

    func append(check: UnsafeMutablePointer<GtkWidget>, _ target: CheckTarget) {
        gtk_box_append(cgtk_box(texts), check)
        checks.append((check, target))
    }

    func act(_ action: Action) { onAction(action) }

    func add(_ text: String, _ style: String?, lines: Int32) {
        let widget = label(text, lines: lines)
        if let style { gtk_widget_add_css_class(widget, style) }
        gtk_box_append(cgtk_box(texts), widget)
    }

    /// A label of plain text, never markup, wrapped between words and characters to at most `lines` lines.
    func label(_ text: String, lines: Int32) -> UnsafeMutablePointer<GtkWidget> {
        let widget = gtk_label_new(text)!
        let label = cgtk_label(widget)
        gtk_label_set_wrap(label, 1)
        gtk_label_set_wrap_mode(label, PANGO_WRAP_WORD_CHAR)
        gtk_label_set_lines(label, lines)
        gtk_label_set_ellipsize(label, PANGO_ELLIPSIZE_END)
        gtk_label_set_xalign(label, 0)
        gtk_label_set_max_width_chars(label, 44)
        gtk_label_set_width_chars(label, 24)
        // Combining marks that a font draws far above or below the line must not cover other text.
        gtk_widget_set_overflow(widget, GTK_OVERFLOW_HIDDEN)
        return widget
    }

    private func addNotNow() {
        addButton(Texts.text("Not Now"), .notNow, Texts.text("Decides nothing; you may be asked again"), isFlat: true)
    }

    private func addButton(_ text: String, _ action: Action, _ description: String = "", isFlat: Bool = false) {
        let button = gtk_button_new()!
        let label = label(text, lines: 2)
        gtk_label_set_xalign(cgtk_label(label), 0.5)
        gtk_button_set_child(cgtk_button(button), label)
        cgtk_name(button, text)
        if isFlat { gtk_widget_add_css_class(button, "flat") }
        if !description.isEmpty { cgtk_describe(button, description) }
        let target = ButtonTarget(action) { [unowned self] in act($0) }
        cgtk_connect(
            button, "clicked",
            { context in
                guard let context else { return }
                Unmanaged<ButtonTarget>.fromOpaque(context).takeUnretainedValue().press()
            }, Unmanaged.passUnretained(target).toOpaque())
        gtk_box_append(cgtk_box(widget), button)
        buttons.append((button, target))
    }
}

/// The action of a button; lives as long as its page.
private final class ButtonTarget {
    let action: PromptPage.Action
    private let body: (PromptPage.Action) -> Void

    init(_ action: PromptPage.Action, _ body: @escaping (PromptPage.Action) -> Void) {
        self.action = action
        self.body = body
    }

    func press() { body(action) }
}
