// Opening a connection: blocking at program startup, or asynchronously for a bus that may hang.

import CDBus
import Glibc

extension Connection {
    /// Connects and calls Hello; throws `NoServer` if the bus cannot be reached. Blocks for the round trip; meant for
    /// program startup.
    public static func open(_ address: BusAddress) throws(BusError) -> Connection { Connection(try connect(address)) }

    /// ``open(_:)`` for a bus that may hang: the loop keeps running. `completion` runs once, on the loop, in a later
    /// turn.
    ///
    /// A thread waits for the bus meanwhile: for its answer as long as a call does, and in connect(2) as long as it
    /// accepts no connections, since there is no other way to learn that it has recovered.
    public static func open(
        _ address: BusAddress, completion: @escaping @LoopActor (Result<Connection, BusError>) -> Void
    ) {
        let failure = runDetached {
            let result = Result { () throws(BusError) in Connected(raw: try connect(address)) }
            Loop.shared.post { completion(result.map { Connection($0.raw) }) }
        }
        guard failure != 0 else { return }
        let problem = "cannot start a thread to connect: \(String(cString: strerror(failure)))"
        Loop.shared.later { completion(.failure(BusError(name: BusError.Name.failed, message: problem))) }
    }

    // SAFETY: handed over from the connecting thread to the loop; only one of them uses it at a time.
    private struct Connected: @unchecked Sendable {
        let raw: OpaquePointer
    }

    private nonisolated static func connect(_ address: BusAddress) throws(BusError) -> OpaquePointer {
        guard let text = address.text else {
            throw BusError(
                name: BusError.Name.noServer,
                message: "cannot find the session bus: neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR is set")
        }
        dbus_threads_init_default()
        var error = DBusError()
        dbus_error_init(&error)
        defer { dbus_error_free(&error) }
        func problem() -> BusError {
            BusError(name: BusError.Name.noServer, message: error.message.map { String(cString: $0) } ?? "")
        }
        guard !text.utf8.contains(0), let raw = dbus_connection_open_private(text, &error) else { throw problem() }
        guard dbus_bus_register(raw, &error) != 0 else {
            dbus_connection_close(raw)
            dbus_connection_unref(raw)
            throw problem()
        }
        dbus_connection_set_exit_on_disconnect(raw, 0)
        return raw
    }
}
