// The window of prompts on an X server: what is asked of the window manager, and whether the person can see the window.
// Any client may unmap, cover or destroy another's window at any time, so requests about one that is gone do nothing.

import CAdwaita

/// Used only on GTK's thread, as long as the window is realized.
struct X11Window {
    private let surface: OpaquePointer
    private let gdk: OpaquePointer
    private let display: OpaquePointer
    private let id: Window

    /// Nil if windows are not on an X server, or if this one is not realized.
    init?(_ window: Widget) {
        guard let surface = cadw_surface(cadw_window(window)), cadw_is_x11_surface(surface) != 0 else { return nil }
        self.surface = surface
        gdk = gdk_surface_get_display(surface)
        display = gdk_x11_display_get_xdisplay(gdk)
        id = gdk_x11_surface_get_xid(surface)
    }

    // MARK: The window manager

    /// Makes the window, which is not shown yet, a dialog that does not take the keyboard when it appears: with a user
    /// time of 0, window managers do not focus it (_NET_WM_USER_TIME). Of the window types, KWin knows the first, and
    /// shows only that one above full-screen windows; others do so with the second.
    func beDialog() {
        let types = [
            "_KDE_NET_WM_WINDOW_TYPE_CRITICAL_NOTIFICATION", "_NET_WM_WINDOW_TYPE_NOTIFICATION",
            "_NET_WM_WINDOW_TYPE_DIALOG",
        ].map(atom)
        types.withUnsafeBytes {
            _ = XChangeProperty(
                display, id, atom("_NET_WM_WINDOW_TYPE"), Atom(XA_ATOM), 32, PropModeReplace,
                $0.bindMemory(to: UInt8.self).baseAddress, Int32(types.count))
        }
        gdk_x11_surface_set_user_time(surface, 0)
    }

    /// Asks for the person's attention (the urgency hint of ICCCM), or takes that back.
    func attract(_ isUrgent: Bool) { gdk_x11_surface_set_urgency_hint(surface, isUrgent ? 1 : 0) }

    /// Puts the window, which is shown, above others, on every desktop, and in the middle of the app's window, if `parent`
    /// names one (x11:XID) that is visible, otherwise of the window in use. Never transient for that window: window
    /// managers hide such a window together with the other one, which the app may minimize or move to another desktop.
    func place(onto parent: String) {
        request("_NET_WM_STATE", of: id, 1, Int(atom("_NET_WM_STATE_ABOVE")))
        request("_NET_WM_DESKTOP", of: id, 0xFFFF_FFFF, 1)
        let other = X11Window.identifier(parent) ?? active
        if other != 0, other != id { move(onto: other) }
    }

    /// The X11 window that a parent window names, as portals do: `x11:` and its number in hexadecimal.
    static func identifier(_ parent: String) -> Window? {
        guard parent.hasPrefix("x11:"), let number = UInt32(parent.dropFirst(4), radix: 16) else { return nil }
        return number == 0 ? nil : Window(number)
    }

    /// Asks for a place above others of its kind.
    func raise() { XRaiseWindow(display, id) }

    /// Gives the keyboard to the window, or to another one. Returns which had it; 0 if none, or if that is unknown.
    @discardableResult
    func giveKeyboard(to other: Window? = nil) -> Window {
        let before = active
        // As a pager, to which window managers do not refuse it.
        request("_NET_ACTIVE_WINDOW", of: other ?? id, 2, Int(gdk_x11_get_server_time(surface)))
        return before
    }

    // MARK: Sight

    /// Whether the window is on the screen.
    var isSeen: Bool {
        // Some window managers leave minimized windows mapped.
        guard let attributes = trapping({ attributes(of: id) }), attributes.map_state == IsViewable else {
            return false
        }
        return cadw_toplevel_state(surface).rawValue & GDK_TOPLEVEL_STATE_MINIMIZED.rawValue == 0
    }

    /// Whether another program's window is above the middle of the window. Notifications may be, and windows that no window
    /// manager arranges, such as the full screen of some games.
    var isCovered: Bool {
        let found = trapping { () -> (top: Window, frame: Window)? in
            let frame = self.frame
            guard let own = attributes(of: id), let middle = middle(of: id, own) else { return nil }
            return (middle.child, frame)
        }
        guard let (top, frame) = found, top != 0, top != frame else { return false }
        // Tooltips are windows of this program.
        return gdk_x11_surface_lookup_for_display(gdk, top) == nil
    }

    // MARK: The X server

    private func atom(_ name: String) -> Atom { XInternAtom(display, name, 0) }

