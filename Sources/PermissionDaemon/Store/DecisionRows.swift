// The table of decisions. A row is one decision about an app or one of its processes.

import PermissionCore
import PermissionModel

/// Selects decisions by app and permission, where nil matches all; with `until`, only those that end at that second.
struct DecisionFilter: Sendable, Hashable {
    var app: AppID?
    var permission: Permission?
    var until: EpochSeconds?

    var condition: RowCondition {
        var condition = RowCondition(app: app, question: permission.map(Question.permission))
        if let until { condition.add("until = ?", .integer(until)) }
        return condition
    }

    func matches(_ decision: Decision) -> Bool {
        (app == nil || app == decision.app) && (permission == nil || permission == decision.permission)
            && (until == nil || until == decision.duration.end)
    }
}

extension DecisionFilter {
    /// Nil for a question of portals, about which there are no decisions.
    init?(app: AppID?, question: Question?) {
        if case .portal = question { return nil }
        self.init(app: app, permission: question?.permission)
    }
}

enum DecisionRows {
    static let columns = "app, permission, verdict, lifetime, until, decided, by, scope, pid, start, checksum"

    /// Decodes a row of `columns`. Returns nil if it is not a valid decision or its checksum does not match.
    static func decision(_ row: Statement) -> Decision? {
        let process = ProcessKey(row, at: 8)
        let checked = (0..<(process == nil ? 8 : 10)).map { row.value($0) }
        guard RowChecksum.of(checked) == row.value(10), let app = AppID(row.text(0)),
            let permission = Permission(rawValue: row.text(1)), let verdict = Verdict(rawValue: row.text(2)),
            let by = Author(rawValue: row.text(6))
        else { return nil }
        let duration: Duration
        switch (Duration.Word(rawValue: row.text(3)), row.optionalInteger(4), row.optionalText(7), row.integer(8)) {
        case (.always, nil, nil, 0): duration = .always
        case (.until, let end?, nil, 0): duration = .until(end)
        case (.session, nil, .some, 0): duration = .session
        case (.once, nil, .some, 1...): duration = .once
        default: return nil
        }
        return Decision(
            app: app, permission: permission, verdict: verdict, duration: duration, decided: row.integer(5), by: by,
            process: process, scope: row.optionalText(7))
    }

    /// A decision about an app also replaces those about its processes; one about a process replaces only its own.
    static func set(_ decision: Decision, _ database: Database) throws(DatabaseError) {
        if decision.process == nil {
            try delete(DecisionFilter(app: decision.app, permission: decision.permission), database)
        }
        try insert(decision, into: "decision", database)
    }

    static func insert(_ decision: Decision, into table: String, _ database: Database) throws(DatabaseError) {
        let values: [SQLValue] = [
            .text(decision.app.description), .text(decision.permission.rawValue), .text(decision.verdict.rawValue),
            .text(decision.duration.word.rawValue), .optional(decision.duration.end), .integer(decision.decided),
            .text(decision.by.rawValue), .optional(decision.scope),
        ]
        let process = ProcessKey.columns(decision.process)
        let checked = decision.process == nil ? values : values + process
        try database.run(
            "INSERT OR REPLACE INTO \(table) (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            values + process + [RowChecksum.of(checked)])
    }

    /// Deletes the matching decisions and returns them.
    @discardableResult
    static func delete(_ filter: DecisionFilter, _ database: Database) throws(DatabaseError) -> [Decision] {
        let condition = filter.condition
        return try database.rows(
            "DELETE FROM decision\(condition.sql) RETURNING \(columns)", condition.values, decision)
    }

    static func endProcess(_ process: ProcessKey, of app: AppID?, _ database: Database) throws(DatabaseError) {
        var condition = RowCondition(app: app)
        for (column, value) in zip(["pid", "start"], ProcessKey.columns(process)) {
            condition.add("\(column) = ?", value)
        }
        try database.run("DELETE FROM decision\(condition.sql) AND scope IS NOT NULL", condition.values)
    }

    /// Removes the rows of earlier sessions and boots, except those with a wrong checksum: their content is unknown.
    static func endScopes(_ current: DecisionScopes, _ database: Database) throws(DatabaseError) {
        let over = try database.rows(
            "SELECT \(columns) FROM decision WHERE scope IS NOT NULL AND scope NOT IN (?, ?)",
            [.text(current.session), .text(current.boot)], decision)
        for decision in over {
            try database.run(
                "DELETE FROM decision WHERE app = ? AND permission = ? AND pid = ? AND start = ? AND scope = ?",
                [.text(decision.app.description), .text(decision.permission.rawValue)]
                    + ProcessKey.columns(decision.process) + [.optional(decision.scope)])
        }
    }
}

extension ProcessKey {
    /// Reads the columns `pid` and `start`, of which `pid` is 0 in a decision about an app.
    init?(_ row: Statement, at column: Int32) {
        guard row.integer(column) != 0 else { return nil }
        self.init(
            pid: Int32(truncatingIfNeeded: row.integer(column)),
            startTime: UInt64(bitPattern: row.integer(column + 1)))
    }

    /// The values of these columns.
    static func columns(_ process: ProcessKey?) -> [SQLValue] {
        [.integer(Int64(process?.pid ?? 0)), .integer(Int64(bitPattern: process?.startTime ?? 0))]
    }
}

/// How often each app's prompts were dismissed in a row, and until when they are paused.
enum DismissalRows {
    static func save(_ record: DismissalRecord, session: String, _ database: Database) throws(DatabaseError) {
        if record.isEmpty { return try remove(app: record.app, question: record.question, database) }
        try database.run(
            "INSERT OR REPLACE INTO dismissal VALUES (?, ?, ?, ?, ?, ?)",
            [
                .text(record.app.description), .text(record.question.name), .text(session),
                .integer(Int64(record.count)), .optional(record.pausedUntil), .integer(record.since),
            ])
    }

    static func remove(app: AppID?, question: Question?, _ database: Database) throws(DatabaseError) {
        let condition = RowCondition(app: app, question: question)
        try database.run("DELETE FROM dismissal" + condition.sql, condition.values)
    }
}
