// Starts an agent when a prompt is due: by its name on the bus or, if another program has taken that, by its unit.

import DBus
import Logging
import PermissionModel
import ProcessIdentity

@LoopActor
final class AgentStarter {
    private static let unit = "permd-agent.service"

    private let connection: Connection
    private let owner: BusNameOwner
    private let log: Logger
    /// Which program has taken the name, and why it is no agent; nil if none has.
    private(set) var usurper: String?

    init(connection: Connection, identifier: any CallerLookup, log: Logger) {
        (self.connection, self.log) = (connection, log)
        owner = BusNameOwner(BusNames.agentService, on: connection) { name, completion in
            identifier.identify(name) { completion(TrustedName.objection(to: $0)) }
        }
    }

    /// - Parameter failed: Called with the reason if none can be started.
    func start(_ failed: @escaping @LoopActor (String) -> Void) {
        owner.find { [self] result in
            usurper = nil
            switch result {
            // It may be about to register, or may own the name for another purpose.
            case .success: startUnit { _ in }
            case .failure(.untrusted(let owner, let reason)):
                usurper = reason
                log.warning("The owner \(owner) of \(BusNames.agentService) is no agent: \(reason)")
                startUnit(failed)
            case .failure(.absent): startByName(failed)
            }
        }
    }

    private func startByName(_ failed: @escaping @LoopActor (String) -> Void) {
        start(.busCall("StartServiceByName", [.string(BusNames.agentService), .uint32(0)]), failed)
    }

    /// Nothing happens if it runs already.
    private func startUnit(_ failed: @escaping @LoopActor (String) -> Void) {
        start(
            .call(
                destination: "org.freedesktop.systemd1", path: "/org/freedesktop/systemd1",
                interface: "org.freedesktop.systemd1.Manager", member: "StartUnit",
                [.string(AgentStarter.unit), .string("replace")], noAutoStart: true), failed)
    }

    private func start(_ call: Message, _ failed: @escaping @LoopActor (String) -> Void) {
        connection.call(call) { [log] result in
            guard case .failure(let error) = result else { return }
            log.info("No agent could be started: \(error.message)")
            failed(error.message)
        }
    }
}
