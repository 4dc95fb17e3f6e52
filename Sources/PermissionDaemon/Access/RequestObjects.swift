// The objects of apps' requests, org.permd.Request1. Each exists only for its owner.

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
    /// Watches the process that the request ends with, if it is not the owner.
    private var subject: WatchToken?

    init(path: String, call: MethodCall, connection: Connection) {
        self.path = path
        self.call = call
        self.connection = connection
        owner = call.sender
    }

    /// Whether the path has been sent to the owner.
    var isAnnounced: Bool { call == nil }

    func accept() {
        call?.reply(.objectPath(path))
        call = nil
    }

    func refuse(_ error: PermissionError) {
        forget()
        call?.fail(error)
        call = nil
    }

    isolated deinit { forget() }

    func forget() {
        subject?.cancel()
        subject = nil
    }

    /// Calls `body` when the process exits, unless the request has ended by then.
    func end(with pidfd: UnixFD, _ body: @escaping @LoopActor () -> Void) {
        subject = Loop.shared.watch(pidfd, .readable) { [weak self] _ in
            self?.forget()
            body()
        }
    }

    func respond(_ reply: Reply, isStopping: Bool) {
        forget()
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
        if let end = reply.pausedUntil { results["paused_until"] = .uint64(UInt64(clamping: end)) }
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

    func moved(_ state: RequestState, position: Int) {
        var changed: [String: Value] = [:]
        if self.state != state { changed["State"] = .string(state.rawValue) }
        if self.position != position { changed["Position"] = .uint32(UInt32(position)) }
        guard !changed.isEmpty else { return }
        self.state = state
        self.position = position
        connection.send(
            .signal(
                path: path, interface: StandardInterfaces.properties, member: "PropertiesChanged",
                [.string(BusNames.request), .properties(changed), .strings([])], destination: owner))
    }
}

/// The objects below /org/permd/request, looked up in the table of requests.
@LoopActor
struct RequestObjects {
    let requests: InFlightRequests
    /// Withdraws a request for its owner.
    let close: @LoopActor (RequestID) -> Void

    var tree: ObjectTree {
        ObjectTree(interfaces: { interfaces(at: $0, for: $1) }, children: { children(of: $0, for: $1) })
    }

    /// Returns a path for a new request of that owner. Throws if the owner already uses that token.
    func newPath(_ id: RequestID, owner: String, token: String?) throws(PermissionError) -> String {
        let path = BusNames.requestPath(owner: owner, token: token ?? "permd\(id.number)")
        if requests[path] == nil { return path }
        if let token {
            throw PermissionError(.invalidArguments, "handle_token \(token) is in use by an unfinished request")
        }
        // The caller may have chosen a token of this form itself; then a suffix makes the generated one unique.
        var suffix = 0
        while true {
            suffix += 1
            let path = BusNames.requestPath(owner: owner, token: "permd\(id.number)_\(suffix)")
            if requests[path] == nil { return path }
        }
    }

    /// Returns the interfaces that `sender` sees at `path`, or nil if no object exists for it there.
    private func interfaces(at path: String, for sender: String) -> [Interface]? {
        guard let entry = requests[path], let object = entry.origin as? RequestObject, object.owner == sender,
            object.isAnnounced
        else { return nil }
        return [interface(entry.request.id, object)]
    }

    /// Returns the names below `path` that `sender` may see.
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
                Method("Close", callers: .owner) { call in
                    call.reply()
                    close(id)
                }
            ],
            signals: [Signal("Response", ["response": "u", "results": "a{sv}"])],
            properties: [
                Property("State", "s") { _ in .string(object.state.rawValue) },
                Property("Position", "u") { _ in .uint32(UInt32(object.position)) },
            ], readers: .owner)
    }
}
