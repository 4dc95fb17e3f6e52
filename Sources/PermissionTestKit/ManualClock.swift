// A clock that stands still until a test moves it.

public import PermissionModel
import Synchronization

public final class ManualClock: Sendable {
    private let seconds: Mutex<EpochSeconds>

    /// Starts in 2026, so that the times of a test are read as times.
    public init(_ seconds: EpochSeconds = 1_800_000_000) { self.seconds = Mutex(seconds) }

    public var now: EpochSeconds { seconds.withLock { $0 } }

    /// Moves it, forwards or back.
    public func advance(by seconds: EpochSeconds) { self.seconds.withLock { $0 += seconds } }
}
