// Watches processes by pidfd for their exit: `once` decisions end with them, and uses of devices.

import DBus
import Glibc
import PermissionModel
import ProcessIdentity

/// Reports whether processes are running and when they exit.
@LoopActor
protocol ProcessLiveness: AnyObject {
    var onExit: (@LoopActor (ProcessKey) -> Void)? { get set }
    /// Whether exactly this process is running. If so, `onExit` is called when it exits.
    func isAlive(_ process: ProcessKey) -> Bool
    /// `onExit` need not be called for this process any more.
    func forget(_ process: ProcessKey)
}

@LoopActor
final class ProcessWatch: ProcessLiveness {
    private var watches: [ProcessKey: WatchToken] = [:]
    private let reader = ProcessReader()
    var onExit: (@LoopActor (ProcessKey) -> Void)?

    isolated deinit { for watch in watches.values { watch.cancel() } }

    /// Starts to watch the process. One that cannot be watched, for lack of descriptors, counts as exited.
    func isAlive(_ process: ProcessKey) -> Bool {
        if watches[process] != nil { return true }
        let pidfd = UnixFD(owning: Pidfd.open(process.pid))
        // The pidfd refers to the process that has the ID now; its start time tells whether it is the same one.
        guard pidfd.raw >= 0, reader.isThere(process) else { return false }
        watches[process] = Loop.shared.watch(pidfd, .readable) { [weak self] _ in
            self?.forget(process)
            self?.onExit?(process)
        }
        return true
    }

    func forget(_ process: ProcessKey) { watches.removeValue(forKey: process)?.cancel() }
}
