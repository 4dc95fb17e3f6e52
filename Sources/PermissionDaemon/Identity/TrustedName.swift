// The owner of a well-known name that is believed, as the portals' store is. Any program on the bus may take a name: its
// owner is identified first, and a sandboxed one, or one that nobody can identify, is ignored.

import DBus
import Logging
import PermissionModel

@LoopActor
final class TrustedName {
    private let name: String
    private let connection: Connection
    private let identifier: any CallerLookup
    private let log: Logger
    /// The last owner that was ignored: said once.
    private var ignored: String?

    init(_ name: String, connection: Connection, identifier: any CallerLookup, log: Logger) {
        self.name = name
        self.connection = connection
        self.identifier = identifier
        self.log = log
    }

    /// Gives the unique name of its owner, nil for none that is believed. The answers come in the order of the calls.
    ///
    /// The bus and the kernel are asked, never the owner itself.
    func owner(_ completion: @escaping @LoopActor (String?) -> Void) {
        connection.call(.busCall("GetNameOwner", [.string(name)])) { [self] result in
            guard let owner = (try? result.get())?.body.first?.stringValue else { return completion(nil) }
            identifier.identify(owner) { [self] caller in
                guard let caller, !caller.isSandboxed else {
                    ignore(owner, caller)
                    return completion(nil)
                }
                completion(owner)
            }
        }
    }

    /// The same; started by the bus if nobody has the name.
    func startedOwner(_ completion: @escaping @LoopActor (String?) -> Void) {
        connection.call(.busCall("StartServiceByName", [.string(name), .uint32(0)])) { [self] _ in owner(completion) }
    }

    private func ignore(_ owner: String, _ caller: Caller?) {
        guard ignored != owner else { return }
        ignored = owner
        let who = caller.map { "\($0.app), which is in a sandbox," } ?? "a program that cannot be identified"
        log.warning("\(name) belongs to \(who) (\(owner)); it is ignored")
    }
}
