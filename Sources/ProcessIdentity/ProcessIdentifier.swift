// Where processes are identified: on the loop from what the kernel alone says, and by the worker if files have to be read
// that a process may have placed on a file system that hangs.

package import DBus
import PermissionModel
package import System

@LoopActor
package final class ProcessIdentifier {
    package nonisolated let identity: AppIdentity
    package let worker: Worker

    package init(worker: Worker, reader: ProcessReader = ProcessReader()) {
        self.worker = worker
        identity = AppIdentity(reader: reader)
    }

    /// `completion` may run before this returns. A process that could not be identified in time is nobody.
    ///
    /// - Parameters:
    ///   - pidfd: Refers to the process.
    ///   - label: The security label that the process had when it connected; nil for the one that it has now.
    ///   - program: The executable by which a program with more rights knows the process, in case that it cannot be
    ///     identified here; empty if there is none.
    package func identify(
        _ pid: Int32, under pidfd: UnixFD, label: [UInt8]? = nil, program: String = "",
        _ completion: @escaping @LoopActor (Result<IdentifiedProcess, UnknownProcess>) -> Void
    ) {
        let evidence: ProcessEvidence
        do throws(UnknownProcess) {
            evidence = try identity.evidence(pid, label: label)
            if program.isEmpty, let found = try identity.processAtOnce(evidence, under: pidfd.raw) {
                return completion(.success(found))
            }
        } catch {
            return completion(.failure(error))
        }
        worker.run(about: evidence.subject, for: evidence.sharer) { [identity] in
            let found = Result { () throws(UnknownProcess) in try identity.process(evidence, under: pidfd.raw) }
            guard case .failure = found, !program.isEmpty else { return found }
            return Result { () throws(UnknownProcess) in
                try identity.process(evidence, running: Array(program.utf8), under: pidfd.raw)
            }
        } then: {
            completion($0 ?? .failure(UnknownProcess(reason: "its files did not answer in time")))
        }
    }
}
