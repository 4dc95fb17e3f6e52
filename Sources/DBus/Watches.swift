// Runs libdbus's watches on the loop (dbus_connection_set_watch_functions). Its timeouts are not used: pending calls
// have timers of the loop.

import CDBus
import CLinux
import Glibc

/// The watches of one connection. libdbus may have two on one descriptor, for reading and writing.
@LoopActor
final class Watches {
    /// Called after data has been read, and when reading resumes after libdbus paused it: messages read before the pause
    /// are not dispatched until requested again.
    var onRead: (@LoopActor () -> Void)?

    private let connection: OpaquePointer
    private var tokens: [OpaquePointer: WatchToken] = [:]

    init(connection: OpaquePointer) {
        self.connection = connection
    }

    // SAFETY: libdbus calls the functions on the loop's thread, within calls of the connection, which holds `self` as
    // long as they are set.
    func install() {
        let context = Unmanaged.passUnretained(self).toOpaque()
        dbus_connection_set_watch_functions(
            connection,
            { watch, context in
                Watches.with(watch, context) { $0.add($1) }
                return 1
            }, { watch, context in Watches.with(watch, context) { $0.remove($1) } },
            { watch, context in Watches.with(watch, context) { $0.toggled($1) } }, context, nil)
    }

    func uninstall() {
        dbus_connection_set_watch_functions(connection, nil, nil, nil, nil, nil)
        for token in tokens.values { token.cancel() }
        tokens = [:]
    }

    private nonisolated static func with(
        _ watch: OpaquePointer?, _ context: UnsafeMutableRawPointer?,
        _ body: @LoopActor (Watches, OpaquePointer) -> Void
    ) {
        guard let context, let watch else { return }
        let watches = Unmanaged<Watches>.fromOpaque(context).takeUnretainedValue()
        // SAFETY: used within this call only, on this thread.
        nonisolated(unsafe) let pointer = watch
        LoopActor.assumeIsolated { body(watches, pointer) }
    }

    private func add(_ watch: OpaquePointer) {
        let descriptor = dbus_watch_get_unix_fd(watch)
        tokens[watch] = Loop.shared.watch(unowned: descriptor, Watches.interest(of: watch)) { [unowned self] in
            handle(watch, $0)
            if $0.contains(.readable) { onRead?() }
        }
    }

    private func remove(_ watch: OpaquePointer) { tokens.removeValue(forKey: watch)?.cancel() }

    /// Interest changes twice per message sent; epoll is updated only if the change persists until the loop sleeps.
    private func toggled(_ watch: OpaquePointer) {
        let interest = Watches.interest(of: watch)
        tokens[watch]?.events = interest
        if interest.contains(.readable) { onRead?() }
    }

    /// The events that the watch is for; none while it is disabled.
    private static func interest(of watch: OpaquePointer) -> IOEvents {
        guard dbus_watch_get_enabled(watch) != 0 else { return [] }
        let flags = dbus_watch_get_flags(watch)
        var events: IOEvents = []
        if flags & DBUS_WATCH_READABLE.rawValue != 0 { events.insert(.readable) }
        if flags & DBUS_WATCH_WRITABLE.rawValue != 0 { events.insert(.writable) }
        return events
    }

    /// Reads available data. Returns false if there is none, or if reading is paused. One of the watches is for reading.
    func readAgain() -> Bool {
        guard let (watch, token) = tokens.first(where: { $0.value.events.contains(.readable) }) else { return false }
        var bytes: Int32 = 0
        guard ioctl(token.descriptor, UInt(FIONREAD), &bytes) == 0, bytes > 0 else { return false }
        handle(watch, .readable)
        return true
    }

    private func handle(_ watch: OpaquePointer, _ events: IOEvents) {
        var flags: UInt32 = 0
        if events.contains(.readable) { flags |= DBUS_WATCH_READABLE.rawValue }
        if events.contains(.writable) { flags |= DBUS_WATCH_WRITABLE.rawValue }
        if events.contains(.hangup) { flags |= DBUS_WATCH_HANGUP.rawValue }
        if events.contains(.error) { flags |= DBUS_WATCH_ERROR.rawValue }
        dbus_watch_handle(watch, flags)
    }
}
