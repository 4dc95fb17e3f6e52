// Who an enforcement point speaks of: a process, given by a pidfd, or a sandboxed app.

import DBus
import PermissionModel
import ProcessIdentity

struct EnforcementSubject {
    /// The app. The connection is the point's; so is the process, if the point knows no other: what holds once for an
    /// app then ends with the point.
    let caller: Caller
    /// Refers to the app's process.
    let pidfd: UnixFD?

    /// - Parameter who: A variant with a pidfd (`h`), or with a sandboxed app (`s`).
    init(_ who: Value, namedBy point: Caller) throws(PermissionError) {
        guard case .variant(let who) = who else { throw PermissionError(.invalidArguments) }
        if let text = who.stringValue {
            guard let app = AppID(text), app.isSandboxed else {
                throw PermissionError(
                    .invalidArguments, "\(quoted(text)) is not a sandboxed app, flatpak:ID or snap:NAME; pass a pidfd")
            }
            caller = Caller(connection: point.connection, app: app, process: point.process)
            pidfd = nil
        } else if let descriptor = who.unixFDValue {
            caller = try EnforcementSubject.process(descriptor, namedBy: point)
            pidfd = descriptor
        } else {
            throw PermissionError(.invalidArguments, "who has type \(who.signature) instead of h or s")
        }
    }

    private static func process(_ pidfd: UnixFD, namedBy point: Caller) throws(PermissionError) -> Caller {
        guard let pid = Pidfd.number(of: pidfd.raw) else {
            throw PermissionError(.invalidArguments, "the descriptor is not a pidfd")
        }
        let gone = PermissionError(.notFound, "the process has exited")
        guard pid >= 0, Pidfd.isAlive(pidfd.raw) else { throw gone }
        do throws(UnknownProcess) {
            let process = try AppIdentity().process(pid, under: pidfd.raw)
            return Caller(
                connection: point.connection, app: process.app, process: process.key, isProxy: process.isProxy)
        } catch {
            guard Pidfd.isAlive(pidfd.raw) else { throw gone }
            throw PermissionError(.accessDenied, "the process \(pid) cannot be identified: \(error.reason)")
        }
    }
}
