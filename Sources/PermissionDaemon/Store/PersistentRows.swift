// What a change does to the lasting database.

import PermissionCore
import PermissionModel

enum PersistentRows {
    /// Makes the change; the decisions it removed.
    static func apply(_ change: Change, serial: Int64, _ database: Database) throws(DatabaseError) -> [Decision] {
        switch change {
        case .set(let decision): try set(decision, serial, database)
        case .remove(let app, let permission):
            return try delete(RowCondition(app: app, permission: permission), database)
        case .expire(let now):
            return try expire(now, database)
        case .saveRuleFile(let path, let text):
            try database.run("INSERT OR REPLACE INTO rule_file VALUES (?, ?)", [.text(path), .text(text)])
        case .removeRuleFile(let path): try database.run("DELETE FROM rule_file WHERE path = ?", [.text(path)])
        case .savePortalAnswer(let answer):
            try database.run(
                "INSERT OR REPLACE INTO portal_answer VALUES (?, ?, ?, ?)",
                [
                    .text(answer.key.appID), .text(answer.key.permission.rawValue), .text(answer.app.description),
                    .text(answer.verdict.rawValue),
                ])
        case .removePortalAnswer(let key):
            try database.run(
                "DELETE FROM portal_answer WHERE portal_app = ? AND permission = ?",
                [.text(key.appID), .text(key.permission.rawValue)])
        case .endProcess, .endSession, .saveNag, .removeNag, .saveSessions: break
        }
        return []
    }

    private static func set(_ decision: Decision, _ serial: Int64, _ database: Database) throws(DatabaseError) {
        let key: [SQLValue] = [.text(decision.app.description), .text(decision.permission.rawValue)]
        switch decision.duration {
        case .once: break
        case .session: try database.run("DELETE FROM decision WHERE app = ? AND permission = ?", key)
        case .until, .always:
            let fields =
                key + [
                    .text(decision.verdict.rawValue), .text(decision.duration.word.rawValue),
                    .optional(decision.duration.end), .integer(decision.decided), .text(decision.by.rawValue),
                ]
            try database.run(
                "INSERT OR REPLACE INTO decision VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                fields + [.integer(serial), StoreSeal.of(fields)])
        }
    }

    /// The rows that are over. What a bad disk ended is none of them: neither a row that its seal does not fit, nor one that
    /// only the index says is over.
    private static func expire(_ now: EpochSeconds, _ database: Database) throws(DatabaseError) -> [Decision] {
        var over: [Decision] = []
        try database.run(
            "SELECT \(StoreRows.decisionColumns) FROM decision WHERE until <= ?", [.integer(now)]
        ) { row in
            if let decision = StoreRows.decision(row), let end = decision.duration.end, end <= now {
                over.append(decision)
            }
        }
        var removed: [Decision] = []
        for decision in over {
            removed += try delete(RowCondition(app: decision.app, permission: decision.permission), database)
        }
        return removed
    }

    private static func delete(_ condition: RowCondition, _ database: Database) throws(DatabaseError) -> [Decision] {
        var removed: [Decision] = []
        try database.run(
            "DELETE FROM decision\(condition.sql) RETURNING \(StoreRows.decisionColumns)", condition.values
        ) { row in if let decision = StoreRows.decision(row) { removed.append(decision) } }
        return removed
    }
}
