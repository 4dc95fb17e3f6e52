// Who an enforcement point speaks of: a process, given by a pidfd, or a sandboxed app.

import DBus
import PermissionModel
import ProcessIdentity

@LoopActor
struct EnforcementSubject {
    typealias Completion = @LoopActor (Result<EnforcementSubject, PermissionError>) -> Void

    /// The app. The connection is the point's; so is the process, if the point knows no other: what holds once for an
    /// app then ends with the point.
    let caller: Caller
    /// Refers to the app's process.
    let pidfd: UnixFD?
    /// The app's process; 0 if the point knows none.
    var pid: Int32 = 0

    /// `completion` may run before this returns.
    ///
    /// - Parameter who: A variant with a pidfd (`h`), or with a sandboxed app (`s`).
    static func find(
        _ who: Value, namedBy point: Caller, _ processes: ProcessIdentifier, _ completion: @escaping Completion
    ) {
        guard case .variant(let who) = who else { return completion(.failure(PermissionError(.invalidArguments))) }
        if let pidfd = who.unixFDValue { return process(pidfd, namedBy: point, processes, completion) }
        completion(Result { () throws(PermissionError) in try app(who, namedBy: point) })
    }

    private static func app(_ who: Value, namedBy point: Caller) throws(PermissionError) -> EnforcementSubject {
        guard let text = who.stringValue else {
            throw PermissionError(.invalidArguments, "who has type \(who.signature) instead of h or s")
        }
        guard let app = AppID(text), app.isSandboxed else {
            throw PermissionError(
                .invalidArguments, "\(quoted(text)) is not a sandboxed app, flatpak:ID or snap:NAME; pass a pidfd")
        }
        let caller = Caller(connection: point.connection, app: app, process: point.process)
        return EnforcementSubject(caller: caller, pidfd: nil)
    }

    private static func process(
        _ pidfd: UnixFD, namedBy point: Caller, _ processes: ProcessIdentifier, _ completion: @escaping Completion
    ) {
        guard let pid = Pidfd.number(of: pidfd.raw) else {
            return completion(.failure(PermissionError(.invalidArguments, "the descriptor is not a pidfd")))
        }
        let gone = PermissionError(.notFound, "the process has exited")
        guard pid >= 0, Pidfd.isAlive(pidfd.raw) else { return completion(.failure(gone)) }
        processes.identify(pid, under: pidfd) { result in
            switch result {
            case .success(let found):
                let caller = Caller(
                    connection: point.connection, app: found.app, process: found.instance,
                    mayBeSandboxed: found.mayBeSandboxed)
                completion(.success(EnforcementSubject(caller: caller, pidfd: pidfd, pid: pid)))
            case .failure where !Pidfd.isAlive(pidfd.raw): completion(.failure(gone))
            case .failure(let problem):
                let text = "the process \(pid) cannot be identified: \(problem.reason)"
                completion(.failure(PermissionError(.accessDenied, text)))
            }
        }
    }
}
