// Which presses of keys and buttons count on an X server: only those of a person's devices, not those of other programs.

import CAdwaita

/// Drops what programs type and click in this program's windows. Used only on GTK's thread.
final class SyntheticInput {
    private static let presses = [XI_KeyPress, XI_KeyRelease, XI_ButtonPress, XI_ButtonRelease]

    private let gdk: OpaquePointer
    private let display: OpaquePointer
    /// The number of the extension whose events have devices; 0 without it.
    private var extensionNumber: Int32 = 0
    private let onRefusal: () -> Void

    /// Nil if windows are not on an X server.
    ///
    /// - Parameter onRefusal: Called each time that something was dropped.
    init?(_ onRefusal: @escaping () -> Void) {
        guard let gdk = gdk_display_get_default(), cadw_is_x11_display(gdk) != 0 else { return nil }
        self.gdk = gdk
        self.onRefusal = onRefusal
        display = gdk_x11_display_get_xdisplay(gdk)
        var (firstEvent, firstError): (Int32, Int32) = (0, 0)
        XQueryExtension(display, "XInputExtension", &extensionNumber, &firstEvent, &firstError)
        // SAFETY: `deinit` ends the handler.
        cadw_connect_pointer(
            UnsafeMutableRawPointer(gdk), "xevent",
            { _, event, context in
                guard let event, let context else { return 0 }
                return Unmanaged<SyntheticInput>.fromOpaque(context).takeUnretainedValue().refuses(event) ? 1 : 0
            }, Unmanaged.passUnretained(self).toOpaque(), nil)
    }

    deinit { cadw_disconnect(UnsafeMutableRawPointer(gdk), Unmanaged.passUnretained(self).toOpaque()) }

    private func refuses(_ event: UnsafeMutableRawPointer) -> Bool {
        guard isSynthetic(event.assumingMemoryBound(to: XEvent.self).pointee) else { return false }
        onRefusal()
        return true
    }

    /// Whether a program made this press or release of a key or a button: it was sent (XSendEvent), or comes from a
    /// device of the extension XTEST.
    private func isSynthetic(_ event: XEvent) -> Bool {
        if (KeyPress...ButtonRelease).contains(event.type) { return event.xany.send_event != 0 }
        guard event.type == GenericEvent, extensionNumber != 0, event.xcookie.extension == extensionNumber,
            SyntheticInput.presses.contains(event.xcookie.evtype), let data = event.xcookie.data
        else { return false }
        return isTestDevice(data.assumingMemoryBound(to: XIDeviceEvent.self).pointee.sourceid)
    }

    /// A device that is gone already counts as one.
    private func isTestDevice(_ device: Int32) -> Bool {
        var (type, format): (Atom, Int32) = (0, 0)
        var (count, rest): (UInt, UInt) = (0, 0)
        var value: UnsafeMutablePointer<UInt8>?
        gdk_x11_display_error_trap_push(gdk)
        let result = XIGetProperty(
            display, device, XInternAtom(display, "XTEST Device", 0), 0, 1, 0, Atom(AnyPropertyType), &type, &format,
            &count, &rest, &value)
        guard gdk_x11_display_error_trap_pop(gdk) == 0, result == Success else { return true }
        if let value { XFree(value) }
        return type != 0
    }
}
