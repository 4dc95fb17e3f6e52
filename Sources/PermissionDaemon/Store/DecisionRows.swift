// The table of decisions. A row is one decision about an app or one of its processes.

import PermissionCore
import PermissionModel

/// Selects decisions and pauses by app and question, where nil matches all. About a portal's question there are only
/// pauses.
struct DecisionFilter: Sendable, Hashable {
    var app: AppID?
    var question: Question?

    var condition: RowCondition { RowCondition(app: app, question: question) }

    func matches(_ decision: Decision) -> Bool {
        (app == nil || app == decision.app) && (question == nil || question == .permission(decision.permission))
    }
}

/// Decisions that are over: their rows have no effect, so removing them may fail.
enum EndedDecisions: Sendable {
    case until(EpochSeconds)
    /// `once` decisions of a process that has exited, or those of one app that the process held for it.
    case process(ProcessKey, of: AppID?, boot: String)
    /// Those that belong to another session or boot than these.
    case otherScopes(DecisionScopes)

    fileprivate var condition: RowCondition {
        var condition = RowCondition()
        switch self {
        case .until(let time): condition.add("until <= ?", .integer(time))
        case .process(let process, let app, let boot):
            condition = RowCondition(app: app)
            condition.add("scope = ? AND pid = ? AND start = ?", [.text(boot)] + ProcessKey.columns(process))
        case .otherScopes(let scopes):
            condition.add("scope NOT IN (?, ?)", [.text(scopes.session), .text(scopes.boot)])
        }
        return condition
    }

    func contains(_ decision: Decision) -> Bool {
        switch self {
        case .until(let time): (decision.duration.end ?? .max) <= time
        case .process(let process, let app, _): decision.process == process && (app == nil || app == decision.app)
        case .otherScopes(let scopes): decision.scope.map { ![scopes.session, scopes.boot].contains($0) } ?? false
        }
    }
}

enum DecisionRows {
    private static let columns = "app, permission, verdict, lifetime, until, decided, by, scope, pid, start, checksum"

