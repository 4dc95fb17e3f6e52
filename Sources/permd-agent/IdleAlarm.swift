// When nobody uses a keyboard or pointer on an X server, by the server's own counter, so that nothing polls.

import CAdwaita

/// Calls once when there was no input for some time. Used only on GTK's thread.
final class IdleAlarm {
    private let gdk: OpaquePointer
    private let display: OpaquePointer
    /// Milliseconds since the last input.
    private let counter: XSyncCounter
    private let alarmEvent: Int32
    private var alarm: XSyncAlarm = 0
    private let onIdle: () -> Void

    /// Nil if windows are not on an X server, or on one that has no such counter.
    init?(_ onIdle: @escaping () -> Void) {
        guard let gdk = gdk_display_get_default(), cadw_is_x11_display(gdk) != 0 else { return nil }
        let display = gdk_x11_display_get_xdisplay(gdk)!
        var (first, error): (Int32, Int32) = (0, 0)
        var (major, minor): (Int32, Int32) = (0, 0)
        guard XSyncQueryExtension(display, &first, &error) != 0, XSyncInitialize(display, &major, &minor) != 0,
            let counter = IdleAlarm.counter(of: display)
        else { return nil }
        (self.gdk, self.display, self.counter, self.onIdle) = (gdk, display, counter, onIdle)
        alarmEvent = first + XSyncAlarmNotify
        // SAFETY: `deinit` ends the handler.
        cadw_connect_pointer(
            UnsafeMutableRawPointer(gdk), "xevent",
            { _, event, context in
                guard let event, let context else { return 0 }
                return Unmanaged<IdleAlarm>.fromOpaque(context).takeUnretainedValue().takes(event) ? 1 : 0
            }, Unmanaged.passUnretained(self).toOpaque(), nil)
    }

    deinit {
        cancel()
        cadw_disconnect(UnsafeMutableRawPointer(gdk), Unmanaged.passUnretained(self).toOpaque())
    }

    /// Waits until there was no input for so many milliseconds, instead of what was set before.
    func set(_ milliseconds: UInt32) {
        cancel()
        var attributes = XSyncAlarmAttributes()
        attributes.trigger.counter = counter
        attributes.trigger.value_type = XSyncAbsolute
        attributes.trigger.test_type = XSyncPositiveComparison
        XSyncIntToValue(&attributes.trigger.wait_value, Int32(clamping: milliseconds))
        attributes.events = 1
        let parts = XSyncCACounter | XSyncCAValueType | XSyncCAValue | XSyncCATestType | XSyncCADelta | XSyncCAEvents
        alarm = XSyncCreateAlarm(display, UInt(parts), &attributes)
    }

    func cancel() {
        if alarm != 0 { XSyncDestroyAlarm(display, alarm) }
        alarm = 0
    }

    private func takes(_ event: UnsafeMutableRawPointer) -> Bool {
        guard event.assumingMemoryBound(to: XEvent.self).pointee.type == alarmEvent, alarm != 0,
            event.assumingMemoryBound(to: XSyncAlarmNotifyEvent.self).pointee.alarm == alarm
        else { return false }
        onIdle()
        return true
    }

    private static func counter(of display: OpaquePointer) -> XSyncCounter? {
        var count: Int32 = 0
        guard let counters = XSyncListSystemCounters(display, &count) else { return nil }
        defer { XSyncFreeSystemCounterList(counters) }
        return UnsafeBufferPointer(start: counters, count: Int(count)).first { String(cString: $0.name) == "IDLETIME" }?
            .counter
    }
}
