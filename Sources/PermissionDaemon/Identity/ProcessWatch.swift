// Waits for processes to exit, by pidfd: what was allowed once ends with them.

import DBus
import Glibc
import PermissionModel
import ProcessIdentity

@LoopActor
final class ProcessWatch: ProcessLiveness {
    private struct Watch {
        let pidfd: UnixFD
        let token: WatchToken
    }

    private var watches: [ProcessKey: Watch] = [:]
    private let reader = ProcessReader()
    var onExit: (@LoopActor (ProcessKey) -> Void)?

    /// A process that cannot be watched, as no descriptors are left, counts as one that has exited.
    func isAlive(_ process: ProcessKey) -> Bool {
        if watches[process] != nil { return true }
        let opened = Pidfd.open(process.pid)
        // The pidfd is of whoever has the pid now: the start time says whether that is the one meant.
        guard opened >= 0, (try? reader.startTime(process.pid)) == process.startTime else {
            if opened >= 0 { close(opened) }
            return false
        }
        let token = Loop.shared.watch(opened, .readable) { [weak self] _ in
            self?.watches.removeValue(forKey: process)?.token.cancel()
            self?.onExit?(process)
        }
        watches[process] = Watch(pidfd: UnixFD(owning: opened), token: token)
        return true
    }
}
