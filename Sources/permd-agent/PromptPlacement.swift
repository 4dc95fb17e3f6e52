// Where the window of prompts is: above full-screen windows, if the desktop has a place for that. A window there does not
// get the keyboard by itself, so it takes it when the person pauses, and returns it when the person types on.

import CAdwaita

#if LAYER_SHELL
    import CLayerShell
#endif

/// Used only on GTK's thread.
final class PromptPlacement {
    /// Milliseconds without any input after which the window takes the keyboard.
    private static let pause: UInt32 = 2000
    /// By how much longer the pause has to be each time that the person types on.
    private static let patience: UInt32 = 4

    #if LAYER_SHELL
        private static var hasLayers: Bool { clayer_is_supported() != 0 }
    #else
        private static let hasLayers = false
    #endif
    /// Whether a window gets the keyboard when it appears, as ordinary ones do with Wayland.
    static var comesWithKeyboard: Bool { !hasLayers && cadw_is_x11_display(gdk_display_get_default()) == 0 }

    private let window: Widget
    /// Whether it is on the overlay layer of a Wayland compositor.
    let isLayer: Bool
    /// Whether no ordinary window can be above it.
    let isAbove: Bool
    private var pause = PromptPlacement.pause
    private var timer: UInt32 = 0
    private var hasKeyboard = false
    private var isCovered = false
    private var stopMonitors: () -> Void = {}
    /// On X11, the window that had the keyboard; 0 if that is unknown.
    private var former: Window = 0
    /// On X11, what tells that nobody uses the keyboard.
    private lazy var alarm = isAbove && !isLayer ? IdleAlarm { [unowned self] in takeKeyboard() } : nil
    #if LAYER_SHELL
        private var watch: OpaquePointer?
    #endif

    /// - Parameter window: Not realized yet.
    init(_ window: Widget) {
        self.window = window
        isLayer = PromptPlacement.hasLayers
        isAbove = !PromptPlacement.comesWithKeyboard
        #if LAYER_SHELL
            guard isLayer else { return }
            clayer_place(cadw_window(window))
            // Nothing draws a frame around it.
            gtk_widget_add_css_class(window, "layer")
        #endif
    }

    /// Shows the window, if it is not shown, and puts it where the person sees it.
    func show(for parent: String) {
        if gtk_widget_get_visible(window) == 0 {
            gtk_widget_realize(window)
            if !isLayer { beDialog() }
            gtk_widget_set_visible(window, 1)
        }
        X11Window(window)?.place(onto: parent)
        awaitPause()
    }

    /// With Wayland the compositor decides where it is, and mutter makes only a modal window a dialog.
    private func beDialog() {
        guard let own = X11Window(window) else { return gtk_window_set_modal(cadw_window(window), 1) }
        own.beDialog()
    }

    /// The window is on the screen. An X11 window has its size only now, and GNOME Shell fails on one that attracts attention
    /// before.
    func arrived(for parent: String) {
        X11Window(window)?.place(onto: parent)
        if !isFocused { X11Window(window)?.attract(true) }
    }

    /// Brings the window to the front, with a token of the program that the person has used. Returns false where that takes a
    /// new window: GNOME Shell 43 gives no token.
    func bringForward(_ token: String) -> Bool {
        guard !token.isEmpty || !PromptPlacement.comesWithKeyboard else { return false }
        guard isAbove else {
            if !token.isEmpty { gtk_window_set_startup_id(cadw_window(window), token) }
            gtk_window_present(cadw_window(window))
            return true
        }
        X11Window(window)?.raise()
        takeKeyboard()
        return true
    }

    /// Calls `body` when monitors come and go: a layer whose monitor is gone is not shown, and sway does not say so.
    func onMonitors(
        _ body: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void, _ context: UnsafeMutableRawPointer
    ) {
        guard isLayer, let monitors = gdk_display_get_monitors(gdk_display_get_default()) else { return }
        let object = UnsafeMutableRawPointer(monitors)
        cadw_connect(object, "items-changed", body, context, nil)
        stopMonitors = { cadw_disconnect(object, context) }
    }

    /// Takes the window from the screen. What hears of the lost focus meanwhile does not show it again.
    func hide() {
        forgetPause()
        former = 0
        if hasKeyboard { pause *= PromptPlacement.patience }
        hasKeyboard = false
        #if LAYER_SHELL
            if isLayer { clayer_take_keyboard(cadw_window(window), 0) }
        #endif
        gtk_widget_set_visible(window, 0)
        gtk_widget_unrealize(window)
    }

