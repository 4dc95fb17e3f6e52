// The trusted owner of a bus name, for code that awaits it.

package import DBus
import ProcessIdentity
import System

@LoopActor
package enum TrustedOwner {
    private static let processes = ProcessIdentifier(worker: Worker())

    /// Returns the unique name of the owner of a name, which the bus starts if necessary. An owner that is sandboxed or
    /// cannot be identified is rejected.
    package static func find(_ name: String, on connection: Connection) async throws(ClientError) -> String {
        let identifier = ConnectionIdentifier(connection, processes)
        let owner = BusNameOwner(name, on: connection) { identifier.objection(to: $0, $1) }
        let found = await withCheckedContinuation { continuation in
            owner.find(starts: true) { continuation.resume(returning: $0) }
        }
        switch found {
        case .success(let name): return name
        case .failure(.absent(let error)): throw ClientError(error)
        case .failure(.untrusted(_, let reason)):
            throw ClientError(
                kind: .untrustedOwner,
                message: "the owner of \(name) is not trusted: \(reason); end that program", isRetryable: false)
        }
    }
}
