// Additional threads, for operations that cannot be done without blocking.

import Glibc

/// Runs `body` on a new detached thread with all signals blocked, so that signals go to the program's other threads.
/// Returns 0, or an error number if the thread cannot be created.
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
    // SAFETY: the thread takes over the reference; if it cannot be created, the reference is released here.
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
