// The trusted owner of a well-known name, such as that of the portals' store. Any program on the bus can take a name,
// so its owner is identified first. Owners that are sandboxed or cannot be identified are ignored.

import DBus
import Logging
import PermissionModel

@LoopActor
final class TrustedName {
    private let name: String
    private let connection: Connection
    private let identifier: any CallerLookup
    private let log: Logger
    /// The last owner that was ignored, so that it is logged only once.
    private var ignored: String?

    init(_ name: String, connection: Connection, identifier: any CallerLookup, log: Logger) {
        self.name = name
        self.connection = connection
        self.identifier = identifier
        self.log = log
    }

    /// Passes the unique name of the owner, or nil if there is none that is trusted. Completions run in the order of
    /// the calls. Only the bus and the kernel are asked, never the owner itself.
    func owner(_ completion: @escaping @LoopActor (String?) -> Void) {
        connection.askBus("GetNameOwner", .string(name)) { [self] reply in
            guard let owner = reply?.stringValue else { return completion(nil) }
            identifier.identify(owner) { [self] caller in
                guard let caller, !caller.isSandboxed else {
                    ignore(owner, caller)
                    return completion(nil)
                }
                completion(owner)
            }
        }
    }

    /// Like ``owner(_:)``, but lets the bus start the service first if the name has no owner.
    func startedOwner(_ completion: @escaping @LoopActor (String?) -> Void) {
        connection.askBus("StartServiceByName", .string(name), .uint32(0)) { [self] _ in owner(completion) }
    }

    private func ignore(_ owner: String, _ caller: Caller?) {
        guard ignored != owner else { return }
        ignored = owner
        let who = caller.map { "\($0.app), which is sandboxed" } ?? "a program that cannot be identified"
        log.warning("The owner \(owner) of \(name) is ignored: it is \(who)")
    }
}
