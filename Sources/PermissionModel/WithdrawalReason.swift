// Why a prompt is withdrawn.

/// Why a prompt was withdrawn: the last argument of org.permd.Agent1.Withdraw. Later versions may have more.
public enum WithdrawalReason: String, Sendable, Hashable, CaseIterable {
    /// The app has withdrawn its request.
    case closed
    /// The app has left the bus.
    case left
    /// Everything that was asked has been decided otherwise: with `permctl`, by a rule, or there is no device any more.
    case decided
    /// Nobody answered in time (`TimeoutSec`).
    case timeout
    /// Nobody is in front of the screen any more. The prompt comes again.
    case absent
    /// The agent has unregistered, or does not answer. The prompt goes to the next one.
    case unregistered
    /// permd is stopping, or has left the bus. If the app asks again, as the library does, the prompt comes again.
    case stopping
}
