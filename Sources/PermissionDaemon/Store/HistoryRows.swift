// The history in the database: written, and trimmed so that no app can push out the rows of others.

import PermissionCore
import PermissionModel

enum HistoryRows {
    /// Writes a row. A row whose count was raised keeps its place.
    static func write(_ numbered: NumberedRow, _ database: Database) throws(DatabaseError) {
        let row = numbered.row
        try database.run(
            """
            INSERT INTO history (id, \(StoreRows.historyColumns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET count = excluded.count, seconds = excluded.seconds
                WHERE app = excluded.app
            """,
            [
                .integer(numbered.number), .integer(row.time), .text(row.request), .text(row.app.description),
                .text(row.question.name), .text(row.outcome.rawValue), .text(row.by.rawValue),
                .integer(Int64(row.count)), row.seconds.map { .integer(Int64($0)) } ?? .null,
                row.status.map { .text($0.rawValue) } ?? .null,
            ])
    }

    static func lastNumber(_ database: Database) throws(DatabaseError) -> Int64 {
        // No daemon reaches a higher ID. Continuing after one that a failing disk has produced could use up all IDs.
        try database.integer("SELECT max(id) FROM history WHERE id < ?", [.integer(Int64.max / 4)]) ?? 0
    }

    // MARK: Trimming

    /// Selects rows that apps cause by themselves; the index `history_caused` covers them.
    private static let caused = "by NOT IN ('person', 'permctl')"
    /// Selects apps that no program can invent. A program that copies itself gets any number of other identities.
    private static let sandboxed = "(app GLOB 'flatpak:*' OR app GLOB 'snap:*')"

    /// Removes rows beyond the limit. Up to three quarters are for decisions, which only newer decisions push out. Rows
    /// caused by apps fill the rest, at least a quarter, of which half is for sandboxed apps. Of either half, the app
    /// with the most rows loses its oldest, so that no app is pushed below its share by another.
    static func trim(_ database: Database, rows limit: Int, before oldest: EpochSeconds) throws(DatabaseError) {
        try database.run("DELETE FROM history WHERE time < ?", [.integer(oldest)])
        let total = try count("TRUE", database)
        guard total > limit else { return }
        let causedRows = try count(caused, database)
        let decidedRows = min(total - causedRows, limit - limit / 4)
        if total - causedRows > decidedRows {
            try database.run(
                "DELETE FROM history WHERE id IN (SELECT id FROM history WHERE NOT (\(caused)) ORDER BY id LIMIT ?)",
                [.integer(Int64(total - causedRows - decidedRows))])
        }
        let room = limit - decidedRows
        guard causedRows > room else { return }
        let ofSandboxed = try count("\(caused) AND \(sandboxed)", database)
        let ofOthers = causedRows - ofSandboxed
        let keptOfSandboxed = min(ofSandboxed, max(room - room / 2, room - ofOthers))
        try trimFairly("\(caused) AND \(sandboxed)", to: keptOfSandboxed, database)
        try trimFairly("\(caused) AND NOT \(sandboxed)", to: room - keptOfSandboxed, database)
    }

    private static func count(_ condition: String, _ database: Database) throws(DatabaseError) -> Int {
        Int(try database.integer("SELECT count(*) FROM history WHERE \(condition)") ?? 0)
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
