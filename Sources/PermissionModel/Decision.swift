// What a person or an administrator settled for (app, permission), and how long it holds.

/// Seconds since the epoch, as D-Bus carries times of day in this contract.
public typealias EpochSeconds = Int64

public enum Verdict: String, Sendable, Hashable {
    case grant, deny
}

/// How long a decision holds.
public enum Duration: Sendable, Hashable {
    /// For the asking process, until it has exited.
    case once
    /// Until the user's last login session ends.
    case session
    /// Until a time of day. The decision has ended at that second.
    case until(EpochSeconds)
    case always

    public enum Word: String, Sendable, CaseIterable {
        case once, session, until, always
    }

    public var word: Word {
        switch self {
        case .once: .once
        case .session: .session
        case .until: .until
        case .always: .always
        }
    }

    public var end: EpochSeconds? {
        if case .until(let end) = self { end } else { nil }
    }
}

/// Who settled something, as `by` names it in the contract's rows. `nobody` is the empty text.
public enum Author: String, Sendable, Hashable {
    case person, permctl, administrator, timeout, `guard`
    case nobody = ""
}

/// A decision about (app, permission). With `process` it counts for that process alone (`once`).
public struct Decision: Sendable, Hashable {
    public var app: AppID
    public var permission: Permission
    public var verdict: Verdict
    public var duration: Duration
    public var decided: EpochSeconds
    public var by: Author
    /// The asking process of a `once` decision, nil for all others.
    public var process: ProcessKey?
    /// The session a `session` decision was made in, the boot a `once` decision was made in; nil for all others.
    public var scope: String?

    public init(
        app: AppID, permission: Permission, verdict: Verdict, duration: Duration, decided: EpochSeconds, by: Author,
        process: ProcessKey? = nil, scope: String? = nil
    ) {
        self.app = app
        self.permission = permission
        self.verdict = verdict
        self.duration = duration
        self.decided = decided
        self.by = by
        self.process = process
        self.scope = scope
    }
}

/// The pause after dismissals: further requests are dismissed unseen until then.
public struct Pause: Sendable, Hashable {
    public var app: AppID
    public var question: Question
    public var until: EpochSeconds
    /// When the guard stepped in.
    public var since: EpochSeconds

    public init(app: AppID, question: Question, until: EpochSeconds, since: EpochSeconds) {
        self.app = app
        self.question = question
        self.until = until
        self.since = since
    }
}

/// What came of a request for one question, as the history names it.
public enum Outcome: String, Sendable, Hashable, CaseIterable {
    case granted, denied, dismissed, restricted, unavailable, withdrawn, failed, reset
    /// A word of a newer daemon; none of its own has this one.
    case unknown
}

/// One row of the history.
public struct HistoryRow: Sendable, Hashable {
    public var time: EpochSeconds
    /// The request's object path, or empty when no request led to it.
    public var request: String
    public var app: AppID
    public var question: Question
    public var outcome: Outcome
    public var by: Author
    /// How often it happened within a minute; time and request are those of the first.
    public var count: UInt32

    public init(
        time: EpochSeconds, request: String, app: AppID, question: Question, outcome: Outcome, by: Author,
        count: UInt32 = 1
    ) {
        self.time = time
        self.request = request
        self.app = app
        self.question = question
        self.outcome = outcome
        self.by = by
        self.count = count
    }
}
