// The objects of apps' requests, org.permd.Request1. Each exists only for its owner.

import DBus
import PermissionCore
import PermissionModel
import System

/// A request of an app, as an object on the bus.
@LoopActor
final class RequestObject {
    let path: String
    let owner: String
    private let connection: Connection
    /// The call of RequestAccess, until it is answered.
    private var call: MethodCall?
    /// Watches the process that the request ends with, if it is not the owner.
    private var subject: WatchToken?

    init(path: String, call: MethodCall, connection: Connection) {
        self.path = path
        self.call = call
        self.connection = connection
        owner = call.sender
    }

    isolated deinit { subject?.cancel() }

    /// Calls `body` when the process exits, unless the request has ended by then.
    func end(with pidfd: UnixFD, _ body: @escaping @LoopActor () -> Void) {
        subject = Loop.shared.watch(pidfd, .readable) { [weak self] _ in
            self?.forget()
            body()
        }
    }
}

extension RequestObject: @LoopActor Requester {
    func accept() {
        call?.reply(.objectPath(path))
        call = nil
    }

    func refuse(_ error: PermissionError) {
        forget()
        call?.fail(error)
        call = nil
    }

    func forget() {
        subject?.cancel()
        subject = nil
    }

    func respond(_ reply: Reply) {
        forget()
        let (code, results) = RequestObject.encoded(reply)
        connection.send(
            .signal(
                path: path, interface: BusNames.request, member: "Response",
                [.uint32(code), .properties(results)], destination: owner))
    }

    private static func encoded(_ reply: Reply) -> (UInt32, [String: Value]) {
        var results: [String: Value] = [
            "statuses": .stringTable(
                reply.statuses.map { ($0.key.rawValue, $0.value.rawValue) }.sorted { $0.0 < $1.0 }),
            "refused": .string(reply.firstRefused?.rawValue ?? ""),
        ]
        if let seconds = reply.retryAfter { results["retry_after"] = .uint32(UInt32(clamping: seconds)) }
        if reply.reservation > 0 { results["hold"] = .uint32(reply.reservation) }
        switch reply.code {
        case .answered: return (0, results)
        case .dismissed: return (1, results)
        case .failed(let error):
            results["error"] = .string(error.kind.name)
            results["message"] = .string(error.message)
            results["retryable"] = .bool(error.kind.isRetryable)
            if reply.isStopping { results["stopping"] = .bool(true) }
            return (2, results)
        }
    }

    func moved(from old: QueuePlace, to new: QueuePlace) {
        var changed: [String: Value] = [:]
        if new.state != old.state { changed["State"] = .string(new.state.rawValue) }
        if new.position != old.position { changed["Position"] = .uint32(UInt32(new.position)) }
        guard !changed.isEmpty else { return }
        connection.send(
            .signal(
                path: path, interface: StandardInterfaces.properties, member: "PropertiesChanged",
                [.string(BusNames.request), .properties(changed), .strings([])], destination: owner))
    }
}

/// The objects below /org/permd/request: the requests in the queue.
@LoopActor
struct RequestObjects {
    let connection: Connection
    let now: @Sendable () -> EpochSeconds
    unowned let requests: any RequestSink

    var tree: ObjectTree {
        ObjectTree(interfaces: { interfaces(at: $0, for: $1) }, children: { children(of: $0, for: $1) })
    }

    /// Creates the request of a call, whose sender owns the object. Returns what it asks for.
    ///
    /// - Parameters:
    ///   - device: The name of the device that an enforcement point has at hand.
    ///   - pidfd: The process that the request ends with, if it is not the owner.
    @discardableResult
    func create(
        _ call: MethodCall, _ permissions: Value, _ options: Value, by caller: Caller, device: String? = nil,
        endingWith pidfd: UnixFD? = nil
    ) throws(PermissionError) -> [Permission] {
        let permissions = try parsePermissions(permissions)
        guard !permissions.isEmpty else {
            throw PermissionError(.invalidArguments, "the list of permissions is empty")
        }
        let options = try Options(options)
        let id = requests.newID()
        let path = try newPath(id, owner: call.sender, token: try options.handleToken())
        let object = RequestObject(path: path, call: call, connection: connection)
        var request = Request(
            id: id, path: path, caller: caller, items: permissions.map(PromptItem.permission), arrived: now(),
            requester: object)
        try request.read(options)
        request.device = device
        if let pidfd { object.end(with: pidfd) { [weak requests] in requests?.feed(.closed(id)) } }
        requests.feed(.requested(request))
        return permissions
    }

    /// Throws if the owner already uses that token.
    private func newPath(_ id: RequestID, owner: String, token: String?) throws(PermissionError) -> String {
        let token = token ?? "permd\(id.number)"
        let path = BusNames.requestPath(owner: owner, token: token)
        guard requests.queue.request(at: path) == nil else {
            throw PermissionError(.invalidArguments, "handle_token \(token) is in use by an unfinished request")
        }
        return path
    }

    /// Returns the interfaces that `sender` sees at `path`, or nil if no object exists for it there.
    private func interfaces(at path: String, for sender: String) -> [Interface]? {
        guard let request = requests.queue.request(at: path), isOwned(request, by: sender) else { return nil }
        return [interface(of: request)]
    }

    /// Returns the names below `path` that `sender` may see.
    private func children(of path: String, for sender: String) -> [String] {
        let prefix = path + "/"
        let owned = requests.queue.requests.filter { $0.path.hasPrefix(prefix) && isOwned($0, by: sender) }
        let names = owned.compactMap { $0.path.dropFirst(prefix.count).split(separator: "/").first }
        return Set(names).map(String.init).sorted()
    }

    private func isOwned(_ request: Request, by sender: String) -> Bool {
        (request.requester as? RequestObject)?.owner == sender
    }

    private func interface(of request: Request) -> Interface {
        Interface(
            name: BusNames.request,
            methods: [
                Method("Close", callers: .owner) { call in
                    call.reply()
                    requests.feed(.closed(request.id))
                }
            ],
            signals: [Signal("Response", ["response": "u", "results": "a{sv}"])],
            properties: [
                Property("State", "s") { _ in .string((request.place ?? QueuePlace()).state.rawValue) },
                Property("Position", "u") { _ in .uint32(UInt32((request.place ?? QueuePlace()).position)) },
            ], readers: .owner)
    }
}
