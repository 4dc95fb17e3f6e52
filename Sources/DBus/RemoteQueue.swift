// Work posted to the loop by other threads: an array behind a lock, and an eventfd that wakes the loop once per batch.

import CLinux
import Glibc

enum Work: Sendable {
    case job(UnownedJob)
    case body(@LoopActor () -> Void)
}

// SAFETY: `waiting` and `isSignalled` are accessed only with `mutex` held; everything else is constant.
final class RemoteQueue: @unchecked Sendable {
    /// Readable when there is work.
    let descriptor: Int32
    /// A heap-allocated pthread mutex: ThreadSanitizer does not understand `Synchronization.Mutex`.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var waiting: [Work] = []
    private var isSignalled = false

    init() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        precondition(descriptor >= 0, "eventfd failed: errno \(errno)")
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
        close(descriptor)
    }

    func append(_ work: Work) {
        pthread_mutex_lock(mutex)
        waiting.append(work)
        let isFirst = !isSignalled
        isSignalled = true
        pthread_mutex_unlock(mutex)
        if isFirst { _ = eventfd_write(descriptor, 1) }
    }

    /// Returns everything posted since the last call, oldest first.
    func take() -> [Work] {
        var count: eventfd_t = 0
        _ = eventfd_read(descriptor, &count)
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        isSignalled = false
        var taken: [Work] = []
        swap(&taken, &waiting)
        return taken
    }
}
