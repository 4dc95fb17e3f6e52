// What goes into the store and what comes back.

import DBus
public import PermissionCore
public import PermissionModel

/// The folders of the two databases.
public struct StorePaths: Sendable {
    /// What stays, `$XDG_STATE_HOME/permd`.
    public var state: String
    /// What ends with the session, `$XDG_RUNTIME_DIR/permd`; nil keeps it in memory.
    public var session: String?

    public init(state: String, session: String?) {
        self.state = state
        self.session = session
    }

    var stateFile: String { state + "/permd.db" }
    var sessionFile: String { session.map { $0 + "/session.db" } ?? ":memory:" }
}

public enum StoreCondition: Sendable, Equatable {
    case ready
    /// Nothing can be written; the reason is a sentence.
    case unavailable(reason: String)
}

/// A change that was not made.
public struct StoreError: Error, Sendable, CustomStringConvertible {
    public let reason: String
    public var description: String { reason }
    var asPermissionError: PermissionError {
        PermissionError(.storeUnavailable, "nothing was changed, the store cannot be written: \(reason)")
    }
}

public enum Change: Sendable {
    /// App-wide: ends everything else decided for that app and permission. Of a process: replaces only its own.
    case set(Decision)
    /// Forgets decisions; nil means any.
    case remove(app: AppID?, permission: Permission?)
    case endProcess(ProcessKey)
    /// Drops `once` and `session` decisions and what the nag guard knows.
    case endSession
    /// Drops `until` decisions that are over.
    case expire(EpochSeconds)
    case saveNag(NagRecord)
    case removeNag(app: AppID?, permission: Permission?)
    case saveRuleFile(path: String, text: String)
    case removeRuleFile(path: String)
    case saveSessions([String])
    /// What a portal may have stored on our word.
    case savePortalAnswer(PortalAnswer)
    case removePortalAnswer(PortalKey)

    /// Session rows must be on disk before the lasting ones are touched: see StoreWriter.
    var setsSessionDecision: Bool {
        if case .set(let decision) = self { [.once, .session].contains(decision.duration) } else { false }
    }
}

/// An answer that a portal was given and may have stored; of the app that was asked for last.
public struct PortalAnswer: Sendable, Hashable {
    public var key: PortalKey
    public var app: AppID
    public var verdict: Verdict

    public init(key: PortalKey, app: AppID, verdict: Verdict) {
        self.key = key
        self.app = app
        self.verdict = verdict
    }
}

/// Some changes that are made together, with their rows of history.
struct StoreJob: Sendable {
    enum Aim: Sendable {
        /// To be answered after all jobs before.
        case wait
        /// To look whether the files are still there.
        case look
        /// To trim the history.
        case trim
    }

    let changes: [Change]
    let history: [NumberedRow]
    /// Later than that of any job before, however the clock is set.
    let serial: Int64
    /// What it is for when it is empty.
    var aim = Aim.wait
    var isEmpty: Bool { changes.isEmpty && history.isEmpty }
    /// On the loop: the decisions that are gone, of the lasting database, or why nothing was changed.
    let completion: @Sendable @LoopActor (Result<[Decision], DatabaseError>) -> Void
}
