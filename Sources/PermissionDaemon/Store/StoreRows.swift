// The tables beside decisions and history: dismissals, rule files, answers to portals. An invalid row is left out.

import PermissionCore
import PermissionModel

/// How often each app's prompts were dismissed in a row, and until when they are paused.
enum DismissalRows {
    static func all(session: String, _ database: Database) throws(DatabaseError) -> [DismissalRecord] {
        try database.rows(
            "SELECT app, permission, count, paused_until, since FROM dismissal WHERE session = ?", [.text(session)]
        ) { row in
            guard let app = AppID(row.text(0)), let item = PromptItem(name: row.text(1)) else { return nil }
            return DismissalRecord(
                app: app, item: item, count: max(0, min(Int(row.integer(2)), Configuration.maximumNagLimit)),
                pausedUntil: row.optionalInteger(3),
                since: row.integer(4))
        }
    }

    static func save(_ record: DismissalRecord, session: String, _ database: Database) throws(DatabaseError) {
        if record.isEmpty { return try delete(DecisionFilter(app: record.app, item: record.item), database) }
        try database.run(
            "INSERT OR REPLACE INTO dismissal VALUES (?, ?, ?, ?, ?, ?)",
            [
                .text(record.app.description), .text(record.item.name), .text(session),
                .integer(Int64(record.count)), .optional(record.pausedUntil), .integer(record.since),
            ])
    }

    static func endOthers(than session: String, _ database: Database) throws(DatabaseError) {
        try database.run("DELETE FROM dismissal WHERE session != ?", [.text(session)])
    }

    static func delete(_ filter: DecisionFilter, _ database: Database) throws(DatabaseError) {
        try database.run("DELETE FROM dismissal" + filter.condition.sql, filter.condition.values)
    }
}

/// The last valid texts of files of rules and of the configuration.
enum RuleFileRows {
    static func all(_ database: Database) throws(DatabaseError) -> [(path: String, text: String)] {
        try database.rows("SELECT path, text FROM rule_file") { ($0.text(0), $0.text(1)) }
    }

    static func replaceAll(_ texts: [ExactText: ExactText], _ database: Database) throws(DatabaseError) {
        try database.run("DELETE FROM rule_file")
        for (path, text) in texts {
            try database.run("INSERT INTO rule_file VALUES (?, ?)", [.text(path.text), .text(text.text)])
        }
    }
}

/// Answers of permd that portals may have stored.
enum PortalVerdictRows {
    static func all(_ database: Database) throws(DatabaseError) -> [PortalVerdict] {
        try database.rows("SELECT portal_app, permission, app, verdict FROM portal_answer") { row in
            guard let item = PromptItem(name: row.text(1)), let app = AppID(row.text(2)),
                let verdict = Verdict(rawValue: row.text(3))
            else { return nil }
            return PortalVerdict(key: PortalKey(appID: row.text(0), item: item), app: app, verdict: verdict)
        }
    }

    static func save(_ answer: PortalVerdict, _ database: Database) throws(DatabaseError) {
        try database.run(
            "INSERT OR REPLACE INTO portal_answer VALUES (?, ?, ?, ?)",
            [
                .text(answer.key.appID), .text(answer.key.item.name), .text(answer.app.description),
                .text(answer.verdict.rawValue),
            ])
    }

    static func remove(_ key: PortalKey, _ database: Database) throws(DatabaseError) {
        try database.run(
            "DELETE FROM portal_answer WHERE portal_app = ? AND permission = ?",
            [.text(key.appID), .text(key.item.name)])
    }
}

extension RowPage {
    /// The values of `LIMIT ? OFFSET ?`.
    var values: [SQLValue] { [.integer(Int64(limit)), .integer(Int64(offset))] }
}

extension DecisionFilter {
    var condition: RowCondition { RowCondition(app: app, item: item) }
}

struct RowCondition {
    private(set) var sql = ""
    private(set) var values: [SQLValue] = []

    init(app: AppID? = nil, item: PromptItem? = nil) {
        if let app { add("app = ?", .text(app.description)) }
        if let item { add("permission = ?", .text(item.name)) }
    }

    mutating func add(_ term: String, _ value: SQLValue) { add(term, [value]) }

    mutating func add(_ term: String, _ values: [SQLValue]) {
        sql += (sql.isEmpty ? " WHERE " : " AND ") + term
        self.values += values
    }
}
