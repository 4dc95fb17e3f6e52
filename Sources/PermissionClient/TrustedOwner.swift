// Who owns a name that this program believes. Any program on the bus may take a name while it is free: its owner is
// identified first, as permd identifies its callers, and one in a sandbox, or one that nobody can identify, is refused.

package import DBus
import Glibc
import ProcessIdentity

@LoopActor
package enum TrustedOwner {
    /// The unique name of the owner of a well-known one; the bus starts it if nobody has the name.
    ///
    /// The bus and the kernel are asked, never the owner itself. A bus that gives no pidfd knows the number of the process
    /// that connected; that the process is older than the connection only permd can tell, which was there before both.
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

    /// Names errors of this file on their way out of it.
    private static let untrusted = "org.permd.Untrusted"

    private static func refusal(_ name: String, _ why: String) -> BusError {
        BusError(name: untrusted, message: "\(name) belongs to \(why): it is not believed; end that program")
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
            throw BusError(name: BusError.Name.nameHasNoOwner, message: "the bus names no owner")
        }
        return name
    }

    /// Held by a pidfd, so that its number is not another one's meanwhile.
    private static func process(
        of owner: String, _ credentials: [String: Value], on connection: Connection
    ) async throws(BusError) -> Process {
        if let pidfd = credentials["ProcessFD"]?.unixFDValue {
            guard let pid = Pidfd.pid(of: pidfd.raw) else { throw refusal(owner, "a process that is gone") }
            return Process(pid: pid, pidfd: pidfd)
        }
        guard let number = credentials["ProcessID"]?.uint32Value, let pid = Int32(exactly: number), pid > 0 else {
            throw refusal(owner, "a process that the bus does not know")
        }
        let opened = Pidfd.open(pid)
        guard opened >= 0 else { throw refusal(owner, "a process that is gone") }
        let process = Process(pid: pid, pidfd: UnixFD(owning: opened))
        let again = try await connection.call(.busCall("GetConnectionUnixProcessID", [.string(owner)]))
        guard again.body.first?.uint32Value == number else { throw refusal(owner, "a process that is gone") }
        return process
    }

    /// Why a process is not believed; nil when it is.
    private static func objection(to process: Process, _ label: [UInt8]) -> String? {
        let identity = AppIdentity()
        do throws(UnknownProcess) {
            let app = try identity.app(of: process.pid, label: label)
            if app.isSandboxed { return "\(app), which is in a sandbox" }
            if try identity.isProxy(process.pid) { return "\(app), a proxy for programs in sandboxes" }
            return Pidfd.isAlive(process.pidfd.raw) ? nil : "a process that is gone"
        } catch {
            return "a program that cannot be identified: \(error.reason)"
        }
    }
}
