// A service on a private bus, whose methods a test provides.

package import DBus
package import PermissionTestKit

/// Calls with arguments of other types get the error `InvalidArgs`.
@LoopActor
package final class FakeService {
    package let connection: Connection
    private let server: ObjectServer

    package init(on bus: PrivateBus) throws {
        connection = try bus.connect()
        server = ObjectServer(connection: connection) { call, text in
            call.fail(name: BusError.Name.invalidArgs, body: [.string(text)])
        }
    }

    package func add(_ interface: String, at path: String, _ methods: [Method], properties: [Property] = []) {
        server.add(Interface(name: interface, methods: methods, properties: properties), at: path)
    }

    /// Takes the well-known name, once all methods are there, also from a service that has left, which the bus may notice
    /// later. Throws if another program owns it.
    package func own(_ name: String) throws {
        guard try connection.requestName(name, isReplaceable: true) else {
            throw TestKitError("\(name) has an owner already")
        }
    }

    /// Leaves the bus.
    package func end() { connection.close() }
}
