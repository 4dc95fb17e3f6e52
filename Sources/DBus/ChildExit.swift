// Child process exits as events of the loop (pidfd_open(2)).

import CLinux
import Glibc

extension Loop {
    /// Calls `handler` once with the wait status when the child process `pid` has exited. The child is reaped first.
    @LoopActor
    public func onExit(ofChild pid: Int32, _ handler: @escaping @LoopActor (Int32) -> Void) {
        let pidfd = UnixFD(owning: clinux_pidfd_open(pid, 0))
        guard pidfd.raw >= 0 else {
            // There is no free descriptor or memory for a moment.
            after(milliseconds: 100) { self.onExit(ofChild: pid, handler) }
            return
        }
        var token: WatchToken?
        token = watch(pidfd, .readable) { _ in
            var status: Int32 = 0
            guard waitpid(pid, &status, WNOHANG) == pid else { return }
            token?.cancel()
            token = nil
            handler(status)
        }
    }
}
