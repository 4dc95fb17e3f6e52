// Watches processes by pidfd for their exit: `once` decisions end with them, and uses of devices.

import DBus
import Glibc
import PermissionModel
import ProcessIdentity

/// Reports whether processes are running and when they exit.
@LoopActor
protocol ProcessLiveness: AnyObject {
    var onExit: (@LoopActor (ProcessKey) -> Void)? { get set }
    /// Whether exactly this process is running; true also if that is not known. If so, `onExit` is called when it exits.
    func isAlive(_ process: ProcessKey) -> Bool
    /// `onExit` need not be called for this process any more.
    func forget(_ process: ProcessKey)
}

@LoopActor
final class ProcessWatch: ProcessLiveness {
    private let open: (Int32) -> Int32
    private let retryTime: Int64
    private var watches: [ProcessKey: WatchToken] = [:]
    /// Those that could not be watched, for lack of descriptors or memory.
    private var unwatched: Set<ProcessKey> = []
    private var retry: LoopTimer?
    private let reader = ProcessReader()
    var onExit: (@LoopActor (ProcessKey) -> Void)?

    /// - Parameters:
    ///   - retryTime: Milliseconds until a process is tried again that could not be watched.
    ///   - open: Opens a pidfd, as ``Pidfd/open(_:)`` does.
    init(retryTime: Int64 = 10_000, open: @escaping (Int32) -> Int32 = Pidfd.open) {
        self.retryTime = retryTime
        self.open = open
    }

    isolated deinit { for watch in watches.values { watch.cancel() } }

    /// Starts to watch the process. One that cannot be watched now has not exited for that reason: a decision would end
    /// that is in force.
    func isAlive(_ process: ProcessKey) -> Bool {
        if watches[process] != nil { return true }
        let opened = open(process.pid)
        if opened < 0 { return ProcessWatch.isGone(errno) ? false : watchLater(process) }
        let pidfd = UnixFD(owning: opened)
        // The pidfd refers to the process that has the ID now; its start time tells whether it is the same one.
        guard let start = try? reader.startTime(process.pid) else {
            return Pidfd.isAlive(opened) ? watchLater(process) : false
        }
        guard start == process.startTime else { return false }
        watches[process] = Loop.shared.watch(pidfd, .readable) { [weak self] _ in
            self?.forget(process)
            self?.onExit?(process)
        }
        return true
    }

    /// No process has the ID: none at all, or only a thread has it, for which kernels have different errors.
    private static func isGone(_ error: Int32) -> Bool { [ESRCH, EINVAL, ENOENT].contains(error) }

    private func watchLater(_ process: ProcessKey) -> Bool {
        unwatched.insert(process)
        guard retry == nil else { return true }
        retry = Loop.shared.after(milliseconds: retryTime) { [weak self] in self?.watchAgain() }
        return true
    }

    private func watchAgain() {
        retry = nil
        let processes = unwatched
        unwatched = []
        for process in processes where !isAlive(process) { onExit?(process) }
    }

    func forget(_ process: ProcessKey) {
        unwatched.remove(process)
        watches.removeValue(forKey: process)?.cancel()
    }
}
