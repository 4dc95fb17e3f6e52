// When to reconnect to a bus that was lost.

import DBus

/// The attempts after a loss: the first at once, each further one after twice the pause, for five seconds in all. A bus
/// that only closed the connection, restarts or is flooded is back sooner; otherwise it has ended with its session.
@LoopActor
struct Reconnection {
    private static let patience: Int64 = 5000
    private static let firstPause: Int64 = 10
    private static let longestPause: Int64 = 160

    private let since = Loop.uptimeMilliseconds()
    private var pause = Reconnection.firstPause

    /// Calls `body` after the next pause. Returns false if it is time to give up.
    mutating func tryLater(_ body: @escaping @LoopActor () -> Void) -> Bool {
        guard Loop.uptimeMilliseconds() - since < Reconnection.patience else { return false }
        Loop.shared.after(milliseconds: pause, body)
        pause = min(2 * pause, Reconnection.longestPause)
        return true
    }
}
