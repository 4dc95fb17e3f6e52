// The owners of names that permd trusts: the portal and its store. An owner that is not trusted is logged once.

import DBus
import Logging
import PermissionModel
import ProcessIdentity

@LoopActor
final class TrustedName {
    private let name: String
    private let owner: BusNameOwner
    private let log: Logger
    /// The last owner that was ignored.
    private var ignored: String?

    init(_ name: String, connection: Connection, identifier: any CallerLookup, log: Logger) {
        self.name = name
        self.log = log
        owner = BusNameOwner(name, on: connection) { name, completion in
            identifier.identify(name) { completion(TrustedName.objection(to: $0)) }
        }
    }

    /// Passes the unique name of the owner, or nil if there is none that is trusted.
    func find(starts: Bool = false, _ completion: @escaping @LoopActor (String?) -> Void) {
        owner.find(starts: starts) { [self] result in
            if case .failure(.untrusted(let owner, let reason)) = result, ignored != owner {
                ignored = owner
                log.warning("The owner \(owner) of \(name) is ignored: \(reason)")
            }
            completion(try? result.get())
        }
    }

    /// Why a program is not trusted with a name; nil if it is.
    static func objection(to caller: Caller?) -> String? {
        guard let caller else { return "it cannot be identified" }
        return caller.isSandboxed ? "\(caller.app) is sandboxed" : nil
    }
}
