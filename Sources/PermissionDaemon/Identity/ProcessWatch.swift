// Waits for processes to exit, by pidfd: what was allowed once ends with them.

import DBus
import Glibc
import PermissionModel
import ProcessIdentity

@LoopActor
final class ProcessWatch {
    private struct Watch {
        let pidfd: UnixFD
        let token: WatchToken
    }

    private var watches: [ProcessKey: Watch] = [:]
    private let reader = ProcessReader()

    /// Calls `onExit` once, when that very process has exited; a process watched already stays so. False: it has exited
    /// before, and nothing is called.
    func watch(_ process: ProcessKey, onExit: @escaping @LoopActor () -> Void) -> Bool {
        guard watches[process] == nil else { return true }
        let opened = Pidfd.open(process.pid)
        // The pidfd is of whoever has the pid now: the start time says whether that is the one meant.
        guard opened >= 0, (try? reader.startTime(process.pid)) == process.startTime else {
            if opened >= 0 { close(opened) }
            return false
        }
        let token = Loop.shared.watch(opened, .readable) { [weak self] _ in
            self?.watches.removeValue(forKey: process)?.token.cancel()
            onExit()
        }
        watches[process] = Watch(pidfd: UnixFD(owning: opened), token: token)
        return true
    }

    /// Nothing is called any more.
    func stop() {
        for watch in watches.values { watch.token.cancel() }
        watches = [:]
    }
}
