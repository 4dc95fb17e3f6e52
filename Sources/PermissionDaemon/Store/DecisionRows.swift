// The table of decisions. A row is one decision about an app or one of its processes.

import PermissionCore
import PermissionModel

/// Selects decisions by app and permission, where nil matches all.
struct DecisionFilter: Sendable, Hashable {
    var app: AppID?
    var permission: Permission?

    var condition: RowCondition { RowCondition(app: app, question: permission.map(Question.permission)) }

    func matches(_ decision: Decision) -> Bool {
        (app == nil || app == decision.app) && (permission == nil || permission == decision.permission)
    }
}

extension DecisionFilter {
    /// Nil for a question of portals, about which there are no decisions.
    init?(app: AppID?, question: Question?) {
        if case .portal = question { return nil }
        self.init(app: app, permission: question?.permission)
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

    fileprivate func contains(_ decision: Decision) -> Bool {
        if case .until(let time) = self { return (decision.duration.end ?? .max) <= time }
        return true
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

    /// Nil for rows that cannot be decoded.
    static func select(
        _ condition: RowCondition, _ end: String = "", _ database: Database
    ) throws(DatabaseError) -> [Decision?] {
        try database.rows("SELECT \(columns) FROM decision\(condition.sql)\(end)", condition.values, decision)
    }

    /// The decisions about an app, in force or not.
    static func all(of app: AppID, _ database: Database) throws(DatabaseError) -> [Decision] {
        try select(RowCondition(app: app), "", database).compactMap { $0 }
    }

    static func exists(_ condition: RowCondition, of app: AppID, _ database: Database) throws(DatabaseError) -> Bool {
        var condition = condition
        condition.add("app = ?", .text(app.description))
        return try database.integer("SELECT 1 FROM decision\(condition.sql) LIMIT 1", condition.values) != nil
    }

    /// The apps that have such decisions, sorted; nil for those that cannot be decoded.
    static func apps(
        _ condition: RowCondition, _ end: String, _ database: Database
    ) throws(DatabaseError) -> [AppID?] {
        try database.rows("SELECT DISTINCT app FROM decision\(condition.sql) ORDER BY app\(end)", condition.values) {
            AppID($0.text(0))
        }
    }

    /// A decision about an app also replaces those about its processes; one about a process replaces only its own.
    static func set(_ decision: Decision, _ database: Database) throws(DatabaseError) {
        if decision.process == nil {
            try delete(DecisionFilter(app: decision.app, permission: decision.permission), database)
        }
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
        return try database.validRows(
            "DELETE FROM decision\(condition.sql) RETURNING \(columns)", condition.values, decision)
    }

    /// Deletes the rows of ended decisions and returns them. Rows with a wrong checksum stay: their content is unknown.
    static func delete(_ ended: EndedDecisions, _ database: Database) throws(DatabaseError) -> [Decision] {
        if case .otherScopes(let scopes) = ended { try DismissalRows.endOthers(than: scopes.session, database) }
        let over = try select(ended.condition, "", database).compactMap { $0 }.filter(ended.contains)
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
