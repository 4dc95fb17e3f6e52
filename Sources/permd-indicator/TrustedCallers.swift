// Who may look at the item and choose in its menu: programs outside sandboxes, like those that may call permd's settings.

import DBus
import PermissionClient

@LoopActor
final class TrustedCallers {
    /// The class of all callers that may do anything at all.
    static let all = CallerClass(rawValue: "unsandboxed")
    /// Callers that are remembered: panels, and a few programs that look at all items. Unique names are not reused.
    private static let maximum = 64

    private let connection: Connection
    private var known: [String: Bool] = [:]

    init(_ connection: Connection) { self.connection = connection }

    func authorizeCalls(of server: ObjectServer) {
        server.mayPassDescriptors = { _ in false }
        server.authorize = { [weak self] call, _, proceed in self?.identify(call, proceed) }
    }

    private func identify(_ call: MethodCall, _ proceed: @escaping @LoopActor () -> Void) {
        if let isTrusted = known[call.sender] { return decide(call, isTrusted, proceed) }
        onLoop { [self] in
            let owner = try? await TrustedOwner.find(call.sender, on: connection)
            if known.count >= TrustedCallers.maximum { known = [:] }
            known[call.sender] = owner != nil
            decide(call, owner != nil, proceed)
        }
    }

    private func decide(_ call: MethodCall, _ isTrusted: Bool, _ proceed: @escaping @LoopActor () -> Void) {
        guard !isTrusted else { return proceed() }
        let text = "sandboxed programs may not see what is in use"
        call.fail(name: BusError.Name.accessDenied, body: [.string(text)])
    }
}
