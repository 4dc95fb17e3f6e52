// Additional threads, for operations that cannot be done without blocking.

import Glibc

/// Bytes, which is plenty for what threads do here. A stack of 2 MiB or more, as by default, gets a huge page when it is
/// first used.
private let stackSize = 1 << 20

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
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    pthread_attr_setstacksize(&attributes, stackSize)
    var thread = pthread_t()
    // SAFETY: the thread takes over the reference; if it cannot be created, the reference is released here.
    let work = Unmanaged.passRetained(Work(body))
    let failure = pthread_create(
        &thread, &attributes,
        { context in
            if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body() }
            return nil
        }, work.toOpaque())
    if failure != 0 { work.release() }
    return failure
}
