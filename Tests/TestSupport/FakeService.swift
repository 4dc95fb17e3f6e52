// A service on a private bus, whose methods a test provides.

package import DBus
package import PermissionTestKit

/// Calls with arguments of other types get the error `InvalidArgs`.
@LoopActor
package final class FakeService {
    package let connection: Connection
    private let server: ObjectServer
    private var names: [String] = []

    package init(on bus: PrivateBus) throws {
        connection = try bus.connect()
        server = ObjectServer(connection: connection) { call, text in
            call.fail(name: BusError.Name.invalidArgs, body: [.string(text)])
        }
    }

    package func add(_ interface: String, at path: String, _ methods: [Method], properties: [Property] = []) {
        server.add(Interface(name: interface, methods: methods, properties: properties), at: path)
    }

    /// Takes the well-known name, once all methods are there. Throws if another program owns it.
    package func own(_ name: String) throws {
        guard try connection.requestName(name) else { throw TestKitError("\(name) has an owner already") }
        names.append(name)
    }

    /// Leaves the bus, on which its names are free when this returns: the bus may notice later that a connection was
    /// closed, and refuse the name to the next service until then.
    package func end() async {
        for name in names {
            await withCheckedContinuation { released in
                connection.askBus("ReleaseName", .string(name)) { _ in released.resume() }
            }
        }
        connection.close()
    }
}
