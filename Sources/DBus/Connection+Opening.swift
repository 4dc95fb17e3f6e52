// Opening a connection: blocking, for a program's start, or beside the loop, for a bus that may hang.

import CDBus
import Glibc

extension Connection {
    /// Connects and says Hello; `NoServer` when there is no bus to talk to. Blocks for the round trip; meant for a program's
    /// start.
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

    /// ``open(_:)`` for a bus that may hang: the loop goes on meanwhile. `completion` runs once, on the loop, in a later turn.
    ///
    /// `NoServer` when nothing listens at the address. A bus that takes the connection and does not answer is given up after
    /// the time of a call. One that does not even take it keeps a thread waiting in connect(2) for as long as it hangs;
    /// nothing else knows when it is back.
    public static func open(
        _ address: BusAddress, completion: @escaping @LoopActor (Result<Connection, BusError>) -> Void
    ) {
        let failure = runDetached {
            let result = Result { () throws(BusError) in Connected(raw: try connect(address)) }
            Loop.shared.post { greet(result, completion) }
        }
        guard failure != 0 else { return }
        let problem = "there is no thread to connect with: \(String(cString: strerror(failure)))"
        Loop.shared.later { completion(.failure(BusError(name: BusError.Name.failed, message: problem))) }
    }

    // SAFETY: handed over from the thread that connected to the loop, and used by one of them at a time.
    private struct Connected: @unchecked Sendable {
        let raw: OpaquePointer
    }

    /// Authentication goes on while libdbus sends Hello, as the watches say.
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
                    return .failure(BusError(name: BusError.Name.failed, message: "the bus gives no name"))
                }
                connection.uniqueName = name
                return .success(connection)
            }
            if case .failure = named { connection.close() }
            completion(named)
        }
    }

    /// Blocks while the bus takes no connections. Nothing is said on it yet.
    private nonisolated static func connect(_ address: BusAddress) throws(BusError) -> OpaquePointer {
        guard let text = address.text else {
            throw BusError(
                name: BusError.Name.noServer,
                message: "neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR says where the session bus is")
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

    /// The error's texts; frees what libdbus allocated for it.
    private nonisolated static func take(_ error: inout DBusError) -> BusError {
        defer { dbus_error_free(&error) }
        return BusError(
            name: error.name.map { String(cString: $0) } ?? BusError.Name.failed,
            message: error.message.map { String(cString: $0) } ?? "")
    }
}
