// Converts between rows and values. An invalid row, such as one edited by hand, is skipped.

import PermissionCore
import PermissionModel

enum StoreRows {
    static let historyColumns = "time, request, app, permission, outcome, by, count, seconds, status"

    static func history(_ row: Statement) -> HistoryRow? {
        guard let app = AppID(row.text(2)), let question = Question(name: row.text(3)),
            let outcome = Outcome(rawValue: row.text(4)), let by = Author(rawValue: row.text(5))
        else { return nil }
        return HistoryRow(
            time: row.integer(0), request: row.text(1), app: app, question: question, outcome: outcome, by: by,
            count: UInt32(clamping: row.integer(6)), seconds: row.optionalInteger(7).map { UInt32(clamping: $0) },
            // Empty for rows that have none.
            status: Status(rawValue: row.text(8)))
    }

    /// Columns: portal_app, permission, app, verdict.
    static func portalAnswer(_ row: Statement) -> PortalAnswer? {
        guard let question = Question(name: row.text(1)), let app = AppID(row.text(2)),
            let verdict = Verdict(rawValue: row.text(3))
        else { return nil }
        return PortalAnswer(key: PortalKey(appID: row.text(0), question: question), app: app, verdict: verdict)
    }

    /// Columns: app, permission, count, paused_until, since.
    static func dismissals(_ row: Statement) -> DismissalRecord? {
        guard let app = AppID(row.text(0)), let question = Question(name: row.text(1)) else { return nil }
        return DismissalRecord(
            app: app, question: question, count: Int(row.integer(2)), pausedUntil: row.optionalInteger(3),
            since: row.integer(4))
    }
}

struct RowCondition {
    private(set) var sql = ""
    private(set) var values: [SQLValue] = []

    init(app: AppID? = nil, question: Question? = nil) {
        if let app { add("app = ?", .text(app.description)) }
        if let question { add("permission = ?", .text(question.name)) }
    }

    mutating func add(_ term: String, _ value: SQLValue) {
        sql += (sql.isEmpty ? " WHERE " : " AND ") + term
        values.append(value)
    }
}
