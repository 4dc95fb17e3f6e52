// Unix signals as events of the loop (signalfd(2)).

import CLinux
import Glibc

extension Loop {
    /// Blocks these signals in the calling thread and passes them to `handler`. Threads inherit the mask, so call this
    /// before others are started.
    @LoopActor
    public func onSignals(_ signals: [Int32], _ handler: @escaping @LoopActor (Int32) -> Void) {
        var mask = sigset_t()
        sigemptyset(&mask)
        for signal in signals { sigaddset(&mask, signal) }
        pthread_sigmask(SIG_BLOCK, &mask, nil)
        let fd = UnixFD(owning: signalfd(-1, &mask, Int32(SFD_CLOEXEC) | Int32(SFD_NONBLOCK)))
        precondition(fd.raw >= 0, "signalfd failed: errno \(errno)")
        watch(fd, .readable) { _ in
            var information = signalfd_siginfo()
            let size = MemoryLayout<signalfd_siginfo>.size
            while read(fd.raw, &information, size) == size { handler(Int32(information.ssi_signo)) }
        }
    }
}
