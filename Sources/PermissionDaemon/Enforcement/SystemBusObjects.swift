// The objects of permd on the system bus, where its services call it: they are there on each connection.

import DBus
import PermissionModel
import System

@LoopActor
final class SystemBusObjects {
    private var objects: [(interface: Interface, path: String)] = []
    private var server: ObjectServer?

    /// The bus keeps them.
    init(_ bus: ReconnectingBus) {
        bus.follow(opens: false) { [self] event in
            if case .opened(let connection) = event { serve(connection) }
        }
    }

    func add(_ interface: Interface, at path: String) {
        objects.append((interface, path))
        server?.add(interface, at: path)
    }

    private func serve(_ connection: Connection) {
        let server = ObjectServer(connection: connection) { call, text in
            call.fail(PermissionError(.invalidArguments, text))
        }
        for object in objects { server.add(object.interface, at: object.path) }
        self.server = server
    }
}
