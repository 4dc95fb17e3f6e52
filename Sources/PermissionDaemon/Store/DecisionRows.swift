// The table of decisions. A row is one decision about an app or one of its processes.

import PermissionCore
import PermissionModel

enum DecisionRows {
    private static let columns = "app, permission, verdict, lifetime, until, decided, by, scope, pid, start, checksum"

    /// The decisions in the file, without those that cannot be decoded.
    static func all(_ database: Database) throws(DatabaseError) -> [Decision] {
        try database.rows("SELECT \(columns) FROM decision", [], decision)
    }

    /// Decodes a row of `columns`. Returns nil if it is not a valid decision or its checksum does not match.
    private static func decision(_ row: Statement) -> Decision? {
        let process = ProcessKey(row, at: 8)
        guard RowChecksum.of(row, columns: process == nil ? 8 : 10) == row.optionalInteger(10),
            let app = AppID(row.text(0)), let permission = Permission(rawValue: row.text(1)),
            let verdict = Verdict(rawValue: row.text(2)), let by = Author(rawValue: row.text(6))
        else { return nil }
        let scope = row.optionalText(7)
        let duration: Duration
        switch (Duration.Kind(rawValue: row.text(3)), row.optionalInteger(4), scope, row.integer(8)) {
        case (.always, nil, nil, 0): duration = .always
        case (.until, let end?, nil, 0): duration = .until(end)
        case (.session, nil, .some, 0): duration = .session
        case (.once, nil, .some, 1...): duration = .once
        default: return nil
        }
        return Decision(
            app: app, permission: permission, verdict: verdict, duration: duration, decided: row.integer(5), by: by,
            process: process, scope: scope)
    }

    /// The values of a row in the order of `columns`.
    private static func values(_ decision: Decision) -> [SQLValue] {
        let values: [SQLValue] = [
            .text(decision.app.description), .text(decision.permission.rawValue), .text(decision.verdict.rawValue),
            .text(decision.duration.kind.rawValue), .optional(decision.duration.end), .integer(decision.decided),
            .text(decision.by.rawValue), .optional(decision.scope),
        ]
        let process = ProcessKey.columns(decision.process)
        let checked = decision.process == nil ? values : values + process
        return values + process + [.integer(RowChecksum.of(checked))]
    }

    /// A decision about an app also replaces those about its processes; one about a process replaces only its own. The
    /// app's pause ends.
    static func set(_ decision: Decision, _ database: Database) throws(DatabaseError) {
        let filter = DecisionFilter(app: decision.app, item: .permission(decision.permission))
        if decision.process == nil { try delete(filter, database) }
        try DismissalRows.delete(filter, database)
        try database.run(
            "INSERT OR REPLACE INTO decision (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values(decision))
    }

    /// Deletes the matching decisions.
    static func delete(_ filter: DecisionFilter, _ database: Database) throws(DatabaseError) {
        let condition = filter.condition
        try database.run("DELETE FROM decision\(condition.sql)", condition.values)
    }

    /// Deletes decisions and pauses, and writes a row of history for each app and permission of which one was in force.
    /// Returns the number of these rows.
    static func reset(
        _ filter: DecisionFilter, by author: Author, at time: EpochSeconds, in scopes: DecisionScopes,
        _ database: Database
    ) throws(DatabaseError) -> Int {
        try DismissalRows.delete(filter, database)
        let condition = filter.condition
        let removed = try database.rows(
            "DELETE FROM decision\(condition.sql) RETURNING \(columns)", condition.values, decision)
        // Whether the process of a `once` decision is running is judged elsewhere; its end removes the row.
        let inForce = removed.filter { $0.isInForce(at: time, uptime: 0, in: scopes) { _ in true } }
        let rows = Set(inForce.map { HistoryRow(resetOf: $0.app, $0.permission, by: author, at: time) })
        for row in rows { try HistoryRows.write(row, database) }
        return rows.count
    }

    /// Deletes the row of exactly this decision, if it is still there.
    static func delete(_ decision: Decision, _ database: Database) throws(DatabaseError) {
        let row = values(decision)
        try database.run(
            "DELETE FROM decision WHERE app = ? AND permission = ? AND pid = ? AND start = ? AND checksum = ?",
            [row[0], row[1], row[8], row[9], row[10]])
    }
}

extension HistoryRow {
    init(resetOf app: AppID, _ permission: Permission, by author: Author, at time: EpochSeconds) {
        self.init(
            time: time, request: "", app: app, item: .permission(permission), outcome: .reset, by: author)
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
