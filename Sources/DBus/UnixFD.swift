// A file descriptor with one owner: closed when nobody holds it any more, unless it was taken out.

import Glibc
import Synchronization

public final class UnixFD: Sendable, Hashable {
    private let descriptor: Atomic<Int32>

    /// Takes over `descriptor`: it is closed with this object.
    public init(owning descriptor: Int32) { self.descriptor = Atomic(descriptor) }

    deinit {
        let descriptor = take()
        if descriptor >= 0 { close(descriptor) }
    }

    /// The descriptor, still owned here; -1 once it was taken.
    public var raw: Int32 { descriptor.load(ordering: .relaxed) }

    /// Gives the descriptor to the caller, who closes it. -1 when it was taken before.
    public func take() -> Int32 { descriptor.exchange(-1, ordering: .acquiringAndReleasing) }

    public static func == (left: UnixFD, right: UnixFD) -> Bool { left === right }

    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
