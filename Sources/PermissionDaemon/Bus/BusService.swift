// The daemon's objects on one connection to the bus. It lives as long as the connection.

import DBus
import Logging
import PermissionModel

@LoopActor
final class BusService {
    /// Bytes of a reply that are read. The portals' store answers with the longest: a row of some sixty bytes an app.
    private static let maximumReply = 8 << 20

    let broker: Broker
    private let server: ObjectServer
    private let gate: Gate
    private let log: Logger

    /// Serves from now on.
    init(_ broker: Broker, log: Logger) {
        self.broker = broker
        self.log = log
        let connection = broker.connection
        connection.maximumReply = BusService.maximumReply
        server = ObjectServer(connection: connection) { call, explanation in
            call.fail(.invalidArguments, explanation)
        }
        gate = Gate(connection: connection, identifier: broker.identifier, log: log)
        addObjects()
        guardCalls(connection)
    }

    private func addObjects() {
        for interface in broker.interfaces { server.add(interface, at: BusNames.root) }
        server.addSubtree(
            prefix: BusNames.requestRoot,
            ObjectTree(
                interfaces: { [broker] in broker.requests.interfaces(at: $0, for: $1) },
                children: { [broker] in broker.requests.children(of: $0, for: $1) }))
        server.add(broker.portalDoor.access, at: BusNames.portalRoot)
        server.addSubtree(
            prefix: BusNames.portalRequestRoot,
            ObjectTree(interfaces: { [broker] _, _ in [broker.portalDoor.request] }, children: { _, _ in [] }))
    }

    private func guardCalls(_ connection: Connection) {
        server.isOpen = { [gate] in gate.isOpen($0, $1) }
        server.gate = { [gate] in gate.check($0, $1, $2) }
        connection.floodHandler = { [gate, unowned connection] in gate.refuseFlood($0, on: connection) }
        if let serve = connection.methodHandler {
            connection.methodHandler = { [gate, unowned connection] message in
                gate.admit(message, on: connection, serve)
            }
        }
    }

    /// Without that name everything else works.
    func servePortals() {
        broker.connection.requestName(BusNames.portalBackend) { [log] result in
            switch result {
            case .success(true): break
            case .success(false):
                log.error("Another program has the name \(BusNames.portalBackend); portals do not ask permd")
            case .failure(let error):
                log.error("The bus does not let permd own \(BusNames.portalBackend): \(error.message)")
            }
        }
    }
}