    /// Ends it, before the window is destroyed.
    func end() {
        forgetPause()
        stopMonitors()
    }

    // MARK: Sight

    /// Whether the window has the focus, and can be seen.
    var hasFocus: Bool { !isCovered && isFocused }

    /// On a Wayland seat without a keyboard, GTK never makes a window active. On X11, GTK has each window in the state of
    /// having the focus if the window manager knows no such state.
    private var isFocused: Bool {
        if gtk_window_is_active(cadw_window(window)) != 0 { return true }
        guard let surface = cadw_surface(cadw_window(window)), cadw_is_x11_surface(surface) == 0 else { return false }
        return cadw_toplevel_state(surface).rawValue & GDK_TOPLEVEL_STATE_FOCUSED.rawValue != 0
    }

    /// Whether the window is on the screen. With Wayland only the compositor can take it from there.
    var isOnScreen: Bool { X11Window(window)?.isSeen ?? (gtk_widget_get_visible(window) != 0) }

    /// Whether the person sees the window, as far as that can be told.
    var isSeen: Bool { hasFocus || isAbove && !isCovered }

    /// Looks whether another window covers it. Then it has no use for the keyboard. Returns whether that has changed.
    func lookForCover() -> Bool {
        let isCovered = X11Window(window)?.isCovered ?? false
        guard isCovered != self.isCovered else { return false }
        self.isCovered = isCovered
        if isCovered { returnKeyboard(staying: true) } else { awaitPause() }
        return true
    }

    // MARK: The keyboard

    /// Takes the keyboard at once.
    func takeKeyboard() {
        forgetPause()
        guard isAbove, !hasKeyboard else { return }
        hasKeyboard = true
        #if LAYER_SHELL
            if isLayer { return clayer_take_keyboard(cadw_window(window), 1) }
        #endif
        former = X11Window(window)?.giveKeyboard() ?? 0
    }

    /// Returns the keyboard to the window that had it, if this one has taken it. KWin does so only when a layer goes, so that
    /// is hidden, and, if it is to stay, shown again.
    func returnKeyboard(staying: Bool) {
        forgetPause()
        guard hasKeyboard else { return }
        hasKeyboard = false
        #if LAYER_SHELL
            if isLayer {
                clayer_take_keyboard(cadw_window(window), 0)
                gtk_widget_set_visible(window, 0)
                if staying { gtk_widget_set_visible(window, 1) }
                return
            }
        #endif
        if former != 0 { X11Window(window)?.giveKeyboard(to: former) }
    }

    /// The person, or a lock screen, has given the keyboard to another window.
    func keyboardIsLost() {
        guard hasKeyboard else { return }
        former = 0
        returnKeyboard(staying: true)
        pause *= PromptPlacement.patience
        awaitPause()
    }

    /// Returns the keyboard if a key is one with which the person types on. Returns whether it is.
    func typesOn(_ key: UInt32) -> Bool {
        let isText = gdk_keyval_to_unicode(key) > 32 || [GDK_KEY_BackSpace, GDK_KEY_Delete].contains(Int32(key))
        guard isText, hasKeyboard else { return false }
        returnKeyboard(staying: true)
        pause *= PromptPlacement.patience
        awaitPause()
        return true
    }

    private func awaitPause() {
        guard isAbove, !hasKeyboard else { return }
        forgetPause()
        let context = Unmanaged.passUnretained(self).toOpaque()
        #if LAYER_SHELL
            if isLayer {
                watch = clayer_watch_idle(pause, { context, _ in PromptPlacement.at(context)?.takeKeyboard() }, context)
                return
            }
        #endif
        // The server counts from the last input, which may be long ago.
        timer = g_timeout_add(
            pause,
            { context in
                PromptPlacement.at(context)?.awaitIdleness()
                return 0
            }, context)
    }

    private func awaitIdleness() {
        timer = 0
        alarm?.set(pause)
    }

    private func forgetPause() {
        if timer != 0 { g_source_remove(timer) }
        timer = 0
        #if LAYER_SHELL
            if let watch { clayer_forget_idle(watch) }
            watch = nil
        #endif
        alarm?.cancel()
    }

    private static func at(_ context: UnsafeMutableRawPointer?) -> PromptPlacement? {
        context.map { Unmanaged<PromptPlacement>.fromOpaque($0).takeUnretainedValue() }
    }
}
