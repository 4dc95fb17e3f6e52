// The values that the store takes and returns.

import DBus
import PermissionCore
import PermissionModel

struct StorePaths: Sendable {
    /// The folder of the database, `$XDG_STATE_HOME/permd`.
    var state: String
    /// The folder of the session's token, `$XDG_RUNTIME_DIR/permd`; nil keeps it in memory.
    var session: String?

    var stateFile: String { state + "/permd.db" }
    var sessionFile: String? { session.map { $0 + "/session" } }
}

/// Whether the store can be read and written. The reasons are sentences without a full stop.
enum StoreState: Sendable, Equatable {
    case writable
    /// Nothing can be written, and possibly nothing read. The next change retries.
    case readOnly(why: String)
    /// Written by a newer permd; left untouched and unread.
    case newer(why: String)
    case closed

    var why: String? {
        switch self {
        case .writable: nil
        case .readOnly(let why), .newer(let why): why
        case .closed: "permd is stopping"
        }
    }
}

struct StoreError: Error, Sendable, CustomStringConvertible {
    let reason: String
    var description: String { reason }
    var asPermissionError: PermissionError { PermissionError(.storeUnavailable, "nothing was changed: \(reason)") }
    var ofReset: PermissionError {
        let effect = "the decisions in memory were revoked, but may hold again after a restart of permd"
        return PermissionError(.storeUnavailable, "\(effect): \(reason)")
    }
}

/// A change of the decision about (app, permission); the verdict is nil after a reset or an end.
struct DecisionChange: Sendable, Hashable {
    var app: AppID
    var permission: Permission
    var verdict: Verdict?
}

enum Change: Sendable {
    /// A decision about an app replaces all others for that app and permission; one about a process, only its own.
    case set(Decision)
    case remove(DecisionFilter)
    case saveDismissals(DismissalRecord)
    case removeDismissals(app: AppID?, question: Question?)
    case saveRuleFile(path: String, text: String)
    case removeRuleFile(path: String)
    /// An answer of permd that a portal may have stored.
    case savePortalAnswer(PortalAnswer)
    case removePortalAnswer(PortalKey)

    /// The decision that is set, if any.
    var decision: Decision? {
        if case .set(let decision) = self { decision } else { nil }
    }
}

/// Obsolete rows. They have no effect, so removing them may fail.
enum Removal: Sendable, Hashable {
    case decisions(DecisionFilter)
    /// `once` decisions of a process that has exited, or those of one app that the process holds for it.
    case process(ProcessKey, AppID?)
    /// Rows that belong to another session or boot than these.
    case otherScopes(DecisionScopes)
}

/// An answer that a portal was given and may have stored, with the app that it was last requested for.
struct PortalAnswer: Sendable, Hashable {
    var key: PortalKey
    var app: AppID
    var verdict: Verdict
}

/// Changes that are made together, with their rows of history.
struct StoreJob: Sendable {
    enum Aim: Sendable {
        /// The job completes after all earlier jobs.
        case wait
        /// The writer checks that the files still exist.
        case look
        /// The writer trims the history.
        case trim
    }

    var removals: [Removal] = []
    var changes: [Change] = []
    var history: [NumberedRow] = []
    /// The session that dismissals belong to.
    var session = ""
    /// The purpose of an empty job.
    var aim = Aim.wait
    var isEmpty: Bool { removals.isEmpty && changes.isEmpty && history.isEmpty }
    /// Called on the loop with the decisions that the changes removed, or the reason why nothing was changed.
    var completion: @Sendable @LoopActor (Result<[Decision], DatabaseError>) -> Void = { _ in }

    /// Makes the changes within a transaction. Returns the decisions that the changes removed.
    func apply(to database: Database) throws(DatabaseError) -> [Decision] {
        for removal in removals {
            switch removal {
            case .decisions(let filter): try DecisionRows.delete(filter, database)
            case .process(let process, let app): try DecisionRows.endProcess(process, of: app, database)
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
        case .remove(let filter): return try DecisionRows.delete(filter, database)
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
