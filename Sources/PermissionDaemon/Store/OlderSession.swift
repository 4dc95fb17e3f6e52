// Stores before schema 5 kept what ends with the session in a second database, session.db under $XDG_RUNTIME_DIR. Its
// rows are added to the store when the store is migrated.

import Glibc
import PermissionCore
import PermissionModel
import System

struct OlderSession {
    private struct Row {
        let decision: Decision
        /// Of two rows about the same app and permission, the one with the higher number is newer.
        let serial: Int64
    }

    private var rows: [Row] = []
    private var dismissals: [DismissalRecord] = []
    private let scopes: DecisionScopes
    /// The login sessions that existed.
    private(set) var logins: [String] = []
    /// Why nothing was migrated, as a sentence.
    private(set) var finding: String?

    /// Returns nil if the file does not exist.
    init?(folder: String?, scopes: DecisionScopes) {
        guard let path = OlderSession.path(folder), StoreIdentity.File(path)?.kind == S_IFREG else { return nil }
        self.scopes = scopes
        do throws(DatabaseError) { try read(Database(path: path)) } catch {
            rows = []
            dismissals = []
            finding =
                "session decisions made before the update of permd could not be read: \(error.description)"
        }
    }

    private static func path(_ folder: String?) -> String? { folder.map { $0 + "/session.db" } }

    private mutating func read(_ database: Database) throws(DatabaseError) {
        // The rows of an earlier boot have ended.
        guard try database.integer("SELECT count(*) FROM boot WHERE id = ?", [.text(scopes.boot)]) == 1 else { return }
        rows = try database.rows(
            "SELECT app, permission, verdict, decided, by, pid, start, seal, serial FROM decision"
        ) { row in
            decision(row).map { Row(decision: $0, serial: row.integer(8)) }
        }
        dismissals = try database.rows(
            "SELECT app, permission, count, paused_until, since FROM nag", [], StoreRows.dismissals)
        logins = try database.rows("SELECT id FROM login") { $0.text(0) }
    }

    private func decision(_ row: Statement) -> Decision? {
        let checked = (0..<7).map { row.value($0) }
        guard RowChecksum.of(checked) == row.value(7), let app = AppID(row.text(0)),
            let permission = Permission(rawValue: row.text(1)), let verdict = Verdict(rawValue: row.text(2)),
            let by = Author(rawValue: row.text(4))
        else { return nil }
        let process = ProcessKey(row, at: 5)
        return Decision(
            app: app, permission: permission, verdict: verdict, duration: process == nil ? .session : .once,
            decided: row.integer(3), by: by, process: process, scope: process == nil ? scopes.session : scopes.boot)
    }

    /// Adds the rows to the tables of schema 5 while the decisions of schema 4 are still in `decision`.
    func add(to database: Database) throws(DatabaseError) {
        for row in rows {
            let key: [SQLValue] = [.text(row.decision.app.description), .text(row.decision.permission.rawValue)]
            let lasting = try database.integer("SELECT serial FROM decision WHERE app = ? AND permission = ?", key)
            if let lasting, lasting > row.serial { continue }
            if row.decision.process == nil {
                try database.run("DELETE FROM decision_new WHERE app = ? AND permission = ? AND pid = 0", key)
            }
            try DecisionRows.insert(row.decision, into: "decision_new", database)
        }
        for record in dismissals { try DismissalRows.save(record, session: scopes.session, database) }
    }

    /// Removes the file, which is no longer used.
    static func remove(folder: String?) {
        guard let path = path(folder) else { return }
        for suffix in StoreIdentity.suffixes where StoreIdentity.File(path + suffix)?.kind == S_IFREG {
            unlink(path + suffix)
        }
    }
}
