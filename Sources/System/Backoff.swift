// The one rule for trying again what failed: at once, then after twice the pause each time.

/// The pauses between attempts, in milliseconds.
package struct Backoff: Sendable {
    private let first: Int64
    private let longest: Int64
    private var pause: Int64

    /// - Parameters:
    ///   - first: What closed a connection or lacked a descriptor is usually back after a few milliseconds.
    ///   - longest: An attempt a minute costs nothing.
    package init(first: Int64 = 10, longest: Int64 = 60_000) {
        self.first = first
        self.longest = longest
        pause = first
    }

    /// The pause before the next attempt.
    package mutating func next() -> Int64 {
        defer { pause = min(2 * pause, longest) }
        return pause
    }

    /// After success.
    package mutating func reset() { pause = first }
}
