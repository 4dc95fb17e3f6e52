// What goes into the store and what comes back.

import DBus
public import PermissionCore
public import PermissionModel

/// Where the store is kept.
public struct StorePaths: Sendable {
    /// The folder of the database, `$XDG_STATE_HOME/permd`.
    public var state: String
    /// The folder of the session's token, `$XDG_RUNTIME_DIR/permd`; nil keeps it in memory.
    public var session: String?

    public init(state: String, session: String?) {
        self.state = state
        self.session = session
    }

    var stateFile: String { state + "/permd.db" }
    var sessionFile: String? { session.map { $0 + "/session" } }
}

/// Whether the store can be read and written. The reasons are sentences without a full stop.
public enum StoreState: Sendable, Equatable {
    case writable
    /// Nothing can be written, and perhaps nothing read. The next change tries again.
    case readOnly(why: String)
    /// Written by a newer permd: left untouched and unread.
    case newer(why: String)
    /// Contradicts itself, and is being replaced by a new file.
    case damaged(why: String)
    case closed

    var why: String? {
        switch self {
        case .writable: nil
        case .readOnly(let why), .newer(let why), .damaged(let why): why
        case .closed: "permd is stopping"
        }
    }
}

/// A change that was not made.
public struct StoreError: Error, Sendable, CustomStringConvertible {
    public let reason: String
    public var description: String { reason }
    var asPermissionError: PermissionError {
        PermissionError(.storeUnavailable, "nothing was changed, the store cannot be written: \(reason)")
    }
    var ofReset: PermissionError {
        PermissionError(
            .storeUnavailable,
            "what permd knows of was taken back, but may hold again when permd is started again: the store cannot be written: \(reason)"
        )
    }
}

/// What a decision about (app, permission) has become: nil after a reset or an end.
public struct DecisionChange: Sendable, Hashable {
    public var app: AppID
    public var permission: Permission
    public var verdict: Verdict?
}

public enum Change: Sendable {
    /// App-wide: ends everything else decided for that app and permission. Of a process: replaces only its own.
    case set(Decision)
    /// Forgets decisions; nil means any.
    case remove(app: AppID?, permission: Permission?)
    case saveDismissals(DismissalRecord)
    case removeDismissals(app: AppID?, question: Question?)
    case saveRuleFile(path: String, text: String)
    case removeRuleFile(path: String)
    /// What a portal may have stored on our word.
    case savePortalAnswer(PortalAnswer)
    case removePortalAnswer(PortalKey)

    /// Whether it takes the session's token to be known later.
    var isForSession: Bool {
        if case .set(let decision) = self { decision.duration == .session } else { false }
    }
}

/// Rows that say nothing any more. That they are still there changes nothing, so removing them may fail.
enum Removal: Sendable, Hashable {
    case decisions(DecisionFilter)
    /// `once` decisions of a process that has exited.
    case process(ProcessKey)
    /// Whatever belongs to another session or boot than these.
    case otherScopes(DecisionScopes)
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

    var removals: [Removal] = []
    var changes: [Change] = []
    var history: [NumberedRow] = []
    /// The session that dismissals belong to.
    var session = ""
    /// What it is for when it is empty.
    var aim = Aim.wait
    var isEmpty: Bool { removals.isEmpty && changes.isEmpty && history.isEmpty }
    /// On the loop: the decisions that the changes removed, or why nothing was changed.
    var completion: @Sendable @LoopActor (Result<[Decision], DatabaseError>) -> Void = { _ in }

    /// Within a transaction; the decisions that the changes removed.
    func apply(to database: Database) throws(DatabaseError) -> [Decision] {
        for removal in removals {
            switch removal {
            case .decisions(let filter): try DecisionRows.delete(filter, database)
            case .process(let process): try DecisionRows.endProcess(process, database)
            case .otherScopes(let current):
                try DecisionRows.endScopes(current, database)
                try database.run("DELETE FROM dismissal WHERE session != ?", [.text(current.session)])
            }
        }
        var removed: [Decision] = []
        for change in changes { removed += try apply(change, database) }
        for row in history { try HistoryRows.write(row, database) }
        return removed
    }

    private func apply(_ change: Change, _ database: Database) throws(DatabaseError) -> [Decision] {
        switch change {
        case .set(let decision): try DecisionRows.set(decision, database)
        case .remove(let app, let permission):
            return try DecisionRows.delete(DecisionFilter(app: app, permission: permission), database)
        case .saveDismissals(let record): try DismissalRows.save(record, session: session, database)
        case .removeDismissals(let app, let question):
            try DismissalRows.remove(app: app, question: question, database)
        case .saveRuleFile(let path, let text):
            try database.run("INSERT OR REPLACE INTO rule_file VALUES (?, ?)", [.text(path), .text(text)])
        case .removeRuleFile(let path): try database.run("DELETE FROM rule_file WHERE path = ?", [.text(path)])
        case .savePortalAnswer(let answer):
            try database.run(
                "INSERT OR REPLACE INTO portal_answer VALUES (?, ?, ?, ?)",
                [
                    .text(answer.key.appID), .text(answer.key.question.name), .text(answer.app.description),
                    .text(answer.verdict.rawValue),
                ])
        case .removePortalAnswer(let key):
            try database.run(
                "DELETE FROM portal_answer WHERE portal_app = ? AND permission = ?",
                [.text(key.appID), .text(key.question.name)])
        }
        return []
    }
}
