// The answers to a question that decide it.

import Glibc
public import PermissionModel

/// An answer to a question, other than Not now. Agents choose its label and its place.
public enum PromptChoice: Sendable, CaseIterable {
    /// Denies it, until the decision is changed or reset.
    case deny
    /// Allows it for the requesting process, until that exits, or for the running instance of its sandbox.
    case once
    /// Allows it for one hour.
    case hour
    /// Allows it until the user's last login session ends.
    case session
    /// Allows it, until the decision is changed or reset.
    case always

    /// The decision that the answer stands for if it is given now. A refusal has the duration `always`.
    public var decision: ItemDecision {
        switch self {
        case .deny: ItemDecision(verdict: .deny, duration: .always)
        case .once: ItemDecision(verdict: .grant, duration: .once)
        case .hour: ItemDecision(verdict: .grant, duration: .until(EpochSeconds(time(nil)) + 3600))
        case .session: ItemDecision(verdict: .grant, duration: .session)
        case .always: ItemDecision(verdict: .grant, duration: .always)
        }
    }

    /// Returns the answers that are possible with these durations. `deny` always is.
    ///
    /// - Parameter durations: ``AgentPrompt/durations``.
    public static func offered(_ durations: [Duration.Kind]) -> [PromptChoice] {
        allCases.filter { $0 == .deny || durations.contains($0.decision.duration.kind) }
    }
}
