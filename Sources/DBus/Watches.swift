// libdbus's watches on the loop (dbus_connection_set_watch_functions). Its timeouts are not needed: calls have our timers.

import CDBus
import CLinux

/// Lives as long as its connection. libdbus may have two watches, for reading and writing, on one descriptor.
@LoopActor
final class Watches {
    private let connection: OpaquePointer
    private var watches: [Int32: [OpaquePointer]] = [:]
    private var tokens: [Int32: WatchToken] = [:]

    init(connection: OpaquePointer) {
        self.connection = connection
    }

    // SAFETY: the functions are called by libdbus on the loop's thread, within calls of the connection, which holds
    // `self` for as long as they are set.
    func install() {
        let context = Unmanaged.passUnretained(self).toOpaque()
        dbus_connection_set_watch_functions(
            connection,
            { watch, context in
                Watches.with(context) { $0.add(watch) }
                return 1
            }, { watch, context in Watches.with(context) { $0.remove(watch) } },
            { watch, context in Watches.with(context) { $0.update(dbus_watch_get_unix_fd(watch)) } }, context, nil)
    }

    func uninstall() {
        dbus_connection_set_watch_functions(connection, nil, nil, nil, nil, nil)
        for token in tokens.values { token.cancel() }
        tokens = [:]
    }

    private nonisolated static func with(_ context: UnsafeMutableRawPointer?, _ body: @LoopActor (Watches) -> Void) {
        guard let context else { return }
        let watches = Unmanaged<Watches>.fromOpaque(context).takeUnretainedValue()
        LoopActor.assumeIsolated { body(watches) }
    }

    private func add(_ watch: OpaquePointer?) {
        guard let watch else { return }
        let fd = dbus_watch_get_unix_fd(watch)
        watches[fd, default: []].append(watch)
        update(fd)
    }

    private func remove(_ watch: OpaquePointer?) {
        guard let watch else { return }
        let fd = dbus_watch_get_unix_fd(watch)
        watches[fd]?.removeAll { $0 == watch }
        if watches[fd]?.isEmpty == true { watches[fd] = nil }
        update(fd)
    }

    private func update(_ fd: Int32) {
        let enabled = (watches[fd] ?? []).filter { dbus_watch_get_enabled($0) != 0 }
        if watches[fd] == nil {
            tokens.removeValue(forKey: fd)?.cancel()
            return
        }
        // Interest changes twice per message sent; epoll hears of it only if it is still so before sleeping.
        var events: IOEvents = []
        for watch in enabled {
            let flags = dbus_watch_get_flags(watch)
            if flags & DBUS_WATCH_READABLE.rawValue != 0 { events.insert(.readable) }
            if flags & DBUS_WATCH_WRITABLE.rawValue != 0 { events.insert(.writable) }
        }
        if let token = tokens[fd] {
            token.events = events
        } else {
            tokens[fd] = Loop.shared.watch(fd, events) { [unowned self] in handle(fd, $0) }
        }
    }

    private func handle(_ fd: Int32, _ events: IOEvents) {
        for watch in watches[fd] ?? [] {
            // Handling one may remove the other, or close the connection.
            guard watches[fd]?.contains(watch) == true else { continue }
            guard dbus_watch_get_enabled(watch) != 0 else { continue }
            let wanted = dbus_watch_get_flags(watch)
            var flags: UInt32 = 0
            if events.contains(.readable) { flags |= DBUS_WATCH_READABLE.rawValue }
            if events.contains(.writable) { flags |= DBUS_WATCH_WRITABLE.rawValue }
            flags &= wanted
            if events.contains(.hangup) { flags |= DBUS_WATCH_HANGUP.rawValue }
            if events.contains(.error) { flags |= DBUS_WATCH_ERROR.rawValue }
            if flags != 0 { dbus_watch_handle(watch, flags) }
        }
    }
}
