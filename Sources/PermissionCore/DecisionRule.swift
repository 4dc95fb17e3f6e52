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
    /// Whether the decision is in force. A decision ends without a write or a removal.
    ///
    /// - Parameters:
    ///   - now: the wall clock.
    ///   - isAlive: whether exactly this process is running, not a later one with the same process ID.
    package func isInForce(
        at now: @autoclosure () -> EpochSeconds, in scopes: @autoclosure () -> DecisionScopes,
        isAlive: (ProcessKey) -> Bool
    ) -> Bool {
        switch duration {
        case .always: true
        case .until(let end): now() < end
        case .session: scope == scopes().session
        case .once: scope == scopes().boot && process.map(isAlive) ?? false
        }
    }
}
