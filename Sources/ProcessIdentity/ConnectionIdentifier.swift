// Identifies the process behind a connection to the bus: the bus reports the process, and the kernel everything else. The
// process itself is not asked.
//
// A pidfd from the bus refers to the process that connected. A process ID alone may have been reused, so that a pidfd is
// opened, the bus is asked again, and the process has to be older than the connection.

package import DBus
import Glibc
import PermissionModel

@LoopActor
package final class ConnectionIdentifier {
    package typealias Completion = @LoopActor (Result<IdentifiedProcess, UnknownProcess>) -> Void

    private let connection: Connection
    private let processes: ProcessIdentifier
    private let times: ConnectionTimes?

    /// - Parameter times: For buses without pidfds. Without them, a process that has got the ID of an earlier one is taken
    ///   for it.
    package init(_ connection: Connection, _ processes: ProcessIdentifier, times: ConnectionTimes? = nil) {
        self.connection = connection
        self.processes = processes
        self.times = times
    }

    package func identify(_ name: String, _ completion: @escaping Completion) {
        ConnectedProcess.find(name, on: connection, reader: processes.identity.reader, times: times) { [processes] in
            switch $0 {
            case .success(let found):
                processes.identify(found.pid, under: found.pidfd, label: found.label, completion)
            case .failure(let problem): completion(.failure(problem.reason))
            }
        }
    }

    /// Passes why the process behind a connection is not to be trusted with more than any app; nil if it is.
    package func objection(to name: String, _ completion: @escaping @LoopActor (String?) -> Void) {
        identify(name) { result in
            switch result {
            case .failure(let problem): completion("it cannot be identified: \(problem.reason)")
            case .success(let found) where found.app.isSandboxed: completion("\(found.app) is sandboxed")
            case .success(let found) where found.mayBeSandboxed:
                completion("it is in a sandbox that names no app")
            case .success: completion(nil)
            }
        }
    }
}
