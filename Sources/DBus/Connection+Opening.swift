// Opening a connection: blocking at program startup, or asynchronously for a bus that may hang.

import CDBus
import Glibc

extension Connection {
    /// Connects and calls Hello; throws `NoServer` if the bus cannot be reached. Blocks for the round trip; meant for
    /// program startup.
    public static func open(_ address: BusAddress) throws(BusError) -> Connection {
        let raw = try connect(address)
        var error = DBusError()
        dbus_error_init(&error)
        guard dbus_bus_register(raw, &error) != 0 else {
            dbus_connection_close(raw)
            dbus_connection_unref(raw)
            throw BusError(name: BusError.Name.noServer, message: take(&error).message)
        }
        dbus_connection_set_exit_on_disconnect(raw, 0)
        return Connection(raw, uniqueName: String(cString: dbus_bus_get_unique_name(raw)))
    }

    /// ``open(_:)`` for a bus that may hang: the loop keeps running. `completion` runs once, on the loop, in a later
    /// turn.
    ///
    /// Fails with `NoServer` if nothing listens at the address. If the bus accepts the connection but does not answer,
    /// opening fails after the timeout of a call. If it does not accept the connection, a thread blocks in connect(2)
    /// for as long as the bus hangs: there is no other way to learn that it has recovered.
    public static func open(
        _ address: BusAddress, completion: @escaping @LoopActor (Result<Connection, BusError>) -> Void
    ) {
        let failure = runDetached {
            let result = Result { () throws(BusError) in Connected(raw: try connect(address)) }
            Loop.shared.post { greet(result, completion) }
        }
        guard failure != 0 else { return }
        let problem = "cannot start a thread to connect: \(String(cString: strerror(failure)))"
        Loop.shared.later { completion(.failure(BusError(name: BusError.Name.failed, message: problem))) }
    }

    // SAFETY: handed over from the connecting thread to the loop; only one of them uses it at a time.
    private struct Connected: @unchecked Sendable {
        let raw: OpaquePointer
    }

    /// The watches drive authentication while the Hello call is queued.
    private static func greet(
        _ result: Result<Connected, BusError>,
        _ completion: @escaping @LoopActor (Result<Connection, BusError>) -> Void
    ) {
        let connection: Connection
        switch result {
        case .success(let connected): connection = Connection(connected.raw, uniqueName: "")
        case .failure(let error): return completion(.failure(error))
        }
        connection.call(.busCall("Hello")) { reply in
            let named = reply.flatMap { message -> Result<Connection, BusError> in
                guard let name = message.body.first?.stringValue else {
                    return .failure(BusError(name: BusError.Name.failed, message: "the bus assigned no unique name"))
                }
                connection.uniqueName = name
                return .success(connection)
            }
            if case .failure = named { connection.close() }
            completion(named)
        }
    }

    /// Opens the socket. Blocks while the bus accepts no connections; nothing has been sent when it returns.
    private nonisolated static func connect(_ address: BusAddress) throws(BusError) -> OpaquePointer {
        guard let text = address.text else {
            throw BusError(
                name: BusError.Name.noServer,
                message: "cannot find the session bus: neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR is set")
        }
        dbus_threads_init_default()
        var error = DBusError()
        dbus_error_init(&error)
        guard !text.utf8.contains(0), let raw = dbus_connection_open_private(text, &error) else {
            throw BusError(name: BusError.Name.noServer, message: take(&error).message)
        }
        dbus_connection_set_exit_on_disconnect(raw, 0)
        return raw
    }

    /// Converts a libdbus error and frees its memory.
    private nonisolated static func take(_ error: inout DBusError) -> BusError {
        defer { dbus_error_free(&error) }
        return BusError(
            name: error.name.map { String(cString: $0) } ?? BusError.Name.failed,
            message: error.message.map { String(cString: $0) } ?? "")
    }
}
