// A service on a private bus, whose methods a test provides.

public import DBus

/// Calls with arguments of other types get the error `InvalidArgs`.
@LoopActor
public final class FakeService {
    public let connection: Connection
    private let server: ObjectServer

    public init(on bus: PrivateBus) throws {
        connection = try bus.connect()
        server = ObjectServer(connection: connection) { call, text in
            call.fail(name: BusError.Name.invalidArgs, body: [.string(text)])
        }
    }

    public func add(_ interface: String, at path: String, _ methods: [Method]) {
        server.add(Interface(name: interface, methods: methods), at: path)
    }

    /// Takes the well-known name, once all methods are there. Throws if it has an owner.
    public func own(_ name: String) throws {
        guard try connection.requestName(name) else { throw TestKitError("\(name) has an owner already") }
    }

    /// Leaves the bus.
    public func end() { connection.close() }
}
