// The one window that shows all prompts, one after the other: its keys, its place, and its guard against accidental
// answers.

import CAdwaita
import PermissionClient
import PermissionTexts

/// Used only on GTK's thread. Retained by its stage until it is closed.
final class PromptWindow {
    private let window: Widget
    private let place: PromptPlacement
    private var shown: Shown?
    private var clickDelay = InputDelay()
    /// Of keys, which may come when the window gets the focus; clicks come as soon as it is visible.
    private var keyDelay = InputDelay()
    private var sight: PromptSight?
    private let onUnseen: (String?) -> Void
    private var hadFocus = false
    private var delayTimer: UInt32 = 0
    private var closeTimer: UInt32 = 0
    private var onClose: (() -> Void)?
    /// When the window last got the focus while answers counted, and when it was last clicked, in milliseconds.
    private var (focusedAt, clickedAt) = (Int64(0), Int64(0))

    private struct Shown {
        let prompt: AgentPrompt
        let answer: PendingAnswer
        let onEnd: () -> Void
        var form: PromptForm
        var page: PromptPage?
        /// What waits behind it.
        var behind: AgentPrompt.Behind
        var deviceNames: [PromptItem: String] = [:]
        /// Looks at the window for which it may still be away from the screen: none once it was there.
        var patience = PromptWindow.patience
    }

    private static let width: Int32 = 440
    /// Milliseconds between a click and the focus that it gives.
    private static let clickDelay: Int64 = 100
    /// Milliseconds between looks at the guard and the window.
    private static let look: UInt32 = 50
    /// Looks within which a busy window manager shows a window: two seconds.
    private static let patience = 40
    /// Milliseconds for which the window stays after an answer: for a prompt that an app makes of it at once, and for one
    /// that is known to be behind it, which a busy machine brings later.
    private static let linger = (usual: UInt32(200), behind: UInt32(2000))

    /// - Parameter onUnseen: Called with the question of a prompt that the person has not seen for a while, and with nil
    ///   when that is over.
    init(onUnseen: @escaping (String?) -> Void) {
        self.onUnseen = onUnseen
        window = PromptWindow.blank()
        place = PromptPlacement(window)
        // Compositors that tile windows let one float whose size cannot change. A layer is given its size.
        gtk_window_set_resizable(cadw_window(window), place.isLayer ? 1 : 0)
        sight = PromptSight { [unowned self] isOut in onUnseen(isOut ? shown?.page?.asked : nil) }
        connect()
        // The low priority handles all pending events first: on a busy machine, a press from before the guard wakes up
        // must not be seen after it.
        delayTimer = g_timeout_add_full(
            G_PRIORITY_DEFAULT_IDLE, PromptWindow.look,
            { context in
                PromptWindow.at(context)?.updateDelays()
                PromptWindow.at(context)?.stayOnScreen()
                return 1
            }, unmanaged, nil)
    }

