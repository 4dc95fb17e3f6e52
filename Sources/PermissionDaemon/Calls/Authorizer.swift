// Checks, before any handler runs, who calls and whether the method's row in the interface's table permits it.

import DBus
import Logging
import PermissionModel

extension CallerClass {
    /// Any app that can be identified.
    static let apps = CallerClass(rawValue: "apps")
    /// Programs outside any sandbox.
    static let unsandboxed = CallerClass(rawValue: "unsandboxed")
    /// For objects that exist only for their owner: whoever can reach one may call it.
    static let owner = CallerClass(rawValue: "owner")
    /// Only xdg-desktop-portal.
    static let portal = CallerClass(rawValue: "portal")
}

@LoopActor
final class Authorizer {
    /// The most calls of one connection that wait while it is identified, which takes about a millisecond.
    static let waitingCalls = 64

    private let connection: Connection
    private let identifier: any CallerLookup
    private let log: Logger
    private let portal: TrustedName
    /// The number of waiting calls, by connection.
    private var waiting: [String: Int] = [:]
    private let kept = WaitingCalls()

    init(connection: Connection, identifier: any CallerLookup, log: Logger) {
        self.connection = connection
        self.identifier = identifier
        self.log = log
        portal = TrustedName(BusNames.portal, connection: connection, identifier: identifier, log: log)
    }

    /// Checks all calls before the handlers of a server on the connection run.
    func guardCalls(of server: ObjectServer) {
        server.isAuthorized = { [self] in isAuthorized($0, $1) }
        server.authorize = { [self] in authorize($0, $1, $2) }
        // Only interfaces for unsandboxed programs take descriptors; those of sandboxed ones must not wait.
        server.mayPassDescriptors = { [self] in identifier.cached($0)?.isSandboxed != true }
        connection.floodHandler = { [self] in
            refuse($0, "too many calls of this connection wait; wait for answers before calling again")
        }
        guard let serve = connection.methodHandler else { return }
        connection.methodHandler = { [self] in admit($0, serve) }
    }

    /// Holds back further calls of a connection while it is being identified, which keeps its calls in order.
    private func admit(_ message: Message, _ proceed: @escaping @LoopActor (Message) -> Void) {
        guard !waiting.isEmpty, let sender = message.sender, let count = waiting[sender] else {
            return proceed(message)
        }
        guard count < Authorizer.waitingCalls else {
            return refuse(message, "\(count) calls of this connection wait until it is identified")
        }
        keep(message) { end in
            waiting[sender] = count + 1
            identifier.identify(sender) { _ in
                end()
                proceed(message)
            }
        }
    }

    /// Counts a call as waiting until `end` is called.
    private func keep(_ message: Message, _ body: (_ end: @escaping @LoopActor () -> Void) -> Void) {
        do throws(PermissionError) { body(try kept.add(message)) } catch { connection.fail(message, error) }
    }

    private func refuse(_ message: Message, _ text: String) {
        connection.fail(message, PermissionError(.limitExceeded, text))
    }

    /// Whether the caller is already identified and may call.
    private func isAuthorized(_ call: MethodCall, _ callers: CallerClass) -> Bool {
        switch callers {
        case .apps: identifier.cached(call.sender) != nil
        case .unsandboxed: identifier.cached(call.sender)?.isSandboxed == false
        case .owner: true
        default: false
        }
    }

    /// Handles the calls for which ``isAuthorized(_:_:)`` is false.
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

    /// Never calls the portal itself, which may be waiting for permd while it starts.
    private func checkPortal(_ call: MethodCall, _ proceed: @escaping @LoopActor () -> Void) {
        keep(call.message) { end in
            portal.find { owner in
                end()
                guard owner == call.sender else {
                    return call.fail(
                        .accessDenied, "only xdg-desktop-portal may call this interface; apps call \(BusNames.access)")
                }
                proceed()
            }
        }
    }

    private func decide(
        _ call: MethodCall, _ caller: Caller?, _ callers: CallerClass, _ proceed: @LoopActor () -> Void
    ) {
        guard let caller else {
            return call.fail(.accessDenied, "permd cannot determine which app the caller is")
        }
        if callers == .unsandboxed, caller.isSandboxed {
            return call.fail(.accessDenied, "a sandboxed app may not use this interface")
        }
        proceed()
    }
}
