// The window of one prompt: its pages, its keys, and the guard against accidental answers.

import CGtk
import PermissionClient

/// Used only on GTK's thread. Retained by its stage until it is closed.
final class PromptWindow {
    let answer: PendingAnswer
    private let prompt: AgentPrompt
    private let onEnd: () -> Void
    private let window: UnsafeMutablePointer<GtkWidget>
    private var flow: PromptFlow
    private var clickGuard = ClickGuard()
    private var guardTimer: UInt32 = 0
    private var content: PromptPage?

    init(_ prompt: AgentPrompt, _ answer: PendingAnswer, onEnd: @escaping () -> Void) {
        self.prompt = prompt
        self.answer = answer
        self.onEnd = onEnd
        flow = PromptFlow(prompt)
        window = PromptWindow.blank()
        connect()
        show()
        gtk_window_present(cgtk_window(window))
        // The low priority handles all pending events first: on a busy machine, a press from before the guard wakes up
        // must not be seen after it.
        guardTimer = g_timeout_add_full(
            G_PRIORITY_DEFAULT_IDLE, 50,
            { context in
                PromptWindow.at(context)?.lookAtGuard()
                return 1
            }, unmanaged, nil)
    }

    private static let width: Int32 = 420

    private static func blank() -> UnsafeMutablePointer<GtkWidget> {
        Style.install()
        let window = gtk_window_new()!
        gtk_window_set_title(cgtk_window(window), Texts.text("Permission request"))
        gtk_window_set_default_size(cgtk_window(window), width, -1)
        gtk_widget_add_css_class(window, "permd")
        return window
    }

    /// Lays out a window that is never shown, so that style, fonts and icons are loaded when the first prompt comes.
    static func rehearse() {
        let window = blank()
        let page = PromptPage.rehearsal()
        gtk_window_set_child(cgtk_window(window), page.widget)
        let screen = screen()
        page.fit(width: min(width, screen.width), screen: screen)
        gtk_window_destroy(cgtk_window(window))
    }

    /// Removes the window from the screen. Further calls do nothing.
    func close() {
        guard guardTimer != 0 else { return }
        g_source_remove(guardTimer)
        guardTimer = 0
        gtk_window_destroy(cgtk_window(window))
    }

    // MARK: Pages

    private func show() {
        switch flow.page {
        case .over(let result):
            answer.give(result)
            return onEnd()
        case .explanation, .question: break
        }
        let page = PromptPage(prompt, flow) { [unowned self] action in act(action) }
        gtk_window_set_child(cgtk_window(window), page.widget)
        let screen = PromptWindow.screen()
        page.fit(width: min(PromptWindow.width, screen.width), screen: screen)
        // No button is preselected: none has the focus until a key moves it.
        gtk_window_set_focus(cgtk_window(window), nil)
        content = page
        arm()
    }

    private func act(_ action: PromptPage.Action) {
        if case .select(let option, let choice) = action { return flow.select(option, of: choice) }
        guard clickGuard.isAwake || action == .notNow else { return }
        switch action {
        case .proceed: flow.proceed()
        case .choose(let choice): flow.answer(choice)
        case .allowAll: flow.allowAll()
        case .notNow: flow.dismiss()
        case .turn(let step): flow.turn(by: step)
        case .select: break
        }
        show()
    }

    /// The size of the smallest monitor, because the window may appear on any of them.
    private static func screen() -> (width: Int32, height: Int32) {
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

    // MARK: The guard

    private static func now() -> Int64 { Int64(g_get_monotonic_time()) / 1000 }

    private func arm() {
        if gtk_window_is_active(cgtk_window(window)) != 0 {
            clickGuard.arm(at: PromptWindow.now())
        } else {
            clickGuard.disarm()
        }
        content?.setAwake(false)
    }

    private func lookAtGuard() {
        if clickGuard.look(at: PromptWindow.now()) { content?.setAwake(true) }
    }

    private func pressed() { clickGuard.press(at: PromptWindow.now()) }

    // MARK: Signals

    private var unmanaged: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    private static func at(_ context: UnsafeMutableRawPointer?) -> PromptWindow? {
        context.map { Unmanaged<PromptWindow>.fromOpaque($0).takeUnretainedValue() }
    }

    // SAFETY: the handlers end with the window, which `close` destroys before the stage releases this object.
    private func connect() {
        cgtk_connect_answered(
            window, "close-request",
            { context in
                PromptWindow.at(context)?.act(.notNow)
                return 1
            }, unmanaged)
        cgtk_connect(window, "notify::is-active", { PromptWindow.at($0)?.arm() }, unmanaged)
        let clicks = gtk_gesture_click_new()!
        gtk_gesture_single_set_button(cgtk_gesture_single(clicks), 0)
        gtk_event_controller_set_propagation_phase(cgtk_controller(clicks), GTK_PHASE_CAPTURE)
        cgtk_connect(UnsafeMutableRawPointer(clicks), "pressed", { PromptWindow.at($0)?.pressed() }, unmanaged)
        gtk_widget_add_controller(window, cgtk_controller(clicks))
        let keys = gtk_event_controller_key_new()!
        gtk_event_controller_set_propagation_phase(keys, GTK_PHASE_CAPTURE)
        cgtk_connect_key(
            keys,
            { _, key, _, _, context in PromptWindow.at(context)?.key(key) == true ? 1 : 0 }, unmanaged)
        gtk_widget_add_controller(window, keys)
    }

    /// Handles a key; returns true if it must not be processed further. Return never answers, Escape is Not Now.
    private func key(_ key: UInt32) -> Bool {
        pressed()
        switch Int32(bitPattern: key) {
        case GDK_KEY_Escape:
            act(.notNow)
            return true
        case GDK_KEY_Return, GDK_KEY_KP_Enter, GDK_KEY_ISO_Enter: return true
        default: return false
        }
    }
}
