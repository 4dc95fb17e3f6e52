// Identities that a test assigns to connections.

import DBus
import PermissionModel
import PermissionTestKit

@testable import PermissionDaemon

@LoopActor
final class FakeIdentifier: CallerLookup {
    /// What is found out about a connection; a missing one cannot be identified.
    var callers: [String: Caller] = [:]
    /// Whether identifications wait for `finish`.
    var isSlow = false
    /// The connections to be identified, one element per request.
    let asked = EventLog<String>()
    private var waiting: [(name: String, completion: @LoopActor (Caller?) -> Void)] = []
    private var known: Set<String> = []

    /// Assigns an app to a connection.
    func add(_ connection: Connection, _ app: String, mayBeSandboxed: Bool = false) {
        callers[connection.uniqueName] = Caller(
            connection: connection.uniqueName, app: AppID(app)!, process: ProcessKey(pid: 1, startTime: 1),
            mayBeSandboxed: mayBeSandboxed)
    }

    func cached(_ name: String) -> Caller? { known.contains(name) ? callers[name] : nil }

    func identify(_ name: String, _ completion: @escaping @LoopActor (Caller?) -> Void) {
        asked.add(name)
        if isSlow { return waiting.append((name, completion)) }
        settle(name, completion)
    }

    /// Completes the waiting identifications in their order.
    func finish() {
        isSlow = false
        let finished = waiting
        waiting = []
        for (name, completion) in finished { settle(name, completion) }
    }

    /// Every connection has to be identified again.
    func forget() { known = [] }

    private func settle(_ name: String, _ completion: @LoopActor (Caller?) -> Void) {
        if callers[name] != nil { known.insert(name) }
        completion(callers[name])
    }
}
