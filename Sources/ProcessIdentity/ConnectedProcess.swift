// The process behind a connection to the bus, and its user: only the bus and the kernel are asked, and no file is read.

package import DBus
import Glibc
import PermissionModel

package struct ConnectedProcess {
    package let pid: Int32
    /// Refers to the process.
    package let pidfd: UnixFD
    /// The security label that it had when it connected; empty without a security module.
    package let label: [UInt8]
    /// Nil if the bus does not know it.
    package let user: UInt32?

    package init(pid: Int32, pidfd: UnixFD, label: [UInt8] = [], user: UInt32?) {
        (self.pid, self.pidfd, self.label, self.user) = (pid, pidfd, label, user)
    }

    package struct Unknown: Error {
        package let reason: UnknownProcess
        /// Nil if the bus does not know it.
        package let user: UInt32?
    }

    /// - Parameter times: For buses without pidfds. Without them, a process that has got the ID of an earlier one is taken
    ///   for it.
    @LoopActor
    package static func find(
        _ name: String, on connection: Connection, reader: ProcessReader = ProcessReader(),
        times: ConnectionTimes? = nil,
        _ completion: @escaping @LoopActor (Result<ConnectedProcess, Unknown>) -> Void
    ) {
        connection.askBus("GetConnectionCredentials", .string(name)) { reply in
            let credentials = reply?.properties ?? [:]
            let user = credentials["UnixUserID"]?.uint32Value
            // Elements that are not bytes become zeros, which are no valid label.
            let label = (credentials["LinuxSecurityLabel"]?.elements ?? []).map { $0.byteValue ?? 0 }
            @LoopActor func pass(_ result: Result<(pid: Int32, pidfd: UnixFD), UnknownProcess>) {
                completion(
                    result.map { ConnectedProcess(pid: $0.pid, pidfd: $0.pidfd, label: label, user: user) }
                        .mapError { Unknown(reason: $0, user: user) })
            }
            if let pidfd = credentials["ProcessFD"]?.unixFDValue {
                guard let pid = Pidfd.pid(of: pidfd.raw) else { return pass(.failure(.exited)) }
                return pass(.success((pid, pidfd)))
            }
            guard let pid = credentials["ProcessID"]?.uint32Value.flatMap(Int32.init(exactly:)), pid > 0 else {
                return pass(.failure(UnknownProcess(reason: "the bus does not know its process")))
            }
            confirm(pid, name, on: connection, reader, times) { pass($0.map { (pid, $0) }) }
        }
    }

    /// Passes a pidfd of the process with that ID.
    @LoopActor
    private static func confirm(
        _ pid: Int32, _ name: String, on connection: Connection, _ reader: ProcessReader, _ times: ConnectionTimes?,
        _ completion: @escaping @LoopActor (Result<UnixFD, UnknownProcess>) -> Void
    ) {
        let pidfd = UnixFD(owning: Pidfd.open(pid))
        guard pidfd.raw >= 0, let process = try? reader.key(pid) else {
            return completion(.failure(.exited))
        }
        connection.askBus("GetConnectionUnixProcessID", .string(name)) { reply in
            guard reply?.uint32Value == UInt32(pid) else {
                return completion(.failure(UnknownProcess(reason: "the bus now reports another process")))
            }
            completion(times?.objection(to: process, of: name).map(Result.failure) ?? .success(pidfd))
        }
    }
}

extension UnknownProcess {
    fileprivate static let exited = UnknownProcess(reason: "its process has exited")
}
