// Identifies the processes that have devices open, and reports when they exit.

import DBus
import Glibc
import PermissionModel
import ProcessIdentity

@LoopActor
final class OpenerIdentities {
    struct Identity: Sendable, Hashable {
        /// Nil if the process may not be inspected.
        var app: AppID?
        /// What a decision `once` is about.
        var instance: ProcessKey?
        var mediaService: MediaService?
    }

    /// The most processes that are watched for their exit, each by a descriptor. The others end their uses by closing
    /// the node, as the kernel does for them when they exit.
    private static let maximumWatched = 256

    private let identifier: ProcessIdentifier
    private let processes: any ProcessLiveness
    private var known: [ProcessKey: Identity] = [:]
    /// Those that are being identified.
    private var pending: Set<ProcessKey> = []
    private var watched: Set<ProcessKey> = []
    var onExit: (@LoopActor (ProcessKey) -> Void)?
    var onIdentified: (@LoopActor () -> Void)?

    init(_ identifier: ProcessIdentifier, _ processes: any ProcessLiveness) {
        self.identifier = identifier
        self.processes = processes
        processes.onExit = { [weak self] process in
            self?.watched.remove(process)
            self?.onExit?(process)
        }
    }

    subscript(process: ProcessKey) -> Identity? { known[process] }

    func identify(_ process: ProcessKey) {
        guard known[process] == nil, pending.insert(process).inserted else { return }
        if watched.count < OpenerIdentities.maximumWatched, processes.isAlive(process) { watched.insert(process) }
        find(process) { [weak self] identity in
            guard let self, pending.remove(process) != nil else { return }
            known[process] = identity
            onIdentified?()
        }
    }

    /// Forgets all others.
    func forgetAll(except processes: Set<ProcessKey>) {
        known = known.filter { processes.contains($0.key) }
        pending.formIntersection(processes)
        for process in watched where !processes.contains(process) {
            self.processes.forget(process)
            watched.remove(process)
        }
    }

    private func find(_ process: ProcessKey, _ completion: @escaping @LoopActor (Identity) -> Void) {
        let pidfd = UnixFD(owning: Pidfd.open(process.pid))
        guard pidfd.raw >= 0 else { return completion(Identity()) }
        identifier.identify(process.pid, under: pidfd) { [reader = identifier.identity.reader] found in
            guard case .success(let found) = found, found.key == process else { return completion(Identity()) }
            let service = reader.systemExecutable(process.pid).flatMap(MediaService.init(systemExecutable:))
            completion(
                Pidfd.isAlive(pidfd.raw)
                    ? Identity(app: found.app, instance: found.instance, mediaService: service) : Identity())
        }
    }
}
