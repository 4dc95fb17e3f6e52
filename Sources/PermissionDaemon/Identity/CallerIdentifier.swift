// Identifies the app behind each connection once, and forgets it when the connection closes.

import DBus
import Journal
import Logging
import PermissionModel
import ProcessIdentity
import System

@LoopActor
protocol CallerLookup: AnyObject {
    /// The caller behind a unique name, if it has been identified.
    func cached(_ name: String) -> Caller?
    /// Identifies the caller behind a unique name; nil if that is impossible. `completion` may run before this returns.
    func identify(_ name: String, _ completion: @escaping @LoopActor (Caller?) -> Void)
}

extension CallerLookup {
    /// The caller of an authorized call.
    func caller(of call: MethodCall) throws(PermissionError) -> Caller {
        guard let caller = cached(call.sender) else {
            throw PermissionError(.accessDenied, "the caller has left the bus")
        }
        return caller
    }
}

@LoopActor
final class CallerIdentifier: CallerLookup {
    /// Called when a connection that was identified has left the bus.
    var onDeparture: (@LoopActor (Caller) -> Void)?

    private let connections: ConnectionIdentifier
    private let refusals: BoundedLog
    private let times: ConnectionTimes
    private var known: [String: Caller] = [:]
    /// Those who wait for each connection that is being identified.
    private var waiting: [String: [@LoopActor (Caller?) -> Void]] = [:]

    /// - Parameter old: The identifier of the lost connection, if there was one.
    init(
        connection: Connection, processes: ProcessIdentifier, log: Logger, continuing old: CallerIdentifier? = nil
    ) {
        refusals = BoundedLog(log, "connections were not identified")
        times = ConnectionTimes(connection: connection, continuing: old?.times)
        connections = ConnectionIdentifier(connection, processes, times: times)
        // One match rule: with one for each caller, thousands of callers would slow down the bus.
        connection.onSignal(
            sender: Message.busName, interface: Message.busName, member: "NameOwnerChanged"
        ) { [weak self] in self?.ownerChanged($0) }
        times.start()
    }

    func cached(_ name: String) -> Caller? { known[name] }

    /// Passes nil if the caller cannot be identified. Concurrent calls for a connection are completed together, in
    /// order.
    func identify(_ name: String, _ completion: @escaping @LoopActor (Caller?) -> Void) {
        if let caller = known[name] { return completion(caller) }
        waiting[name, default: []].append(completion)
        guard waiting[name]?.count == 1 else { return }
        connections.identify(name) { [weak self] in self?.identified(name, $0) }
    }

    private func identified(_ name: String, _ result: Result<IdentifiedProcess, UnknownProcess>) {
        // The connection may have left the bus meanwhile.
        guard let completions = waiting.removeValue(forKey: name) else { return }
        switch result {
        case .success(let found):
            known[name] = Caller(
                connection: name, app: found.app, process: found.instance, mayBeSandboxed: found.mayBeSandboxed)
        case .failure(let problem):
            refusals.notice("The connection \(name) was not identified: \(problem.reason)")
        }
        let caller = known[name]
        for completion in completions { completion(caller) }
    }

    private func ownerChanged(_ message: Message) {
        guard message.body.count == 3, let name = message.body[0].stringValue, name.hasPrefix(":") else { return }
        if message.body[2].stringValue == "" {
            departed(name)
        } else if message.body[1].stringValue == "" {
            times.appeared(name)
        }
    }

    private func departed(_ name: String) {
        times.vanished(name)
        identified(name, .failure(UnknownProcess(reason: "it has left the bus")))
        if let caller = known.removeValue(forKey: name) { onDeparture?(caller) }
    }
}
