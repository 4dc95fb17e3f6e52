// The socket at which a service finds the relay instead of its bus. libdbus authenticates whoever connects, as a bus does.

import CDBus
import CLinux

@LoopActor
package final class RelayServer {
    private let raw: OpaquePointer
    /// The only user who may connect.
    private let user: UInt32
    private let accept: @LoopActor (RelayPeer) -> Void
    private var tokens: [OpaquePointer: WatchToken] = [:]

    /// Listens as long as the program runs.
    ///
    /// - Parameters:
    ///   - address: As for dbus_server_listen(): `unix:path=…`, or `systemd:` for the socket of the unit.
    ///   - accept: Gets each connection, before it is authenticated: only then messages come.
    package init(
        _ address: String, user: UInt32, accept: @escaping @LoopActor (RelayPeer) -> Void
    ) throws(BusError) {
        var error = DBusError()
        dbus_error_init(&error)
        defer { dbus_error_free(&error) }
        guard let raw = dbus_server_listen(address, &error) else {
            throw BusError(name: BusError.Name.failed, message: error.message.map { String(cString: $0) } ?? "")
        }
        (self.raw, self.user, self.accept) = (raw, user, accept)
        var mechanisms: [UnsafePointer<CChar>?] = [RelayServer.external, nil]
        dbus_server_set_auth_mechanisms(raw, &mechanisms)
        // SAFETY: libdbus calls the functions on the loop's thread. The server is never released, and keeps this object.
        let context = Unmanaged.passRetained(self).toOpaque()
        dbus_server_set_new_connection_function(
            raw, { RelayServer.with($1, $2) { $0.accepted($1) } }, context, nil)
        dbus_server_set_watch_functions(
            raw,
            {
                RelayServer.with($0, $1) { $0.add($1) }
                return 1
            },
            { RelayServer.with($0, $1) { $0.tokens.removeValue(forKey: $1)?.cancel() } }, { _, _ in }, context, nil)
    }

    // SAFETY: a constant; libdbus copies the names of mechanisms.
    private static let external = UnsafePointer(strdup("EXTERNAL")!)

    private nonisolated static func with(
        _ object: OpaquePointer?, _ context: UnsafeMutableRawPointer?,
        _ body: @LoopActor (RelayServer, OpaquePointer) -> Void
    ) {
        guard let object, let context else { return }
        let server = Unmanaged<RelayServer>.fromOpaque(context).takeUnretainedValue()
        // SAFETY: used on this thread only.
        nonisolated(unsafe) let pointer = object
        LoopActor.assumeIsolated { body(server, pointer) }
    }

    private func add(_ watch: OpaquePointer) {
        tokens[watch] = Loop.shared.watch(unowned: dbus_watch_get_unix_fd(watch), .readable) { _ in
            dbus_watch_handle(watch, DBUS_WATCH_READABLE.rawValue)
        }
    }

    private func accepted(_ connection: OpaquePointer) {
        dbus_connection_ref(connection)
        // SAFETY: a number, not a pointer; one more, so that it is none for root either.
        let user = UnsafeMutableRawPointer(bitPattern: UInt(user) + 1)
        dbus_connection_set_unix_user_function(
            connection, { _, uid, user in uid + 1 == UInt(bitPattern: user) ? 1 : 0 }, user, nil)
        accept(RelayPeer(connection))
    }
}
