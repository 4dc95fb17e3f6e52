// The link to permd: org.permd.Enforcement1 on the session bus, joined again after a loss of the bus or of permd.

import DBus
import PermissionClient
import PermissionModel
import System

@LoopActor
final class PermdLink {
    enum Event {
        /// permd is there, and everything it said before may have changed.
        case came(ask: AskScope)
        case left
        /// Something changed about this app.
        case changed(app: String)
    }

    private let source: String
    private let onEvent: @LoopActor (Event) -> Void
    /// A sandboxed or unidentified owner of permd's name is not believed.
    private let link: BusLink
    /// The unique name of permd, once it has answered.
    private var daemon: String?
    private var backoff = Backoff(first: 100, longest: 10_000)
    /// How often permd was lost. A reply to a call from before is one to a permd that has left, also if it is the same.
    private var losses = 0
    /// How often permd was joined; only the last time counts.
    private var joins = 0

    /// - Parameter source: The name of the enforcement point.
    init(_ bus: PermissionBus, source: String, onEvent: @escaping @LoopActor (Event) -> Void) {
        link = BusLink(bus, identifiesDaemon: true)
        self.source = source
        self.onEvent = onEvent
    }

    /// Throws if there is no session bus. It is needed at the start only; later it is waited for.
    func start() async throws(ClientError) {
        link.onConnect = { [weak self] connection in
            connection.onSignal(path: BusNames.root, interface: BusNames.enforcement, addMatch: false) {
                self?.signalled($0)
            }
        }
        _ = try await link.open()
        _ = link.onDaemonChange { [weak self] isThere in if isThere { self?.join() } else { self?.lostDaemon() } }
        join()
    }

    var isReady: Bool { daemon != nil }

    private func lostDaemon() {
        guard daemon != nil else { return }
        daemon = nil
        losses += 1
        onEvent(.left)
    }

    /// Subscribes, and reads whom to ask about. The bus starts permd if it can.
    private func join() {
        joins += 1
        let number = joins
        onLoop { [self] in
            let ask = try? await subscribe()
            guard number == joins else { return }
            guard let ask, let owner = link.believed else {
                lostDaemon()
                return retry()
            }
            daemon = owner
            backoff.reset()
            onEvent(.came(ask: ask))
        }
    }

    private func subscribe() async throws(ClientError) -> AskScope? {
        _ = try await link.call(BusNames.enforcement, "Subscribe")
        let body = try await link.call(
            StandardInterfaces.properties, "Get", [.string(BusNames.enforcement), .string("Ask")])
        guard case .variant(let value)? = body.first else { return nil }
        return value.stringValue.flatMap(AskScope.init(rawValue:))
    }

    private func retry() {
        Loop.shared.after(milliseconds: backoff.next()) { [weak self] in
            if let self, daemon == nil { join() }
        }
    }

    // MARK: Signals

    private func signalled(_ message: Message) {
        guard let daemon, message.sender == daemon, message.member == "StatusChanged", message.body.count == 2,
            let app = message.body[0].stringValue, let permission = message.body[1].stringValue
        else { return }
        guard permission.isEmpty || Permission(rawValue: permission) != nil else { return }
        // Without an app, `Ask` may be what has changed.
        if app.isEmpty { join() } else { onEvent(.changed(app: app)) }
    }

    // MARK: Calls

    func getAccess(
        _ who: Value, _ permissions: [Permission],
        _ body: @escaping @LoopActor (Result<[Permission: SubjectAccess], Failure>) -> Void
    ) {
        call("GetAccessFor", [who, .strings(permissions.map(\.rawValue))]) { result in
            body(result.map { PermdLink.access($0.first) })
        }
    }

    /// What is not understood is left out, and so not allowed.
    private static func access(_ value: Value?) -> [Permission: SubjectAccess] {
        guard case .dictionary("s", "a{sv}", let entries)? = value else { return [:] }
        var found: [Permission: SubjectAccess] = [:]
        for entry in entries {
            guard let permission = entry.key.stringValue.flatMap(Permission.init(rawValue:)),
                let row = entry.value.properties,
                let access = row["access"]?.stringValue.flatMap(Access.init(rawValue:))
            else { continue }
            found[permission] = SubjectAccess(
                access, ended: row["ended"]?.stringValue.flatMap(GrantEnd.init(rawValue:)))
        }
        return found
    }

    enum RequestEnd {
        /// It was answered, or dismissed; asking again makes no sense for so many seconds, if there is a number.
        case answered(retryAfter: UInt32?)
        case failed(isRetryable: Bool)

        fileprivate init(_ end: RequestObject.End) {
            switch end {
            case .refused(let error): self = .failed(isRetryable: Failure(error).isRetryable)
            case .answered(let results): self = .answered(retryAfter: results["retry_after"]?.uint32Value)
            case .failed(let results): self = .failed(isRetryable: results["retryable"]?.boolValue ?? false)
            }
        }
    }

    /// Makes a request, and passes its end.
    func request(
        _ who: Value, _ permission: Permission, device: String, number: UInt64,
        _ body: @escaping @LoopActor (RequestEnd) -> Void
    ) -> RequestObject? {
        guard let daemon, let connection = link.opened else { return nil }
        let token = "\(source.replacing("-", with: "_"))\(number)"
        var options: [String: Value] = ["handle_token": .string(token)]
        if !device.isEmpty { options["device_name"] = .string(device) }
        let object = RequestObject(link, on: connection, daemon: daemon, token: token) { body(RequestEnd($0)) }
        object.make(
            BusNames.enforcement, "RequestAccessFor", [who, .strings([permission.rawValue]), .properties(options)])
        return object
    }

    /// Passes nil if permd does not list uses, or refuses this one.
    ///
    /// - Parameter isBypass: Whether the subject got at the device past this program, which cut it off.
    func reportUse(
        _ who: Value, _ permission: Permission, device: String, isBypass: Bool,
        _ body: @escaping @LoopActor (UInt32?) -> Void
    ) {
        var details: [String: Value] = ["source": .string(source), "device_name": .string(device)]
        if isBypass { details["bypassed"] = .bool(true) }
        call("ReportUse", [who, .string(permission.rawValue), .properties(details)]) { result in
            body((try? result.get())?.first?.uint32Value)
        }
    }

    func endUse(_ use: UInt32) { call("EndUse", [.uint32(use)]) { _ in } }

    /// Calls permd. The completion runs in a later turn, unless permd has left by then.
    private func call(
        _ member: String, _ body: [Value], _ completion: @escaping @LoopActor (Result<[Value], Failure>) -> Void
    ) {
        guard let daemon, let connection = link.opened else { return }
        let message = Message.call(
            destination: daemon, path: BusNames.root, interface: BusNames.enforcement, member: member, body)
        connection.call(message) { [weak self, losses] reply in
            guard let self, self.losses == losses else { return }
            completion(reply.map(\.body).mapError(Failure.init))
        }
    }

    /// An error of a call.
    struct Failure: Error {
        let isRetryable: Bool

        /// Errors of a permd that does not know the method.
        private static let refusals = [BusError.Name.unknownMethod, BusError.Name.invalidArgs]

        /// Errors of permd say whether trying again may help. After one of the bus, such as a reply that did not come in
        /// time, it may.
        init(_ error: BusError) {
            let mayPass = error.name.hasPrefix("org.freedesktop.") && !Failure.refusals.contains(error.name)
            isRetryable = error.body.count > 1 ? error.body[1].boolValue == true : mayPass
        }
    }
}
