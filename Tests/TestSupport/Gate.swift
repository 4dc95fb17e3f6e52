// Holds up a thread until it is released.

import Dispatch

/// What a thread waits for, as for a file system that hangs. Has no descriptor: tests need a thousand of them.
package final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    package init() {}

    package func wait() { semaphore.wait() }

    /// Releases one thread.
    package func open() { semaphore.signal() }
}
