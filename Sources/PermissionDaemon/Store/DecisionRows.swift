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

enum DecisionRows {
    static let columns = "app, permission, verdict, lifetime, until, decided, by, scope, pid, start, checksum"

    /// Decodes a row of `columns`. Returns nil if it is not a valid decision or its checksum does not match.
    static func decision(_ row: Statement) -> Decision? {
        let pid = row.integer(8)
        let checked: [SQLValue] =
            (0...3).map { .text(row.text($0)) } + [
                .optional(row.optionalInteger(4)), .integer(row.integer(5)), .text(row.text(6)),
                row.optionalText(7).map { .text($0) } ?? .null, pid == 0 ? .null : .integer(pid),
                pid == 0 ? .null : .integer(row.integer(9)),
            ]
        guard case .integer(row.optionalInteger(10)) = RowChecksum.of(checked), let app = AppID(row.text(0)),
            let permission = Permission(rawValue: row.text(1)), let verdict = Verdict(rawValue: row.text(2)),
            let by = Author(rawValue: row.text(6))
        else { return nil }
        let process = ProcessKey(
            pid: Int32(truncatingIfNeeded: pid), startTime: UInt64(bitPattern: row.integer(9)))
        let duration: Duration
        switch (Duration.Word(rawValue: row.text(3)), row.optionalInteger(4), row.optionalText(7), pid) {
        case (.always, nil, nil, 0): duration = .always
        case (.until, let end?, nil, 0): duration = .until(end)
        case (.session, nil, .some, 0): duration = .session
        case (.once, nil, .some, 1...): duration = .once
        default: return nil
        }
        return Decision(
            app: app, permission: permission, verdict: verdict, duration: duration, decided: row.integer(5), by: by,
            process: pid == 0 ? nil : process, scope: row.optionalText(7))
    }

    /// A decision about an app also replaces those about its processes; one about a process replaces only its own.
    static func set(_ decision: Decision, _ database: Database) throws(DatabaseError) {
        if decision.process == nil {
            try delete(DecisionFilter(app: decision.app, permission: decision.permission), database)
        }
        try insert(decision, into: "decision", database)
    }

    static func insert(_ decision: Decision, into table: String, _ database: Database) throws(DatabaseError) {
        let until = SQLValue.optional(decision.duration.end)
        let scope = decision.scope.map { SQLValue.text($0) } ?? .null
        let process: [SQLValue] =
            decision.process.map { [.integer(Int64($0.pid)), .integer(Int64(bitPattern: $0.startTime))] }
            ?? [.null, .null]
        let values: [SQLValue] = [
            .text(decision.app.description), .text(decision.permission.rawValue), .text(decision.verdict.rawValue),
            .text(decision.duration.word.rawValue), until, .integer(decision.decided), .text(decision.by.rawValue),
            scope,
        ]
        try database.run(
            """
            INSERT OR REPLACE INTO \(table) (\(columns))
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ifnull(?, 0), ifnull(?, 0), ?)
            """, values + process + [RowChecksum.of(values + process)])
    }

    /// Deletes the matching decisions and returns them.
    @discardableResult
    static func delete(_ filter: DecisionFilter, _ database: Database) throws(DatabaseError) -> [Decision] {
        let condition = filter.condition
        var removed: [Decision] = []
        try database.run("DELETE FROM decision\(condition.sql) RETURNING \(columns)", condition.values) { row in
            if let decision = decision(row) { removed.append(decision) }
        }
        return removed
    }

    static func endProcess(_ process: ProcessKey, _ database: Database) throws(DatabaseError) {
        try database.run(
            "DELETE FROM decision WHERE scope IS NOT NULL AND pid = ? AND start = ?",
            [.integer(Int64(process.pid)), .integer(Int64(bitPattern: process.startTime))])
    }

    /// Removes the rows of earlier sessions and boots, except those with a wrong checksum: their content is unknown.
    static func endScopes(_ current: DecisionScopes, _ database: Database) throws(DatabaseError) {
        var over: [Decision] = []
        try database.run(
            "SELECT \(columns) FROM decision WHERE scope IS NOT NULL AND scope NOT IN (?, ?)",
            [.text(current.session), .text(current.boot)]
        ) { row in if let decision = decision(row) { over.append(decision) } }
        for decision in over {
            try database.run(
                "DELETE FROM decision WHERE app = ? AND permission = ? AND pid = ? AND start = ? AND scope = ?",
                [
                    .text(decision.app.description), .text(decision.permission.rawValue),
                    .integer(Int64(decision.process?.pid ?? 0)),
                    .integer(Int64(bitPattern: decision.process?.startTime ?? 0)), .text(decision.scope ?? ""),
                ])
        }
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
