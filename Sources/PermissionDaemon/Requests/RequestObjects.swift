// The objects of apps' requests, org.permd.Request1: each is there for its owner alone.

import DBus
import PermissionCore
import PermissionModel

/// A request of an app, as an object on the bus.
@LoopActor
final class RequestObject: RequestOrigin {
    let owner: String
    private let path: String
    private let connection: Connection
    /// The call of RequestAccess, until it is answered.
    private var call: MethodCall?
    private(set) var state = RequestState.queued
    private(set) var position = 0

    init(path: String, call: MethodCall, connection: Connection) {
        self.path = path
        self.call = call
        self.connection = connection
        owner = call.sender
    }

    /// The owner has its path.
    var isAnnounced: Bool { call == nil }

    func accept() {
        call?.reply(.objectPath(path))
        call = nil
    }

    func refuse(_ error: PermissionError) {
        call?.fail(error)
        call = nil
    }

    func forget() {}

    /// Sends Response to the owner.
    func respond(_ reply: Reply, isStopping: Bool) {
        let (code, results) = RequestObject.encoded(reply, isStopping)
        connection.send(
            .signal(
                path: path, interface: BusNames.request, member: "Response",
                [.uint32(code), .properties(results)], destination: owner))
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
    func moved(_ state: RequestState, position: Int) {
        var changed: [String: Value] = [:]
        if self.state != state { changed["State"] = .string(state.rawValue) }
        if self.position != position { changed["Position"] = .uint32(UInt32(position)) }
        guard !changed.isEmpty else { return }
        self.state = state
        self.position = position
        connection.send(
            .signal(
                path: path, interface: "org.freedesktop.DBus.Properties", member: "PropertiesChanged",
                [.string(BusNames.request), .properties(changed), .strings([])], destination: owner))
    }
}

/// The objects below /org/permd/request, looked up in the table of requests.
@LoopActor
struct RequestObjects {
    let requests: InFlightRequests
    /// The owner withdraws a request.
    let close: @LoopActor (RequestID) -> Void

    var tree: ObjectTree {
        ObjectTree(interfaces: { interfaces(at: $0, for: $1) }, children: { children(of: $0, for: $1) })
    }

    /// A path for a new request of that owner. Throws when the owner uses that token already.
    func newPath(_ id: RequestID, owner: String, token: String?) throws(PermissionError) -> String {
        let path = BusNames.requestPath(owner: owner, token: token ?? "permd\(id.number)")
        if requests[path] == nil { return path }
        if let token {
            throw PermissionError(.invalidArguments, "handle_token \(token) is in use by a request that still waits")
        }
        // A caller may have chosen a token of our form: ours steps aside.
        var suffix = 0
        while true {
            suffix += 1
            let path = BusNames.requestPath(owner: owner, token: "permd\(id.number)_\(suffix)")
            if requests[path] == nil { return path }
        }
    }

    /// What `sender` sees at `path`, nil when there is nothing for it.
    private func interfaces(at path: String, for sender: String) -> [Interface]? {
        guard let entry = requests[path], let object = entry.origin as? RequestObject, object.owner == sender,
            object.isAnnounced
        else { return nil }
        return [interface(entry.request.id, object)]
    }

    /// The names below `path` that `sender` may know of.
    private func children(of path: String, for sender: String) -> [String] {
        let prefix = path + "/"
        let paths = requests.all { ($0.origin as? RequestObject)?.owner == sender && $0.request.path.hasPrefix(prefix) }
            .map(\.request.path)
        let names = paths.compactMap { $0.dropFirst(prefix.count).split(separator: "/").first }
        return Set(names).map(String.init).sorted()
    }

    private func interface(_ id: RequestID, _ object: RequestObject) -> Interface {
        Interface(
            name: BusNames.request,
            methods: [
                Method(name: "Close", inputs: [], outputs: [], callers: .owner) { call in
                    call.reply()
                    close(id)
                }
            ],
            signals: [Signal(name: "Response", arguments: [Argument("response", "u"), Argument("results", "a{sv}")])],
            properties: [
                Property(name: "State", signature: "s") { _ in .string(object.state.rawValue) },
                Property(name: "Position", signature: "u") { _ in .uint32(UInt32(object.position)) },
            ], readers: .owner)
    }
}
