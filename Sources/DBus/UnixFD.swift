// A file descriptor with one owner, closed with the last reference unless it was taken out.

import CLinux
import Glibc
import Synchronization

public final class UnixFD: Sendable, Hashable {
    private let descriptor: Atomic<Int32>

    /// Takes ownership of `descriptor`, which is closed with this object.
    public init(owning descriptor: Int32) { self.descriptor = Atomic(descriptor) }

    deinit {
        let descriptor = take()
        if descriptor >= 0 { close(descriptor) }
    }

    /// The descriptor, still owned by this object; -1 after `take()`.
    public var raw: Int32 { descriptor.load(ordering: .relaxed) }

    /// Transfers the descriptor to the caller, who must close it. Returns -1 if it was already taken.
    public func take() -> Int32 { descriptor.exchange(-1, ordering: .acquiringAndReleasing) }

    /// Whether the kernel passes it on to another process now. It does not while more descriptors of the user are on their
    /// way than this process may have open; libdbus then drops the message without an error.
    public var canBePassed: Bool { clinux_can_pass(raw) != 0 }

    public static func == (left: UnixFD, right: UnixFD) -> Bool { left === right }

    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
