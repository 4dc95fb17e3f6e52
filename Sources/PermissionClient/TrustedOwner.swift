// Finds the owner of a bus name and identifies it, as permd identifies its callers. Any program on the bus can take a
// name that is free, so an owner that is sandboxed or cannot be identified is rejected.

package import DBus
import Glibc
import ProcessIdentity

/// Identifies the owners of bus names.
@LoopActor
package enum TrustedOwner {
    /// Returns the unique name of the owner of a well-known name. The bus starts the owner if necessary.
    ///
    /// The bus and the kernel identify the process; the owner itself is not asked. Without a pidfd from the bus, a
    /// reused process ID is not detected: only permd, which has run longer, can tell whether a process is older than
    /// its connection.
    package static func find(_ name: String, on connection: Connection) async throws(ClientError) -> String {
        do throws(BusError) {
            let owner = try await current(name, on: connection)
            let credentials = try await connection.call(.busCall("GetConnectionCredentials", [.string(owner)]))
            let given = credentials.body.first?.properties ?? [:]
            let process = try await process(of: owner, given, on: connection)
            let label = (given["LinuxSecurityLabel"]?.elements ?? []).map { $0.byteValue ?? 0 }
            if let objection = objection(to: process, label) { throw refusal(name, objection) }
            return owner
        } catch {
            throw error.name == untrusted
                ? ClientError(kind: .untrustedOwner, message: error.message, isRetryable: false) : ClientError(error)
        }
    }

    private struct Process {
        let pid: Int32
        let pidfd: UnixFD
    }

    /// The name of errors that become ``ClientError/Kind/untrustedOwner``.
    private static let untrusted = "org.permd.Untrusted"

    private static let gone = "its process has exited"

    private static func refusal(_ name: String, _ why: String) -> BusError {
        BusError(name: untrusted, message: "the owner of \(name) is not trusted: \(why); end that program")
    }

    private static func current(_ name: String, on connection: Connection) async throws(BusError) -> String {
        let question = Message.busCall("GetNameOwner", [.string(name)])
        do throws(BusError) { return try ownerName(try await connection.call(question)) } catch {
            guard error.name == BusError.Name.nameHasNoOwner else { throw error }
        }
        _ = try await connection.call(.busCall("StartServiceByName", [.string(name), .uint32(0)]))
        return try ownerName(try await connection.call(question))
    }

    private static func ownerName(_ reply: Message) throws(BusError) -> String {
        guard let name = reply.body.first?.stringValue else {
            throw BusError(name: BusError.Name.nameHasNoOwner, message: "the bus returned no owner")
        }
        return name
    }

    /// Returns the process with a pidfd, so that its process ID cannot be reused unnoticed.
    private static func process(
        of owner: String, _ credentials: [String: Value], on connection: Connection
    ) async throws(BusError) -> Process {
        if let pidfd = credentials["ProcessFD"]?.unixFDValue {
            guard let pid = Pidfd.pid(of: pidfd.raw) else { throw refusal(owner, gone) }
            return Process(pid: pid, pidfd: pidfd)
        }
        guard let number = credentials["ProcessID"]?.uint32Value, let pid = Int32(exactly: number), pid > 0 else {
            throw refusal(owner, "the bus does not know its process")
        }
        let opened = Pidfd.open(pid)
        guard opened >= 0 else { throw refusal(owner, gone) }
        let process = Process(pid: pid, pidfd: UnixFD(owning: opened))
        let again = try await connection.call(.busCall("GetConnectionUnixProcessID", [.string(owner)]))
        guard again.body.first?.uint32Value == number else { throw refusal(owner, gone) }
        return process
    }

    /// Returns why a process is not trusted; nil if it is.
    private static func objection(to process: Process, _ label: [UInt8]) -> String? {
        do throws(UnknownProcess) {
            let found = try AppIdentity().process(process.pid, under: process.pidfd.raw, label: label)
            if found.app.isSandboxed { return "\(found.app) is sandboxed" }
            return found.isProxy ? "\(found.app) is a bus proxy for sandboxed programs" : nil
        } catch {
            return "it cannot be identified: \(error.reason)"
        }
    }
}