    private static func blank() -> Widget {
        Style.install()
        let window = cadw_alert_window_new()!
        gtk_window_set_icon_name(cadw_window(window), AgentProgram.entry)
        let title = Texts.text("Permission request")
        gtk_window_set_title(cadw_window(window), title)
        cadw_name(window, title)
        // An empty title bar: there is nothing to press but the answers.
        let bar = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0)!
        gtk_widget_set_visible(bar, 0)
        gtk_window_set_titlebar(cadw_window(window), bar)
        gtk_widget_add_css_class(window, "permd")
        return window
    }

    /// Lays out a window that is never shown, so that style, fonts and icons are loaded when the first prompt comes.
    static func rehearse() {
        let window = blank()
        let page = PromptPage.rehearsal()
        gtk_window_set_child(cadw_window(window), page.widget)
        let screen = PageSize.screen()
        _ = page.fit(width: min(width, screen.width), screen: screen)
        gtk_window_destroy(cadw_window(window))
    }

    // MARK: Prompts

    /// Shows a prompt in place of the one before.
    func show(_ prompt: AgentPrompt, _ answer: PendingAnswer, onEnd: @escaping () -> Void) {
        cancelClosing()
        shown = Shown(
            prompt: prompt, answer: answer, onEnd: onEnd, form: PromptForm(prompt.items, prompt.durations),
            behind: prompt.behind,
            deviceNames: Dictionary(prompt.items.map { ($0.id, $0.deviceName) }) { first, _ in first })
        layOut()
        appear()
    }

    /// Makes the page of the shown prompt, as large as the screen allows.
    private func layOut() {
        guard let prompt = shown?.prompt, let form = shown?.form, let behind = shown?.behind else { return }
        for size in PageSize.all {
            let page = PromptPage(prompt, form, size) { [unowned self] action in act(action) }
            page.show(behind)
            page.show(shown?.deviceNames ?? [:])
            shown?.page = page
            // The window can be moved by its page, as it has no title bar.
            let handle = gtk_window_handle_new()!
            gtk_window_handle_set_child(cadw_handle(handle), page.widget)
            gtk_window_set_child(cadw_window(window), cadw_clamp(handle, PromptWindow.width))
            if fit() { break }
        }
    }

    private func appear() {
        guard let shown else { return }
        place.show(for: shown.prompt.parentWindow)
        arm()
    }

    /// Shows the prompt again, in a new window, when another program or the compositor has hidden its window.
    private func stayOnScreen() {
        guard let shown else { return }
        if place.isOnScreen {
            if shown.patience > 0 { place.arrived(for: shown.prompt.parentWindow) }
            self.shown?.patience = 0
            if place.lookForCover() { arm() }
        } else if shown.patience > 0 {
            self.shown?.patience -= 1
        } else {
            vanish(for: PromptWindow.patience)
            appear()
        }
    }

    private func vanish(for looks: Int) {
        place.hide()
        clickDelay.disarm()
        keyDelay.disarm()
        hadFocus = false
        shown?.patience = looks
    }

    private func monitorsChanged() {
        if shown != nil { vanish(for: 0) }
    }

    /// The person closes the window, by a key, since it has no title bar. On a layer only the compositor does, whose
    /// monitor is gone.
    private func closed() {
        if place.isLayer { return vanish(for: PromptWindow.patience / 4) }
        if keyDelay.isAwake { give(.dismissed) }
    }

    /// The person has asked for the window, with a token of the program that they have used; empty if there is none.
    func bringForward(_ token: String) {
        guard shown != nil, !place.bringForward(token) else { return }
        vanish(for: PromptWindow.patience)
        appear()
    }

    func isShowing(_ answer: PendingAnswer) -> Bool { shown?.answer === answer }

    func update(_ change: AgentPrompt.Update) {
        shown?.behind = change.behind
        shown?.page?.show(change.behind)
        guard let before = shown?.deviceNames else { return }
        let now = before.merging(change.deviceNames) { $1 }
        guard now != before else { return }
        shown?.deviceNames = now
        shown?.page?.show(now)
        // It is another question now, and a longer name may have moved the buttons.
        arm()
    }

    /// Removes the prompt. The window stays for a moment, in which nothing can be answered, and then calls `close`.
    func end(_ close: @escaping () -> Void) {
        guard let shown else { return }
        shown.page?.setAwake(false, shown.form)
        self.shown = nil
        clickDelay.disarm()
        keyDelay.disarm()
        place.returnKeyboard(staying: false)
        sight?.update(isSeen: true)
        onClose = close
        cancelClosing()
        closeTimer = g_timeout_add(
            shown.behind.count > 0 ? PromptWindow.linger.behind : PromptWindow.linger.usual,
            { context in
                guard let window = PromptWindow.at(context) else { return 0 }
                window.closeTimer = 0
                window.onClose?()
                return 0
            }, unmanaged)
    }

    private func cancelClosing() {
        if closeTimer != 0 { g_source_remove(closeTimer) }
        closeTimer = 0
    }

    /// Removes the window from the screen. Further calls do nothing.
    func close() {
        guard delayTimer != 0 else { return }
        cancelClosing()
        onClose = nil
        g_source_remove(delayTimer)
        delayTimer = 0
        place.end()
        gtk_window_destroy(cadw_window(window))
    }

    /// Returns whether the page has the right size.
    @discardableResult
    private func fit() -> Bool {
        guard let page = shown?.page else { return true }
        let screen = PageSize.screen()
        let width = min(PromptWindow.width, screen.width)
        let isRight = page.fit(width: width, screen: screen)
        let height = page.height(for: width)
        if let clamp = gtk_window_get_child(cadw_window(window)) { cadw_clamp_set_size(clamp, width, height) }
        cadw_describe(window, page.asked)
        if place.isLayer { gtk_window_set_default_size(cadw_window(window), width, height) }
        return isRight
    }

    private func act(_ action: PromptPage.Action) {
        guard var form = shown?.form, let page = shown?.page else { return }
        switch action {
        case .turn(let index, let isOn): form.turn(index, on: isOn)
        case .select(let option, let choice, let index): form.select(option, of: choice, in: index)
        case .resized:
            fit()
            return
        case .more:
            form.toggleMore()
            shown?.form = form
            layOut()
            return arm()
        case .answer(let choice): return give(form.answer(choice))
        case .notNow: return give(.dismissed)
        }
        shown?.form = form
        page.update(form)
    }

    /// Whichever way it is given, an answer counts only when the guard is awake.
    private func give(_ answer: AgentAnswer) {
        guard clickDelay.isAwake, let shown else { return }
        shown.answer.give(answer)
        shown.onEnd()
    }

    // MARK: The input delay

    private static func now() -> Int64 { Int64(g_get_monotonic_time()) / 1000 }

    /// What is shown is new, so no press counts that may be meant for what was there.
    private func arm() {
        guard let shown else { return }
        let hasFocus = place.hasFocus
        if hasFocus {
            keyDelay.arm(at: PromptWindow.now())
            X11Window(window)?.attract(false)
            // GTK would put the focus on the first widget that a key changes. A label does not grab it by itself.
            gtk_root_set_focus(cadw_root(window), shown.page?.question)
        } else {
            keyDelay.disarm()
        }
        // Another window may cover one that is not on a layer, on X11 any, and uncover it when the person clicks.
        if hasFocus || place.isLayer {
            clickDelay.arm(at: PromptWindow.now())
        } else {
            clickDelay.disarm()
        }
        shown.page?.setAwake(false, shown.form)
        sight?.update(isSeen: place.isSeen)
        shown.page?.say(hasFocus || place.isLayer ? PromptTexts.oneMoment : PromptTexts.clickFirst)
    }

    /// A click may give a layer the focus, just before it comes itself, or just after.
    private func focusChanged() {
        let hasFocus = place.hasFocus
        guard hasFocus != hadFocus else { return }
        hadFocus = hasFocus
        if !hasFocus { place.keyboardIsLost() }
        guard place.isLayer, clickDelay.isAwake else { return arm() }
        guard hasFocus else { return keyDelay.disarm() }
        let now = PromptWindow.now()
        guard now - clickedAt > PromptWindow.clickDelay else { return keyDelay.arm(at: now) }
        arm()
        focusedAt = now
    }

    private func clicked() {
        clickedAt = PromptWindow.now()
        if clickedAt - focusedAt < PromptWindow.clickDelay, let shown {
            clickDelay.keepAwake()
            setAwake(shown)
        }
        focusedAt = 0
        pressed()
        if !place.isLayer, !hadFocus { place.takeKeyboard() }
    }

    private func setAwake(_ shown: Shown) {
        shown.page?.setAwake(true, shown.form)
        shown.page?.say("")
    }

    private func updateDelays() {
        _ = keyDelay.wake(at: PromptWindow.now())
        guard clickDelay.wake(at: PromptWindow.now()), let shown else { return }
        setAwake(shown)
    }

    /// Says once in each prompt why a key or click of another program did nothing. The page may change its size by that,
    /// so the guard starts anew.
    func inputRefused() {
        guard shown?.page?.sayInputIsRefused() == true else { return }
        fit()
        arm()
    }

    private func pressed() {
        clickDelay.press(at: PromptWindow.now())
        keyDelay.press(at: PromptWindow.now())
    }

    // MARK: Signals

    private var unmanaged: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    private static func at(_ context: UnsafeMutableRawPointer?) -> PromptWindow? {
        context.map { Unmanaged<PromptWindow>.fromOpaque($0).takeUnretainedValue() }
    }

    // SAFETY: the handlers end with the window, which `close` destroys before the stage releases this object.
    private func connect() {
        cadw_connect_answered(
            window, "close-request",
            { context in
                PromptWindow.at(context)?.closed()
                return 1
            }, unmanaged)
        cadw_connect(
            window, "realize",
            { context in
                guard let prompt = PromptWindow.at(context), let surface = cadw_surface(cadw_window(prompt.window))
                else { return }
                cadw_connect(
                    UnsafeMutableRawPointer(surface), "notify::state", { PromptWindow.at($0)?.focusChanged() }, context,
                    nil)
            }, unmanaged, nil)
        place.onMonitors({ PromptWindow.at($0)?.monitorsChanged() }, unmanaged)
        cadw_connect(window, "notify::is-active", { PromptWindow.at($0)?.focusChanged() }, unmanaged, nil)
        let clicks = gtk_gesture_click_new()!
        gtk_gesture_single_set_button(cadw_gesture_single(clicks), 0)
        gtk_event_controller_set_propagation_phase(cadw_controller(clicks), GTK_PHASE_CAPTURE)
        cadw_connect(UnsafeMutableRawPointer(clicks), "pressed", { PromptWindow.at($0)?.clicked() }, unmanaged, nil)
        gtk_widget_add_controller(window, cadw_controller(clicks))
        let keys = gtk_event_controller_key_new()!
        gtk_event_controller_set_propagation_phase(keys, GTK_PHASE_CAPTURE)
        cadw_connect_key(
            keys,
            { _, key, _, _, context in PromptWindow.at(context)?.key(key) == true ? 1 : 0 }, unmanaged)
        gtk_widget_add_controller(window, keys)
    }

    /// Handles a key; returns true if it must not be processed further. Escape is Not now. Return works, as Space does,
    /// on what the person has moved the focus to: at first it is on the question.
    private func key(_ key: UInt32) -> Bool {
        pressed()
        if place.typesOn(key) {
            arm()
            return true
        }
        // Tab only moves.
        guard keyDelay.isAwake || Int32(bitPattern: key) == GDK_KEY_Tab else { return true }
        switch Int32(bitPattern: key) {
        case GDK_KEY_Escape:
            give(.dismissed)
            return true
        default: return false
        }
    }
}
