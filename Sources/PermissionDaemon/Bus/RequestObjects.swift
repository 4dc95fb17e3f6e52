// The objects of waiting requests, org.permd.Request1: each is there for its owner alone.

import DBus
import PermissionCore
import PermissionModel

/// Where requests come from and their answers go: the objects of apps' requests, or the portals' dialogs.
@LoopActor
protocol RequestKeeper: AnyObject {
    func accept(_ id: RequestID)
    func refuse(_ id: RequestID, _ error: PermissionError)
    func forget(_ id: RequestID)
    func respond(_ id: RequestID, _ reply: Reply, isStopping: Bool)
    func moved(_ id: RequestID, _ state: RequestState, _ position: Int)
}

@LoopActor
final class RequestObjects: RequestKeeper {
    private struct Entry {
        let id: RequestID
        let owner: String
        let path: String
        var state = RequestState.queued
        var position = 0
    }

    private var byPath: [String: Entry] = [:]
    private var pathOf: [RequestID: String] = [:]
    /// Paths by owner, so that listing an owner's objects never looks at anybody else's.
    private var pathsOf: [String: Set<String>] = [:]
    private var calls: [RequestID: MethodCall] = [:]
    private let connection: Connection
    var onClose: (@LoopActor (RequestID) -> Void)?

    init(connection: Connection) {
        self.connection = connection
    }

    /// Makes the object for a new request. Throws when the caller uses that token already.
    func open(_ id: RequestID, owner: String, token: String?) throws(PermissionError) -> String {
        var path = BusNames.requestPath(owner: owner, token: token ?? "permd\(id.number)")
        if byPath[path] != nil {
            guard token == nil else {
                throw PermissionError(
                    .invalidArguments, "handle_token \(token!) is in use by a request that still waits")
            }
            // A caller may have chosen a token of our form: ours steps aside.
            var suffix = 0
            repeat {
                suffix += 1
                path = BusNames.requestPath(owner: owner, token: "permd\(id.number)_\(suffix)")
            } while byPath[path] != nil
        }
        byPath[path] = Entry(id: id, owner: owner, path: path)
        pathOf[id] = path
        pathsOf[owner, default: []].insert(path)
        return path
    }

    /// Keeps the call of `RequestAccess` until the queue takes or refuses the request.
    func keep(_ call: MethodCall, for id: RequestID) { calls[id] = call }

    func accept(_ id: RequestID) {
        guard let path = pathOf[id] else { return }
        calls.removeValue(forKey: id)?.reply(.objectPath(path))
    }

    func refuse(_ id: RequestID, _ error: PermissionError) {
        calls.removeValue(forKey: id)?.fail(error)
        forget(id)
    }

    func forget(_ id: RequestID) {
        calls[id] = nil
        guard let path = pathOf.removeValue(forKey: id), let entry = byPath.removeValue(forKey: path) else { return }
        pathsOf[entry.owner]?.remove(path)
        if pathsOf[entry.owner]?.isEmpty == true { pathsOf[entry.owner] = nil }
    }

    /// Sends Response to the owner; the object is gone afterwards.
    func respond(_ id: RequestID, _ reply: Reply, isStopping: Bool) {
        guard let path = pathOf[id], let entry = byPath[path] else { return }
        let (code, results) = RequestObjects.encoded(reply, isStopping)
        connection.send(
            .signal(
                path: path, interface: BusNames.request, member: "Response",
                [.uint32(code), .properties(results)], destination: entry.owner))
        forget(id)
    }

    private static func encoded(_ reply: Reply, _ isStopping: Bool) -> (UInt32, [String: Value]) {
        var results: [String: Value] = [
            "statuses": .stringTable(
                reply.statuses.map { ($0.key.rawValue, $0.value.rawValue) }.sorted { $0.0 < $1.0 }),
            "refused": .string(reply.firstRefused?.rawValue ?? ""),
        ]
        if reply.hold > 0 { results["hold"] = .uint32(reply.hold) }
        switch reply.code {
        case .answered: return (0, results)
        case .dismissed: return (1, results)
        case .failed(let error):
            results["error"] = .string(error.kind.name)
            results["message"] = .string(error.message)
            results["retryable"] = .bool(error.kind.isRetryable)
            if isStopping { results["stopping"] = .bool(true) }
            return (2, results)
        }
    }

    /// Notes a new state or place, and tells the owner.
    func moved(_ id: RequestID, _ state: RequestState, _ position: Int) {
        guard let path = pathOf[id], var entry = byPath[path] else { return }
        var changed: [String: Value] = [:]
        if entry.state != state { changed["State"] = .string(state.rawValue) }
        if entry.position != position { changed["Position"] = .uint32(UInt32(position)) }
        guard !changed.isEmpty else { return }
        entry.state = state
        entry.position = position
        byPath[path] = entry
        connection.send(
            .signal(
                path: path, interface: "org.freedesktop.DBus.Properties", member: "PropertiesChanged",
                [.string(BusNames.request), .properties(changed), .strings([])], destination: entry.owner))
    }

    /// What `sender` sees at `path`, nil when there is nothing for it.
    func interfaces(at path: String, for sender: String) -> [Interface]? {
        guard let entry = byPath[path], entry.owner == sender, calls[entry.id] == nil else { return nil }
        return [interface(entry)]
    }

    /// The names below `path` that `sender` may know of.
    func children(of path: String, for sender: String) -> [String] {
        guard let own = pathsOf[sender] else { return [] }
        let prefix = path + "/"
        return Set(
            own.filter { $0.hasPrefix(prefix) }.compactMap { $0.dropFirst(prefix.count).split(separator: "/").first }
        )
        .map(String.init).sorted()
    }

    private func interface(_ entry: Entry) -> Interface {
        Interface(
            name: BusNames.request,
            methods: [
                Method(name: "Close", inputs: [], outputs: []) { [weak self] call in
                    call.reply()
                    self?.onClose?(entry.id)
                }
            ],
            signals: [Signal(name: "Response", arguments: [Argument("response", "u"), Argument("results", "a{sv}")])],
            properties: [
                Property(name: "State", signature: "s") { _ in .string(entry.state.rawValue) },
                Property(name: "Position", signature: "u") { _ in .uint32(UInt32(entry.position)) },
            ]
        )
    }
}
