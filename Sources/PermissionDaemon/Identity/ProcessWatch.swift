// Watches processes by pidfd for their exit: `once` decisions end with them, and uses of devices.

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

    /// Starts to watch the process. One that cannot be watched, for lack of descriptors, counts as exited.
    func isAlive(_ process: ProcessKey) -> Bool {
        if watches[process] != nil { return true }
        let opened = Pidfd.open(process.pid)
        // The pidfd refers to the process that has the ID now; its start time tells whether it is the same one.
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

    func forget(_ process: ProcessKey) { watches.removeValue(forKey: process)?.token.cancel() }
}
