// A file descriptor that closes itself.

import Glibc

/// Owns a file descriptor: closed when the last reference goes, unless it was taken.
// SAFETY: `fd` is read and replaced under the lock only.
public final class UnixFD: @unchecked Sendable, Hashable {
    private let lock = UnfairLock()
    private var fd: Int32

    /// Takes over `fd`.
    public init(owning fd: Int32) { self.fd = fd }

    deinit { if fd >= 0 { close(fd) } }

    /// The descriptor, still owned here; -1 after ``take()``.
    public var raw: Int32 {
        lock.lock()
        defer { lock.unlock() }
        return fd
    }

    /// The descriptor, owned by the caller from now on.
    public func take() -> Int32 {
        lock.lock()
        defer {
            fd = -1
            lock.unlock()
        }
        return fd
    }

    public static func == (a: UnixFD, b: UnixFD) -> Bool { a === b }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
