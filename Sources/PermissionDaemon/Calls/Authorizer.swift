// Checks, before any handler runs, who calls, in whose turn, and whether the method's row in the interface's table
// permits it.

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
    private let portal: TrustedName
    private let waiting = WaitingCalls(ofConnection: Authorizer.waitingCalls)

    init(connection: Connection, identifier: any CallerLookup, log: Logger) {
        self.connection = connection
        self.identifier = identifier
        portal = TrustedName(BusNames.portal, connection: connection, identifier: identifier, log: log)
    }

    /// Checks all calls before the handlers of a server on the connection run.
    func authorizeCalls(of server: ObjectServer) {
        server.authorize = { [self] in authorize($0, $1, $2) }
        // Only interfaces for unsandboxed programs take descriptors; those of sandboxed ones must not wait.
        server.mayPassDescriptors = { [self] in identifier.cached($0)?.isSandboxed != true }
        connection.floodHandler = { [connection] in
            let text = "too many calls of this connection wait; wait for answers before calling again"
            connection.fail($0, PermissionError(.limitExceeded, text))
        }
        connection.findCaller = { [self] in findCaller(of: $0, $1) }
    }

    /// All connections of an app are one caller, and so are all that cannot be identified. Calls of a connection wait
    /// until it is known who it is, or that this cannot be known. They keep their order.
    private func findCaller(of message: Message, _ found: @escaping @LoopActor (String) -> Void) {
        let sender = message.sender ?? ""
        if let caller = identifier.cached(sender) { return found(caller.app.description) }
        wait(message) { end in
            identifier.identify(sender) { caller in
                end()
                found(caller?.app.description ?? "")
            }
        }
    }

    /// Counts a call as waiting until `end` is called.
    private func wait(_ message: Message, _ body: (_ end: @escaping @LoopActor () -> Void) -> Void) {
        do throws(PermissionError) { body(try waiting.add(message)) } catch { connection.fail(message, error) }
    }

    private func authorize(_ call: MethodCall, _ callers: CallerClass, _ proceed: @escaping @LoopActor () -> Void) {
        switch callers {
        case .owner: proceed()
        case .portal: checkPortal(call, proceed)
        case .apps, .unsandboxed:
            guard let caller = identifier.cached(call.sender) else {
                return call.fail(.accessDenied, "permd cannot determine which app the caller is")
            }
            if callers == .unsandboxed, caller.isSandboxed {
                return call.fail(.accessDenied, "a sandboxed app may not use this interface")
            }
            proceed()
        default: call.fail(.accessDenied)
        }
    }

    /// Never calls the portal itself, which may be waiting for permd while it starts.
    private func checkPortal(_ call: MethodCall, _ proceed: @escaping @LoopActor () -> Void) {
        wait(call.message) { end in
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
}
