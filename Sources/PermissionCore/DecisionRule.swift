// Whether a decision is in force: the only place that judges it.

public import PermissionModel

/// What is current of the spans that decisions are tied to.
public struct DecisionScopes: Sendable, Hashable {
    /// The token of the user's session: a random value that is replaced when the last login session ends.
    public var session: String
    /// The kernel's boot ID. A process ID and start time name a process within one boot only.
    public var boot: String

    public init(session: String, boot: String) {
        self.session = session
        self.boot = boot
    }
}

extension Decision {
    /// Whether the decision is in force. Nothing has to be written or removed for one to end.
    ///
    /// - Parameters:
    ///   - now: the wall clock.
    ///   - isAlive: whether exactly that process, not a later one with its number, is running.
    public func holds(
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
