// What a change does to the session's database, and how a crash between the two databases is made good.

import PermissionCore
import PermissionModel

enum SessionRows {
    static func apply(_ change: Change, serial: Int64, _ database: Database) throws(DatabaseError) {
        switch change {
        case .set(let decision): try set(decision, serial, database)
        case .remove(let app, let permission):
            let condition = RowCondition(app: app, permission: permission)
            try database.run("DELETE FROM decision" + condition.sql, condition.values)
        case .endProcess(let process):
            try database.run("DELETE FROM decision WHERE pid = ? AND start = ?", key(process))
        case .endSession:
            try database.run("DELETE FROM decision")
            try database.run("DELETE FROM nag")
        case .saveNag(let record): try save(record, database)
        case .removeNag(let app, let permission):
            let condition = RowCondition(app: app, permission: permission)
            try database.run("DELETE FROM nag" + condition.sql, condition.values)
        case .saveSessions(let sessions):
            try database.run("DELETE FROM login")
            for session in sessions { try database.run("INSERT OR IGNORE INTO login VALUES (?)", [.text(session)]) }
        case .expire, .saveRuleFile, .removeRuleFile, .savePortalAnswer, .removePortalAnswer: break
        }
    }

    private static func key(_ process: ProcessKey?) -> [SQLValue] {
        [.integer(Int64(process?.pid ?? 0)), .integer(Int64(bitPattern: process?.startTime ?? 0))]
    }

    private static func key(_ decision: Decision) -> [SQLValue] {
        [.text(decision.app.description), .text(decision.permission.rawValue)]
    }

    private static func set(_ decision: Decision, _ serial: Int64, _ database: Database) throws(DatabaseError) {
        // An app-wide decision ends what its processes were allowed once.
        if decision.process == nil {
            try database.run("DELETE FROM decision WHERE app = ? AND permission = ?", key(decision))
        }
        guard [.once, .session].contains(decision.duration) else { return }
        let fields =
            key(decision) + [
                .text(decision.verdict.rawValue), .integer(decision.decided), .text(decision.by.rawValue),
            ]
        let process = key(decision.process)
        try database.run(
            "INSERT OR REPLACE INTO decision VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            fields + [.integer(serial)] + process + [StoreSeal.of(fields + process)])
    }

    private static func save(_ record: NagRecord, _ database: Database) throws(DatabaseError) {
        let key: [SQLValue] = [.text(record.app.description), .text(record.permission.rawValue)]
        if record.isEmpty { return try database.run("DELETE FROM nag WHERE app = ? AND permission = ?", key) }
        try database.run(
            "INSERT OR REPLACE INTO nag VALUES (?, ?, ?, ?, ?)",
            key + [.integer(Int64(record.count)), .optional(record.pausedUntil), .integer(record.since)])
    }

    // MARK: Taking back

    /// The rows a job's decisions are about to replace.
    struct Saved {
        let key: [SQLValue]
        var rows: [[SQLValue]] = []
    }

    static func save(_ job: StoreJob, _ database: Database) throws(DatabaseError) -> [Saved] {
        var saved: [Saved] = []
        for case .set(let decision) in job.changes {
            var entry = Saved(key: key(decision))
            try database.run("SELECT * FROM decision WHERE app = ? AND permission = ?", entry.key) { row in
                entry.rows.append(
                    (0...2).map { .text(row.text($0)) } + [.integer(row.integer(3)), .text(row.text(4))]
                        + (5...8).map { .integer(row.integer($0)) })
            }
            saved.append(entry)
        }
        return saved
    }

    static func restore(_ saved: [Saved], _ database: Database) throws(DatabaseError) {
        guard !saved.isEmpty else { return }
        try database.transaction { () throws(DatabaseError) in
            for entry in saved {
                try database.run("DELETE FROM decision WHERE app = ? AND permission = ?", entry.key)
                for row in entry.rows {
                    try database.run("INSERT INTO decision VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
                }
            }
        }
    }

    // MARK: Opening

    static func decisions(_ database: Database) throws(DatabaseError) -> [Decision] {
        var decisions: [Decision] = []
        try database.run("SELECT \(StoreRows.sessionColumns) FROM decision") { row in
            if let decision = StoreRows.sessionDecision(row) { decisions.append(decision) }
        }
        return decisions
    }

    /// Removes whichever of two decisions about the same thing a crash left behind: the one with the lower serial. A
    /// lasting one that cannot be removed now is hidden by the session's; false says that there are such.
    static func reconcile(session: Database, persistent: Database) throws(DatabaseError) -> Bool {
        var isDone = true
        var rows: [(key: [SQLValue], serial: Int64, isProcess: Bool)] = []
        try session.run("SELECT app, permission, serial, pid FROM decision") { row in
            rows.append(([.text(row.text(0)), .text(row.text(1))], row.integer(2), row.integer(3) != 0))
        }
        for row in rows {
            let lasting = try persistent.integer(
                "SELECT serial FROM decision WHERE app = ? AND permission = ?", row.key)
            guard let lasting else { continue }
            if lasting > row.serial {
                try session.run(
                    "DELETE FROM decision WHERE app = ? AND permission = ? AND serial < ?",
                    row.key + [.integer(lasting)])
            } else if !row.isProcess {
                do throws(DatabaseError) {
                    try persistent.run("DELETE FROM decision WHERE app = ? AND permission = ?", row.key)
                } catch {
                    if error.isDamage { throw error }
                    isDone = false
                }
            }
        }
        return isDone
    }
}
