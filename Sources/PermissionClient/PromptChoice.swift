// What a person can say to a question, beside Not Now.

public import PermissionModel

/// An answer that decides something; what it is called and where it stands is the agent's affair.
public enum PromptChoice: Sendable, CaseIterable {
    case deny
    /// Allows it for the asking process.
    case once
    /// Allows it until the login session ends.
    case session
    case always

    /// A refusal holds always.
    public var decision: ItemDecision {
        switch self {
        case .deny: ItemDecision(verdict: .deny, duration: .always)
        case .once: ItemDecision(verdict: .grant, duration: .once)
        case .session: ItemDecision(verdict: .grant, duration: .session)
        case .always: ItemDecision(verdict: .grant, duration: .always)
        }
    }

    /// Those the daemon takes; it always takes a refusal.
    public static func offered(_ durations: [Duration.Word]) -> [PromptChoice] {
        allCases.filter { $0 == .deny || durations.contains($0.decision.duration.word) }
    }
}
