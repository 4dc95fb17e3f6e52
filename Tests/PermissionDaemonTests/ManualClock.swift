// A clock that only a test advances.

import PermissionModel
import Synchronization

final class ManualClock: Sendable {
    private let seconds: Mutex<EpochSeconds>

    /// Starts in 2027, so that times in test output are recognizable as times.
    init(_ seconds: EpochSeconds = 1_800_000_000) { self.seconds = Mutex(seconds) }

    var now: EpochSeconds { seconds.withLock { $0 } }

    /// Moves the clock forward, or back if negative.
    func advance(by seconds: EpochSeconds) { self.seconds.withLock { $0 += seconds } }
}
