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
        connection.askBus("GetConnectionCredentials", .string(name)) { [self] reply in
            let credentials = reply?.properties ?? [:]
            // Elements that are not bytes become zeros, which are no valid label.
            let label = (credentials["LinuxSecurityLabel"]?.elements ?? []).map { $0.byteValue ?? 0 }
            if let pidfd = credentials["ProcessFD"]?.unixFDValue {
                guard let pid = Pidfd.pid(of: pidfd.raw) else { return completion(.failure(.exited)) }
                return processes.identify(pid, under: pidfd, label: label, completion)
            }
            guard let pid = credentials["ProcessID"]?.uint32Value.flatMap(Int32.init(exactly:)), pid > 0 else {
                return completion(.failure(UnknownProcess(reason: "the bus does not know its process")))
            }
            find(pid, name) { [processes] in
                switch $0 {
                case .success(let pidfd): processes.identify(pid, under: pidfd, label: label, completion)
                case .failure(let problem): completion(.failure(problem))
                }
            }
        }
    }

    /// Passes a pidfd of the process with that ID.
    private func find(
        _ pid: Int32, _ name: String, _ completion: @escaping @LoopActor (Result<UnixFD, UnknownProcess>) -> Void
    ) {
        let pidfd = UnixFD(owning: Pidfd.open(pid))
        guard pidfd.raw >= 0, let process = try? processes.identity.reader.key(pid) else {
            return completion(.failure(.exited))
        }
        connection.askBus("GetConnectionUnixProcessID", .string(name)) { [times] reply in
            guard reply?.uint32Value == UInt32(pid) else {
                return completion(.failure(UnknownProcess(reason: "the bus now reports another process")))
            }
            completion(times?.objection(to: process, of: name).map(Result.failure) ?? .success(pidfd))
        }
    }

    /// Passes why the process behind a connection is not to be trusted with more than any app; nil if it is.
    package func objection(to name: String, _ completion: @escaping @LoopActor (String?) -> Void) {
        identify(name) { result in
            switch result {
            case .failure(let problem): completion("it cannot be identified: \(problem.reason)")
            case .success(let found) where found.app.isSandboxed: completion("\(found.app) is sandboxed")
            case .success(let found) where found.isProxy:
                completion("\(found.app) is a bus proxy for sandboxed programs")
            case .success: completion(nil)
            }
        }
    }
}

extension UnknownProcess {
    fileprivate static let exited = UnknownProcess(reason: "its process has exited")
}