    /// Decodes a row of `columns`. Returns nil if it is not a valid decision or its checksum does not match.
    private static func decision(_ row: Statement) -> Decision? {
        let process = ProcessKey(row, at: 8)
        let checked = (0..<(process == nil ? 8 : 10)).map { row.value($0) }
        guard RowChecksum.of(checked) == row.value(10), let app = AppID(row.text(0)),
            let permission = Permission(rawValue: row.text(1)), let verdict = Verdict(rawValue: row.text(2)),
            let by = Author(rawValue: row.text(6))
        else { return nil }
        let duration: Duration
        switch (Duration.Kind(rawValue: row.text(3)), row.optionalInteger(4), row.optionalText(7), row.integer(8)) {
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

    static func select(_ condition: RowCondition, _ database: Database) throws(DatabaseError) -> [Decision] {
        try database.rows("SELECT \(columns) FROM decision\(condition.sql)", condition.values, decision)
    }

    /// Reads all rows, to notice those that cannot be decoded.
    static func check(_ database: Database) throws(DatabaseError) {
        _ = try database.rows("SELECT \(columns) FROM decision") { row in decision(row).map { _ in } }
    }

    /// Rows that are sorted together with those of the table, in a table that only this connection has.
    private static func setOthers(_ rows: some Sequence<OtherRow>, _ database: Database) throws(DatabaseError) {
        try database.run("CREATE TEMP TABLE IF NOT EXISTS other (app, permission, place INTEGER PRIMARY KEY)")
        try database.run("DELETE FROM other")
        for (place, row) in rows.enumerated() {
            try database.run(
                "INSERT INTO other VALUES (?, ?, ?)",
                [.text(row.app.description), .optional(row.question?.name), .integer(Int64(place))])
        }
    }

    /// The rows of a page, without those that cannot be decoded. Decisions are in front of others of the same app and
    /// permission.
    static func page(
        _ page: RowPage, of condition: RowCondition, and others: [OtherRow], _ database: Database
    ) throws(DatabaseError) -> [ListedRow] {
        try setOthers(others, database)
        return try database.rows(
            """
            SELECT \(columns), NULL AS place FROM decision\(condition.sql)
            UNION ALL SELECT app, permission, 0, 0, 0, 0, 0, 0, \(Int64.max), 0, 0, place FROM other
            ORDER BY app, permission, pid, start LIMIT ? OFFSET ?
            """, condition.values + page.values
        ) { row in
            row.optionalInteger(11).map { .other(Int($0)) } ?? decision(row).map(ListedRow.decision)
        }
    }

    /// The apps of a page that have such decisions or are among others.
    static func apps(
        _ page: RowPage, of condition: RowCondition, and others: Set<AppID>, _ database: Database
    ) throws(DatabaseError) -> [AppID] {
        try setOthers(others.lazy.map { OtherRow(app: $0) }, database)
        return try database.rows(
            """
            SELECT app FROM decision\(condition.sql) UNION SELECT app FROM other ORDER BY app LIMIT ? OFFSET ?
            """, condition.values + page.values
        ) { AppID($0.text(0)) }
    }

    /// The decisions about an app, in force or not.
    static func all(of app: AppID, _ database: Database) throws(DatabaseError) -> [Decision] {
        try select(RowCondition(app: app), database)
    }

    /// A decision about an app also replaces those about its processes; one about a process replaces only its own. The
    /// app's pause ends.
    static func set(_ decision: Decision, _ database: Database) throws(DatabaseError) {
        let filter = DecisionFilter(app: decision.app, question: .permission(decision.permission))
        if decision.process == nil { try delete(filter, database) }
        try DismissalRows.delete(filter, database)
        let values: [SQLValue] = [
            .text(decision.app.description), .text(decision.permission.rawValue), .text(decision.verdict.rawValue),
            .text(decision.duration.kind.rawValue), .optional(decision.duration.end), .integer(decision.decided),
            .text(decision.by.rawValue), .optional(decision.scope),
        ]
        let process = ProcessKey.columns(decision.process)
        let checked = decision.process == nil ? values : values + process
        try database.run(
            "INSERT OR REPLACE INTO decision (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            values + process + [RowChecksum.of(checked)])
    }

    /// Deletes the matching decisions and returns them.
    @discardableResult
    static func delete(_ filter: DecisionFilter, _ database: Database) throws(DatabaseError) -> [Decision] {
        let condition = filter.condition
        return try database.rows(
            "DELETE FROM decision\(condition.sql) RETURNING \(columns)", condition.values, decision)
    }

    /// Deletes decisions and pauses, and writes a row of history for each app and permission. Returns the decisions that
    /// were in force.
    static func reset(
        _ filter: DecisionFilter, by author: Author, at time: EpochSeconds, in scopes: DecisionScopes,
        _ database: Database
    ) throws(DatabaseError) -> [Decision] {
        try DismissalRows.delete(filter, database)
        // Whether the process of a `once` decision is running is judged elsewhere; its end removes the row.
        let removed = try delete(filter, database).filter { $0.isInForce(at: time, in: scopes) { _ in true } }
        for row in Set(removed.map { HistoryRow(resetOf: $0, by: author, at: time) }) {
            try HistoryRows.write(row, database)
        }
        return removed
    }

    /// Deletes the rows of ended decisions and returns them. Rows with a wrong checksum stay: their content is unknown.
    static func delete(_ ended: EndedDecisions, _ database: Database) throws(DatabaseError) -> [Decision] {
        if case .otherScopes(let scopes) = ended { try DismissalRows.endOthers(than: scopes.session, database) }
        let over = try select(ended.condition, database).filter(ended.contains)
        for decision in over {
            try database.run(
                "DELETE FROM decision WHERE app = ? AND permission = ? AND pid = ? AND start = ?",
                [.text(decision.app.description), .text(decision.permission.rawValue)]
                    + ProcessKey.columns(decision.process))
        }
        return over
    }

    static func firstEnd(after time: EpochSeconds, _ database: Database) throws(DatabaseError) -> EpochSeconds? {
        try database.integer("SELECT min(until) FROM decision WHERE until > ?", [.integer(time)])
    }
}

extension HistoryRow {
    init(resetOf decision: Decision, by author: Author, at time: EpochSeconds) {
        self.init(
            time: time, request: "", app: decision.app, question: .permission(decision.permission), outcome: .reset,
            by: author)
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
