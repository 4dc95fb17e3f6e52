// Opening a connection: blocking at program startup, or asynchronously for a bus that may hang.

import CDBus
import Glibc

extension Connection {
    /// Connects and calls Hello; throws `NoServer` if the bus cannot be reached. Blocks for the round trip; meant for
    /// program startup.
    public static func open(_ address: BusAddress) throws(BusError) -> Connection {
        let connected = try connect(address)
        return Connection(connected.raw, uniqueName: connected.name)
    }

    /// ``open(_:)`` for a bus that may hang: the loop keeps running. `completion` runs once, on the loop, in a later
    /// turn.
    ///
    /// A thread waits for the bus meanwhile: for its answer as long as a call does, and in connect(2) as long as it
    /// accepts no connections, since there is no other way to learn that it has recovered.
    public static func open(
        _ address: BusAddress, completion: @escaping @LoopActor (Result<Connection, BusError>) -> Void
    ) {
        let failure = runDetached {
            let result = Result { () throws(BusError) in try connect(address) }
            Loop.shared.post { completion(result.map { Connection($0.raw, uniqueName: $0.name) }) }
        }
        guard failure != 0 else { return }
        let problem = "cannot start a thread to connect: \(String(cString: strerror(failure)))"
        Loop.shared.later { completion(.failure(BusError(name: BusError.Name.failed, message: problem))) }
    }

    // SAFETY: handed over from the connecting thread to the loop; only one of them uses it at a time.
    private struct Connected: @unchecked Sendable {
        let raw: OpaquePointer
        /// The name that the bus has given to the connection.
        let name: String
    }

    private nonisolated static func connect(_ address: BusAddress) throws(BusError) -> Connected {
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
            BusError(
                name: BusError.Name.noServer,
                message: error.message.map { String(cString: $0) } ?? "the bus gave the connection no name")
        }
        guard !text.utf8.contains(0), let raw = dbus_connection_open_private(text, &error) else { throw problem() }
        guard let name = sayHello(raw, &error) else {
            dbus_connection_close(raw)
            dbus_connection_unref(raw)
            throw problem()
        }
        dbus_connection_set_exit_on_disconnect(raw, 0)
        return Connected(raw: raw, name: name)
    }

    /// Calls Hello and returns the unique name; nil if the bus does not answer with one.
    ///
    /// dbus_bus_register(3) holds a lock of the process while it waits, which every other connection needs for its name.
    private nonisolated static func sayHello(_ raw: OpaquePointer, _ error: inout DBusError) -> String? {
        let bus = Message.busName
        guard let call = dbus_message_new_method_call(bus, "/org/freedesktop/DBus", bus, "Hello") else { return nil }
        defer { dbus_message_unref(call) }
        guard let reply = dbus_connection_send_with_reply_and_block(raw, call, -1, &error) else { return nil }
        defer { dbus_message_unref(reply) }
        var arguments = DBusMessageIter()
        guard dbus_message_iter_init(reply, &arguments) != 0,
            dbus_message_iter_get_arg_type(&arguments) == Int32(UInt8(ascii: "s"))
        else { return nil }
        var name: UnsafePointer<CChar>?
        dbus_message_iter_get_basic(&arguments, &name)
        return name.map { String(cString: $0) }
    }
}
