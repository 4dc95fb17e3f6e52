// Runs libdbus's watches on the loop (dbus_connection_set_watch_functions). Its timeouts are not used: pending calls
// have timers of the loop.

import CDBus
import CLinux

/// The watches of one connection. libdbus may have two on one descriptor, for reading and writing.
@LoopActor
final class Watches {
    private final class Place {
        let descriptor: Int32
        var watches: [OpaquePointer] = []
        var token: WatchToken?

        init(_ descriptor: Int32) { self.descriptor = descriptor }
    }

    /// Called when reading resumes after libdbus paused it. Messages read before the pause are not dispatched until
    /// requested again.
    var onResume: (@LoopActor () -> Void)?

    private let connection: OpaquePointer
    /// Usually a single entry, so a linear search is faster than a dictionary.
    private var places: [Place] = []

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
        for place in places { place.token?.cancel() }
        places = []
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

    private func place(of watch: OpaquePointer) -> Place? {
        let descriptor = dbus_watch_get_unix_fd(watch)
        return places.first { $0.descriptor == descriptor }
    }

    private func add(_ watch: OpaquePointer) {
        let place = place(of: watch) ?? Place(dbus_watch_get_unix_fd(watch))
        if place.watches.isEmpty { places.append(place) }
        place.watches.append(watch)
        update(place)
    }

    private func remove(_ watch: OpaquePointer) {
        guard let place = place(of: watch) else { return }
        place.watches.removeAll { $0 == watch }
        if place.watches.isEmpty {
            place.token?.cancel()
            places.removeAll { $0 === place }
        } else {
            update(place)
        }
    }

    private func toggled(_ watch: OpaquePointer) {
        if let place = place(of: watch) { update(place) }
        let isReading = dbus_watch_get_flags(watch) & DBUS_WATCH_READABLE.rawValue != 0
        if isReading, dbus_watch_get_enabled(watch) != 0 { onResume?() }
    }

    private func update(_ place: Place) {
        // Interest changes twice per message sent; epoll is updated only if the change persists until the loop sleeps.
        var events: IOEvents = []
        for watch in place.watches where dbus_watch_get_enabled(watch) != 0 {
            let flags = dbus_watch_get_flags(watch)
            if flags & DBUS_WATCH_READABLE.rawValue != 0 { events.insert(.readable) }
            if flags & DBUS_WATCH_WRITABLE.rawValue != 0 { events.insert(.writable) }
        }
        if let token = place.token {
            token.events = events
        } else {
            place.token = Loop.shared.watch(unowned: place.descriptor, events) { [unowned self, unowned place] in
                handle(place, $0)
            }
        }
    }

    /// Reads available data, unless reading is paused.
    func readAgain() {
        for place in places where place.token?.events.contains(.readable) == true {
            handle(place, .readable)
        }
    }

    private func handle(_ place: Place, _ events: IOEvents) {
        for watch in place.watches {
            // Handling one watch may remove the other or close the connection.
            guard place.watches.contains(watch), places.contains(where: { $0 === place }) else { continue }
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
