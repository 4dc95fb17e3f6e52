// The tables of the store, and the way from one version of them to the next.

/// The steps from an empty file to the current version; step N creates version N.
struct Schema: Sendable {
    let steps: [String]

    var version: Int64 { Int64(steps.count) }

    /// Makes the steps that the file does not have yet, in one transaction. Returns the version that it had.
    @discardableResult
    func migrate(_ database: Database) throws(DatabaseError) -> Int64 {
        let found = try Schema.version(of: database)
        guard found < version else { return found }
        try database.transaction { () throws(DatabaseError) in
            // Another permd may have made them since the version was read.
            for step in steps.dropFirst(max(0, Int(try Schema.version(of: database)))) { try database.execute(step) }
            try database.execute("PRAGMA user_version = \(version)")
        }
        return found
    }

    static func version(of database: Database) throws(DatabaseError) -> Int64 {
        try database.integer("PRAGMA user_version") ?? 0
    }

    /// A step, once released, is never changed; the next version gets a step of its own.
    static let current = Schema(
        steps: [
            // A decision whose pid is 0 is about the app, others are about one process of it.
            """
            CREATE TABLE decision (
                app TEXT NOT NULL, permission TEXT NOT NULL, pid INTEGER NOT NULL, start INTEGER NOT NULL,
                verdict TEXT NOT NULL, lifetime TEXT NOT NULL, until INTEGER, scope TEXT, decided INTEGER NOT NULL,
                by TEXT NOT NULL, checksum INTEGER,
                PRIMARY KEY (app, permission, pid, start)) WITHOUT ROWID;
            CREATE INDEX decision_until ON decision (until) WHERE until IS NOT NULL;
            CREATE INDEX decision_scope ON decision (scope) WHERE scope IS NOT NULL;
            CREATE TABLE dismissal (
                app TEXT NOT NULL, permission TEXT NOT NULL, session TEXT NOT NULL, count INTEGER NOT NULL,
                paused_until INTEGER, since INTEGER NOT NULL, PRIMARY KEY (app, permission)) WITHOUT ROWID;
            CREATE TABLE history (
                id INTEGER PRIMARY KEY, time INTEGER NOT NULL, request TEXT NOT NULL, app TEXT NOT NULL,
                permission TEXT NOT NULL, outcome TEXT NOT NULL, by TEXT NOT NULL, count INTEGER NOT NULL,
                seconds INTEGER, status TEXT);
            CREATE INDEX history_app ON history (app, id);
            CREATE INDEX history_time ON history (time);
            CREATE INDEX history_caused ON history (app, id) WHERE by NOT IN ('person', 'permctl');
            CREATE TABLE rule_file (path TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
            CREATE TABLE portal_answer (
                portal_app TEXT NOT NULL, permission TEXT NOT NULL, app TEXT NOT NULL, verdict TEXT NOT NULL,
                PRIMARY KEY (portal_app, permission)) WITHOUT ROWID;
            """,
            // The permissions that are switched off for every app.
            "CREATE TABLE switched_off (permission TEXT PRIMARY KEY) WITHOUT ROWID",
            // When an app was last known to use a permission. Of the grants that were there before, it is not known.
            """
            CREATE TABLE last_use (
                app TEXT NOT NULL, permission TEXT NOT NULL, time INTEGER NOT NULL,
                PRIMARY KEY (app, permission)) WITHOUT ROWID;
            INSERT INTO last_use SELECT DISTINCT app, permission, CAST(strftime('%s', 'now') AS INTEGER) FROM decision;
            """,
        ])
}
