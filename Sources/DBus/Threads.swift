// Threads beside the loop's, for what cannot be done without blocking.

import Glibc

/// Runs `body` on a thread of its own, which takes no signals: those are the program's. Returns 0, or an error number when
/// there is no thread.
public func runDetached(_ body: @escaping @Sendable () -> Void) -> Int32 {
    final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    var all = sigset_t()
    var old = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &old)
    defer { pthread_sigmask(SIG_SETMASK, &old, nil) }
    var thread = pthread_t()
    // SAFETY: the thread takes the reference over; when there is none, it is released here.
    let work = Unmanaged.passRetained(Work(body))
    let failure = pthread_create(
        &thread, nil,
        { context in
            if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body() }
            return nil
        }, work.toOpaque())
    guard failure == 0 else {
        work.release()
        return failure
    }
    pthread_detach(thread)
    return 0
}
