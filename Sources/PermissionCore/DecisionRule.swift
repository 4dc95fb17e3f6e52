// Whether a decision is in force, for everything that reads one.

package import PermissionModel

/// The current session and boot, which some decisions are tied to.
package struct DecisionScopes: Sendable, Hashable {
    /// The token of the user's session: a random value that is replaced when the last login session ends.
    package var session: String
    /// The kernel's boot ID. A process ID and start time identify a process only within one boot.
    package var boot: String

    package init(session: String, boot: String) {
        self.session = session
        self.boot = boot
    }
}

extension Decision {
    /// Seconds by which a clock is corrected without anybody setting it.
    private static let correction: EpochSeconds = 60

    /// The decision with its ``deadline``, as it becomes known to this program. If the clock was set back since it was made,
    /// it is unknown how long it has held, and it is over.
    package func limited(at now: Instant) -> Decision {
        guard let end = duration.end else { return self }
        let isSetBack = now.epoch + Decision.correction < decided
        var limited = self
        limited.deadline = isSetBack ? now.uptime : now.deadline(of: end, since: decided)
        return limited
    }

    /// Whether the decision is in force. A decision ends without a write or a removal.
    ///
    /// - Parameters:
    ///   - now: the wall clock.
    ///   - uptime: milliseconds since boot.
    ///   - isAlive: whether exactly this process is running, not a later one with the same process ID.
    package func isInForce(
        at now: @autoclosure () -> EpochSeconds, uptime: @autoclosure () -> Int64,
        in scopes: @autoclosure () -> DecisionScopes,
        isAlive: (ProcessKey) -> Bool
    ) -> Bool {
        switch duration {
        case .always: true
        case .until(let end): now() < end && deadline.map { uptime() < $0 } ?? true
        case .session: scope == scopes().session
        case .once: scope == scopes().boot && process.map(isAlive) ?? false
        }
    }
}
