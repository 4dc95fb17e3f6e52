// The values that the store takes and returns.

import Glibc
import PermissionCore
import PermissionModel
import System

struct StorePaths: Sendable {
    /// The folder of the database, `$XDG_STATE_HOME/permd`.
    var state: String
    /// The folder of the session's token, `$XDG_RUNTIME_DIR/permd`; nil keeps it in memory.
    var session: String?

    var stateFile: String { state + "/permd.db" }
    var sessionFile: String? { session.map { $0 + "/session" } }

    /// The locations of the XDG Base Directory specification.
    static func standard() -> StorePaths {
        let home = Folders.path("HOME") ?? getpwuid(getuid()).map { String(cString: $0.pointee.pw_dir) } ?? "/"
        let state = Folders.path("XDG_STATE_HOME") ?? home + "/.local/state"
        return StorePaths(state: state + "/permd", session: Folders.path("XDG_RUNTIME_DIR").map { $0 + "/permd" })
    }
}

/// The kernel's ID of this boot.
enum BootID {
    static func current() -> String {
        let text = try? RegularFile.read("/proc/sys/kernel/random/boot_id", maximum: 64)
        return String(decoding: (text ?? []).prefix { $0 > UInt8(ascii: " ") }, as: UTF8.self)
    }
}

/// Whether the store can be read and written. The reasons are sentences without a full stop.
enum StoreState: Sendable, Equatable {
    case writable
    /// Nothing can be written, and possibly nothing read. The next change tries again.
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

    var ofRead: PermissionError { PermissionError(.storeUnavailable, "the store cannot be read: \(reason)") }
    var ofChange: PermissionError { PermissionError(.storeUnavailable, "nothing was changed: \(reason)") }
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

/// What a daemon that starts goes on with, apart from decisions and rule files.
struct StoredState: Sendable {
    var dismissals: [DismissalRecord] = []
    var portalAnswers: [PortalAnswer] = []
}

enum Change: Sendable {
    /// A decision about an app replaces all others for that app and permission; one about a process, only its own.
    case set(Decision)
    /// Removes decisions, with a row of history for each app and permission.
    case reset(DecisionFilter, by: Author, at: EpochSeconds)
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

    /// Which decisions are reset, if any.
    var reset: DecisionFilter? {
        if case .reset(let filter, _, _) = self { filter } else { nil }
    }

    /// Makes the change within a transaction. Returns the decisions that it removed.
    func apply(to database: Database, in scopes: DecisionScopes) throws(DatabaseError) -> [Decision] {
        switch self {
        case .set(let decision): try DecisionRows.set(decision, database)
        case .reset(let filter, let author, let time): return try reset(filter, author, time, scopes, database)
        case .saveDismissals(let record): try DismissalRows.save(record, session: scopes.session, database)
        case .removeDismissals(let app, let question):
            try DismissalRows.remove(app: app, question: question, database)
        case .saveRuleFile(let path, let text): try RuleFileRows.save(path, text, database)
        case .removeRuleFile(let path): try RuleFileRows.remove(path, database)
        case .savePortalAnswer(let answer): try PortalAnswerRows.save(answer, database)
        case .removePortalAnswer(let key): try PortalAnswerRows.remove(key, database)
        }
        return []
    }

    private func reset(
        _ filter: DecisionFilter, _ author: Author, _ time: EpochSeconds, _ scopes: DecisionScopes, _ database: Database
    ) throws(DatabaseError) -> [Decision] {
        // Whether the process of a `once` decision is running is judged elsewhere; its end removes the row.
        let removed = try DecisionRows.delete(filter, database).filter {
            $0.isInForce(at: time, in: scopes) { _ in true }
        }
        var seen: Set<DecisionFilter> = []
        for decision in removed
        where seen.insert(DecisionFilter(app: decision.app, permission: decision.permission)).inserted {
            try HistoryRows.write(HistoryRow(resetOf: decision, by: author, at: time), database)
        }
        return removed
    }
}

extension HistoryRow {
    init(resetOf decision: Decision, by author: Author, at time: EpochSeconds) {
        self.init(
            time: time, request: "", app: decision.app, question: .permission(decision.permission), outcome: .reset,
            by: author)
    }
}
