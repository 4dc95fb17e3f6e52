// The daemon's objects on one connection to the bus, which exist as long as the connection.

import DBus
import Logging
import PermissionModel

@LoopActor
final class BusService {
    /// The most bytes of a reply. The longest replies are those of the portals' store, with some 60 bytes per app.
    private static let maximumReply = 8 << 20

    let coordinator: Coordinator
    private let server: ObjectServer
    private let authorizer: Authorizer

    init(_ coordinator: Coordinator) {
        self.coordinator = coordinator
        let connection = coordinator.connection
        connection.maximumReply = BusService.maximumReply
        server = ObjectServer(connection: connection) { call, explanation in
            call.fail(.invalidArguments, explanation)
        }
        authorizer = Authorizer(connection: connection, identifier: coordinator.identifier, log: coordinator.log)
        for interface in coordinator.interfaces { server.add(interface, at: BusNames.root) }
        server.addSubtree(prefix: BusNames.requestRoot, coordinator.objects.tree)
        server.add(coordinator.portal.access, at: BusNames.portalRoot)
        server.addSubtree(
            prefix: BusNames.portalRequestRoot,
            ObjectTree(interfaces: { [coordinator] _, _ in [coordinator.portal.request] }, children: { _, _ in [] }))
        authorizer.authorizeCalls(of: server)
    }

    /// Requests the name of the portal backend, or queues for it. Everything else works without it.
    func servePortals() {
        coordinator.connection.requestName(BusNames.portalBackend, queues: true) { [log = coordinator.log] result in
            switch result {
            case .success(true): break
            case .success(false):
                log.error(
                    "Another program owns \(BusNames.portalBackend), so portals do not use permd until it is free")
            case .failure(let error):
                log.error("The bus does not let permd own \(BusNames.portalBackend): \(error.message)")
            }
        }
    }
}
