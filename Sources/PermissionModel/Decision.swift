// Decisions, pauses and rows of the history.

/// A wall-clock time in seconds since the Unix epoch. On the bus it is a `t` (UINT64).
public typealias EpochSeconds = Int64

/// What a decision says.
public enum Verdict: String, Sendable, Hashable {
    case grant, deny
}

/// How long a decision is in force.
public enum Duration: Sendable, Hashable {
    /// For the requesting process only, until it exits; for a sandboxed app, for the running instance of its sandbox.
    case once
    /// Until the user's last login session ends.
    case session
    /// Until a time, at which it is no longer in force.
    case until(EpochSeconds)
    /// Until it is changed or reset.
    case always

    /// The value of the key `duration` on the bus.
    public enum Kind: String, Sendable, CaseIterable {
        case once, session, until, always
    }

    /// The duration that the keys `duration` and `until` give. Returns nil for ``until(_:)`` without a time, and ignores
    /// the time for the other durations.
    public init?(_ kind: Kind, until end: EpochSeconds?) {
        switch (kind, end) {
        case (.once, _): self = .once
        case (.session, _): self = .session
        case (.until, let end?): self = .until(end)
        case (.until, nil): return nil
        case (.always, _): self = .always
        }
    }

    /// The value of the key `duration` on the bus.
    public var kind: Kind {
        switch self {
        case .once: .once
        case .session: .session
        case .until: .until
        case .always: .always
        }
    }

    /// The time of ``until(_:)``; nil for the other durations.
    public var end: EpochSeconds? {
        if case .until(let end) = self { end } else { nil }
    }
}

/// Who caused an outcome: the value of the key `by` in the rows of org.permd.Policy1.
public enum Author: String, Sendable, Hashable {
    /// The user, in a prompt or through the permission store of the portals.
    case person
    /// A settings program, such as permctl.
    case permctl
    /// A rule of the administrator.
    case administrator
    /// The end of the time in which a prompt has to be answered.
    case timeout
    /// The dismissal throttle.
    case throttle
    /// The end of the time for which a grant may stay unused.
    case unused
    /// None of these, for example for a withdrawn request.
    case nobody = ""
}

/// A decision about one permission of one app.
package struct Decision: Sendable, Hashable {
    /// The app.
    package var app: AppID
    /// The permission.
    package var permission: Permission
    /// What was decided.
    package var verdict: Verdict
    /// How long it is in force.
    package var duration: Duration
    /// When it was made.
    package var decided: EpochSeconds
    /// Who made it.
    package var by: Author
    /// The requesting process of a `once` decision; nil for the others.
    package var process: ProcessKey?
    /// The token of the session of a `session` decision, or the boot ID of a `once` decision; nil for the others.
    package var scope: String?
    /// When an `until` decision ends at the latest, in milliseconds since boot: the wall clock may be set back. Nil where it
    /// is not in force here, as in the file.
    package var deadline: Int64?

    /// Creates a decision.
    package init(
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

/// A pause of the dismissal throttle: requests are dismissed without a prompt.
package struct Pause: Sendable, Hashable {
    /// The app whose requests are dismissed.
    package var app: AppID
    /// The question for which they are dismissed.
    package var item: PromptItem
    /// When the pause ends.
    package var until: EpochSeconds
    /// When the pause began.
    package var since: EpochSeconds

    /// Creates a pause.
    package init(app: AppID, item: PromptItem, until: EpochSeconds, since: EpochSeconds) {
        self.app = app
        self.item = item
        self.until = until
        self.since = since
    }
}

/// What happened: how one question of a request ended, or that an app used a device. The value of the key `outcome` in
/// the history.
public enum Outcome: String, Sendable, Hashable, CaseIterable {
    case granted, denied, dismissed, restricted, unavailable, withdrawn, failed, reset
    /// The app used a device, with or without a grant.
    case used
    /// The app got at a device past an enforcement point, which cut it off.
    case bypassed
    /// The permission was switched off or on for every app.
    case off, on
    /// A value that this version does not know, from a newer daemon.
    case unknown
}

/// A row of the history, org.permd.Policy1.ListHistory.
public struct HistoryRow: Sendable, Hashable {
    /// When it happened; for ``Outcome/used``, when the use ended.
    public var time: EpochSeconds
    /// The request's object path; empty if there was no request.
    public var request: String
    /// The app; nil for ``Outcome/off`` and ``Outcome/on``.
    public var app: AppID?
    /// The question.
    public var item: PromptItem
    /// How it ended.
    public var outcome: Outcome
    /// Who caused the outcome.
    public var by: Author
    /// How often it happened within a minute. The time and the request are those of the first time.
    public var count: UInt32
    /// How long the device was used, if the outcome is ``Outcome/used``: the sum if there were several uses.
    public var seconds: UInt32?
    /// The status of the permission when a use began, or when an enforcement point was bypassed; nil for other outcomes.
    public var status: Status?

    /// Creates a row.
    public init(
        time: EpochSeconds, request: String, app: AppID?, item: PromptItem, outcome: Outcome, by: Author,
        count: UInt32 = 1, seconds: UInt32? = nil, status: Status? = nil
    ) {
        self.time = time
        self.request = request
        self.app = app
        self.item = item
        self.outcome = outcome
        self.by = by
        self.count = count
        self.seconds = seconds
        self.status = status
    }
}