    /// Nil if the server reports an error.
    private func trapping<Result>(_ body: () -> Result?) -> Result? {
        gdk_x11_display_error_trap_push(gdk)
        let result = body()
        return gdk_x11_display_error_trap_pop(gdk) == 0 ? result : nil
    }

    private func attributes(of window: Window) -> XWindowAttributes? {
        var attributes = XWindowAttributes()
        return XGetWindowAttributes(display, window, &attributes) != 0 ? attributes : nil
    }

    /// Where the middle of a window is on its screen, and which window is there at the top.
    private func middle(of window: Window, _ attributes: XWindowAttributes) -> (x: Int32, y: Int32, child: Window)? {
        var (x, y, child): (Int32, Int32, Window) = (0, 0, 0)
        let isThere = XTranslateCoordinates(
            display, window, attributes.root, attributes.width / 2, attributes.height / 2, &x, &y, &child)
        return isThere != 0 ? (x, y, child) : nil
    }

    /// The window that the window manager has put around the window; itself if there is none, and 0 if it is gone.
    private var frame: Window {
        var (frame, parent): (Window, Window) = (id, id)
        var root: Window = 0
        repeat {
            frame = parent
            var children: UnsafeMutablePointer<Window>?
            var count: UInt32 = 0
            guard XQueryTree(display, frame, &root, &parent, &children, &count) != 0 else { return 0 }
            if let children { XFree(children) }
        } while parent != root && parent != 0
        return frame
    }

    /// The window that has the keyboard, according to the window manager; 0 if that is unknown.
    private var active: Window {
        var (type, format): (Atom, Int32) = (0, 0)
        var (count, rest): (UInt, UInt) = (0, 0)
        var value: UnsafeMutablePointer<UInt8>?
        XGetWindowProperty(
            display, XDefaultRootWindow(display), atom("_NET_ACTIVE_WINDOW"), 0, 1, 0, Atom(XA_WINDOW), &type, &format,
            &count, &rest, &value)
        guard let value else { return 0 }
        defer { XFree(value) }
        // Xlib returns values of 32 bits as longs.
        return count == 1 && format == 32 ? UnsafeRawPointer(value).load(as: Window.self) : 0
    }

    /// Sends a request about a window to the window manager (EWMH), which alone may change some things of shown windows.
    private func request(_ type: String, of window: Window, _ first: Int, _ second: Int) {
        var event = XEvent()
        event.xclient.type = ClientMessage
        event.xclient.window = window
        event.xclient.message_type = atom(type)
        event.xclient.format = 32
        event.xclient.data.l = (first, second, 0, 1, 0)
        XSendEvent(
            display, XDefaultRootWindow(display), 0, SubstructureRedirectMask | SubstructureNotifyMask, &event)
    }

    private func move(onto other: Window) {
        let found = trapping { () -> (width: Int32, height: Int32, x: Int32, y: Int32)? in
            guard let own = attributes(of: id), let place = attributes(of: other), place.map_state == IsViewable,
                let middle = middle(of: other, place)
            else { return nil }
            return (own.width, own.height, middle.x, middle.y)
        }
        guard let (width, height, x, y) = found else { return }
        guard let corner = X11Monitor.all(of: gdk).lazy.compactMap({ $0.corner(width, height, around: x, y) }).first
        else { return }
        XMoveWindow(display, id, corner.x, corner.y)
    }
}

/// The place of a monitor on the X server's screen, in pixels.
struct X11Monitor {
    let left: Int32
    let top: Int32
    let width: Int32
    let height: Int32

    static func all(of gdk: OpaquePointer) -> [X11Monitor] {
        let monitors = gdk_display_get_monitors(gdk)
        return (0..<g_list_model_get_n_items(monitors)).compactMap { index in
            guard let item = g_list_model_get_item(monitors, index) else { return nil }
            defer { g_object_unref(item) }
            let monitor = OpaquePointer(item)
            var area = GdkRectangle()
            gdk_monitor_get_geometry(monitor, &area)
            let scale = gdk_monitor_get_scale_factor(monitor)
            return X11Monitor(
                left: area.x * scale, top: area.y * scale, width: area.width * scale, height: area.height * scale)
        }
    }

    /// Where the corner of a window of that size is whose middle is at a point, or as near to it as the monitor reaches.
    /// Nil if the point is not on the monitor.
    func corner(_ width: Int32, _ height: Int32, around x: Int32, _ y: Int32) -> (x: Int32, y: Int32)? {
        guard (left..<left + self.width).contains(x), (top..<top + self.height).contains(y) else { return nil }
        return (
            max(left, min(x - width / 2, left + self.width - width)),
            max(top, min(y - height / 2, top + self.height - height))
        )
    }
}
