// The history in the database. Repeated rows of a minute become one row with a count, and rows beyond the limit are
// removed so that no app can push out the rows of others.

import PermissionCore
import PermissionModel

enum HistoryRows {
    private static let columns = "time, request, app, permission, outcome, by, count, seconds, status"
    /// The newest rows among which an earlier row is looked for: more than most minutes have.
    private static let reach: Int64 = 256

    private static func row(_ row: Statement) -> HistoryRow? {
        let app = AppID(row.text(2))
        guard let item = PromptItem(name: row.text(3)), let outcome = Outcome(rawValue: row.text(4)),
            let by = Author(rawValue: row.text(5)), app != nil || outcome.isOfEveryApp
        else { return nil }
        return HistoryRow(
            time: row.integer(0), request: row.text(1), app: app, item: item, outcome: outcome, by: by,
            count: UInt32(clamping: row.integer(6)), seconds: row.optionalInteger(7).map { UInt32(clamping: $0) },
            // Empty for rows that have none.
            status: Status(rawValue: row.text(8)))
    }

    /// The newest rows first.
    static func select(
        _ condition: RowCondition, _ page: RowPage, _ database: Database
    ) throws(DatabaseError) -> [HistoryRow] {
        try database.rows(
            "SELECT \(columns) FROM history\(condition.sql) ORDER BY id DESC LIMIT ? OFFSET ?",
            condition.values + page.values, row)
    }

    // MARK: Writing

    /// Writes a row, or adds it to an earlier one, which keeps its place.
    static func write(_ new: HistoryRow, _ database: Database) throws(DatabaseError) {
        if let (id, earlier) = try earlier(of: new, database) {
            let sum = earlier.adding(new)
            return try database.run(
                "UPDATE history SET count = ?, seconds = ? WHERE id = ?",
                [.integer(Int64(sum.count)), .optional(sum.seconds.map { Int64($0) }), .integer(id)])
        }
        try database.run(
            "INSERT INTO history (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                .integer(new.time), .text(new.request), .text(new.app?.description ?? ""), .text(new.item.name),
                .text(new.outcome.rawValue), .text(new.by.rawValue), .integer(Int64(new.count)),
                .optional(new.seconds.map { Int64($0) }), .optional(new.status?.rawValue),
            ])
    }

    private static func earlier(
        of new: HistoryRow, _ database: Database
    ) throws(DatabaseError) -> (id: Int64, row: HistoryRow)? {
        var condition = RowCondition(item: new.item)
        condition.add("app = ?", .text(new.app?.description ?? ""))
        condition.add("id > (SELECT max(id) FROM history) - ?", .integer(reach))
        var found: (id: Int64, row: HistoryRow)?
        try database.run("SELECT \(columns), id FROM history\(condition.sql) ORDER BY id", condition.values) {
            // Of decisions only the newest counts: a grant, a denial and a grant are three rows.
            guard let candidate = row($0) else { return }
            if new.by.isDecision ? candidate.by.isDecision : candidate.repeats(new) {
                found = ($0.integer(9), candidate)
            }
        }
        guard let found, found.row.repeats(new), found.row.isWithinAMinute(of: new) else { return nil }
        return found
    }

    // MARK: Trimming

    /// Selects rows that apps cause by themselves; the index `history_caused` covers them.
    private static let caused = "by NOT IN ('person', 'permctl')"
    /// Selects apps that no program can invent. A program that copies itself gets any number of other identities.
    private static let sandboxed = "(app GLOB 'flatpak:*' OR app GLOB 'snap:*')"

    /// Removes rows beyond the limit. Half of them are for decisions, a quarter for what sandboxed apps cause, a quarter
    /// for what others do. In each part the app with the most rows loses its oldest.
    static func trim(_ database: Database, rows limit: Int, before oldest: EpochSeconds) throws(DatabaseError) {
        try database.run("DELETE FROM history WHERE time < ?", [.integer(oldest)])
        try trimFairly("NOT (\(caused))", to: limit - 2 * (limit / 4), database)
        try trimFairly("\(caused) AND \(sandboxed)", to: limit / 4, database)
        try trimFairly("\(caused) AND NOT \(sandboxed)", to: limit / 4, database)
    }

    /// Keeps the newest row of every app before the second newest of any, and so on.
    private static func trimFairly(_ condition: String, to rows: Int, _ database: Database) throws(DatabaseError) {
        try database.run(
            """
            DELETE FROM history WHERE id IN (
                SELECT id FROM (
                    SELECT id, row_number() OVER (PARTITION BY app ORDER BY id DESC) AS place
                    FROM history WHERE \(condition))
                ORDER BY place, id DESC LIMIT -1 OFFSET ?)
            """, [.integer(Int64(rows))])
    }
}
