// Before every handler: who calls, and may they? Each row of an interface's table says who may call it.

import DBus
import Logging
import PermissionModel

extension CallerClass {
    /// Any app that can be identified.
    static let apps = CallerClass(rawValue: "apps")
    /// Programs outside any sandbox.
    static let unsandboxed = CallerClass(rawValue: "unsandboxed")
    /// The object is there for its owner only, so whoever reached it may call it.
    static let owner = CallerClass(rawValue: "owner")
    /// xdg-desktop-portal alone.
    static let portal = CallerClass(rawValue: "portal")
}

@LoopActor
final class Authorizer {
    /// Calls of one connection kept while it is identified, a matter of a millisecond: more is a flood.
    static let waitingCalls = 64
    /// Bytes of all calls that are kept. They are decoded, take up to three times as much memory, and the answer that ends
    /// the wait comes behind whatever else the bus has for us.
    static let waitingBytes = 16 << 20
    /// What a call takes beside its content: its header, and the closures that wait.
    static let callBytes = 1024

    private let connection: Connection
    private let identifier: any CallerLookup
    private let log: Logger
    private let portal: TrustedName
    /// Calls kept, by connection.
    private var waiting: [String: Int] = [:]
    private var keptBytes = 0

    init(connection: Connection, identifier: any CallerLookup, log: Logger) {
        self.connection = connection
        self.identifier = identifier
        self.log = log
        portal = TrustedName(BusNames.portal, connection: connection, identifier: identifier, log: log)
    }

    /// Puts itself before the handlers of a server on the connection.
    func guardCalls(of server: ObjectServer) {
        server.isAuthorized = { [self] in isAuthorized($0, $1) }
        server.authorize = { [self] in authorize($0, $1, $2) }
        connection.floodHandler = { [self] in
            refuse($0, "too many calls of this connection wait; wait for answers before asking on")
        }
        guard let serve = connection.methodHandler else { return }
        connection.methodHandler = { [self] in admit($0, serve) }
    }

    /// Keeps the calls of a connection in order while it is being identified.
    private func admit(_ message: Message, _ proceed: @escaping @LoopActor (Message) -> Void) {
        guard !waiting.isEmpty, let sender = message.sender, let count = waiting[sender] else {
            return proceed(message)
        }
        guard count < Authorizer.waitingCalls else {
            return refuse(message, "\(count) calls wait until it is known who asks")
        }
        keep(message) { end in
            waiting[sender] = count + 1
            identifier.identify(sender) { _ in
                end()
                proceed(message)
            }
        }
    }

    /// Counts a call among those that wait, until `end` is called; refuses it when they are too large by now.
    private func keep(_ message: Message, _ body: (_ end: @escaping @LoopActor () -> Void) -> Void) {
        let size = message.contentSize + Authorizer.callBytes
        guard keptBytes + size <= Authorizer.waitingBytes else {
            return refuse(message, "too much waits until it is known who asks; ask again in a moment")
        }
        keptBytes += size
        body { [weak self] in self?.keptBytes -= size }
    }

    private func refuse(_ message: Message, _ text: String) {
        connection.fail(message, PermissionError(.limitExceeded, text))
    }

    /// Whether the caller is known and may call.
    private func isAuthorized(_ call: MethodCall, _ callers: CallerClass) -> Bool {
        switch callers {
        case .apps: identifier.cached(call.sender) != nil
        case .unsandboxed: identifier.cached(call.sender)?.isSandboxed == false
        case .owner: true
        default: false
        }
    }

    /// For callers that are not known yet, or may not.
    private func authorize(_ call: MethodCall, _ callers: CallerClass, _ proceed: @escaping @LoopActor () -> Void) {
        switch callers {
        case .owner: return proceed()
        case .portal: return checkPortal(call, proceed)
        case .apps, .unsandboxed: break
        default: return call.fail(.accessDenied)
        }
        if let caller = identifier.cached(call.sender) { return decide(call, caller, callers, proceed) }
        keep(call.message) { end in
            waiting[call.sender] = 1
            identifier.identify(call.sender) { [weak self] caller in
                end()
                guard let self else { return }
                waiting[call.sender] = nil
                decide(call, caller, callers, proceed)
            }
        }
    }

    /// The portal itself is never asked: it may be waiting for us while it starts.
    private func checkPortal(_ call: MethodCall, _ proceed: @escaping @LoopActor () -> Void) {
        keep(call.message) { end in
            portal.owner { owner in
                end()
                guard owner == call.sender else {
                    return call.fail(
                        .accessDenied, "only xdg-desktop-portal may ask here; apps call \(BusNames.access)")
                }
                proceed()
            }
        }
    }

    private func decide(
        _ call: MethodCall, _ caller: Caller?, _ callers: CallerClass, _ proceed: @LoopActor () -> Void
    ) {
        guard let caller else {
            return call.fail(.accessDenied, "permd cannot tell which app this program is")
        }
        if callers == .unsandboxed, caller.isSandboxed {
            return call.fail(.accessDenied, "a sandboxed app may not use this interface")
        }
        proceed()
    }
}
