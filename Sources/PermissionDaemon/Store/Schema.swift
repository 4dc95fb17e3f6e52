// The tables of the store, and the migration of older files.

/// The steps from an empty file to the current version; step N creates version N.
struct Schema: Sendable {
    let steps: [String]

    var version: Int64 { Int64(steps.count) }

    enum State: Equatable {
        case ready
        /// Written by a newer program; left untouched.
        case newer(Int64)
    }

    /// The version that added checksums to rows.
    private static let checksums = 3
    /// The version whose `decision_new` receives the rows of the earlier session database.
    private static let oneDatabase = 5

    /// Migrates a file in one transaction.
    /// - Parameter session: adds the rows of an older version's session database.
    func migrate(
        _ database: Database, session: (Database) throws(DatabaseError) -> Void = { _ in }
    ) throws(DatabaseError) -> State {
        let found = try database.integer("PRAGMA user_version") ?? 0
        if found > version { return .newer(found) }
        guard found < version else { return .ready }
        try database.transaction { () throws(DatabaseError) in
            // Another permd may have migrated the file since the version was read.
            let found = Int(try database.integer("PRAGMA user_version") ?? 0)
            for (index, step) in steps.enumerated().dropFirst(found) {
                try database.execute(step)
                if index + 1 == Schema.checksums { try RowChecksum.addMissing(database) }
                if index + 1 == Schema.oneDatabase { try session(database) }
            }
            try database.execute("PRAGMA user_version = \(version)")
        }
        return .ready
    }

    static let current = Schema(
        steps: [
            """
            CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
            CREATE TABLE decision (
                app TEXT NOT NULL, permission TEXT NOT NULL, verdict TEXT NOT NULL, duration TEXT NOT NULL, until INTEGER,
                decided INTEGER NOT NULL, by TEXT NOT NULL, serial INTEGER NOT NULL,
                PRIMARY KEY (app, permission)) WITHOUT ROWID;
            CREATE INDEX decision_until ON decision (until) WHERE until IS NOT NULL;
            CREATE TABLE history (
                id INTEGER PRIMARY KEY, time INTEGER NOT NULL, request TEXT NOT NULL, app TEXT NOT NULL,
                permission TEXT NOT NULL, outcome TEXT NOT NULL, by TEXT NOT NULL);
            CREATE INDEX history_app ON history (app, id);
            CREATE INDEX history_time ON history (time);
            CREATE TABLE rule_file (path TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
            """,
            """
            CREATE TABLE portal_answer (
                portal_app TEXT NOT NULL, permission TEXT NOT NULL, app TEXT NOT NULL, verdict TEXT NOT NULL,
                PRIMARY KEY (portal_app, permission)) WITHOUT ROWID;
            """,
            "ALTER TABLE decision ADD COLUMN seal INTEGER;",
            """
            ALTER TABLE history ADD COLUMN count INTEGER NOT NULL DEFAULT 1;
            CREATE INDEX history_caused ON history (app, id) WHERE by NOT IN ('person', 'permctl');
            """,
            // If pid is 0, the decision is about the app.
            """
            CREATE TABLE decision_new (
                app TEXT NOT NULL, permission TEXT NOT NULL, pid INTEGER NOT NULL, start INTEGER NOT NULL,
                verdict TEXT NOT NULL, lifetime TEXT NOT NULL, until INTEGER, scope TEXT, decided INTEGER NOT NULL,
                by TEXT NOT NULL, checksum INTEGER,
                PRIMARY KEY (app, permission, pid, start)) WITHOUT ROWID;
            INSERT INTO decision_new
                SELECT app, permission, 0, 0, verdict, duration, until, NULL, decided, by, seal FROM decision;
            CREATE TABLE dismissal (
                app TEXT NOT NULL, permission TEXT NOT NULL, session TEXT NOT NULL, count INTEGER NOT NULL,
                paused_until INTEGER, since INTEGER NOT NULL, PRIMARY KEY (app, permission)) WITHOUT ROWID;
            """,
            """
            DROP TABLE decision;
            ALTER TABLE decision_new RENAME TO decision;
            CREATE INDEX decision_until ON decision (until) WHERE until IS NOT NULL;
            CREATE INDEX decision_scope ON decision (scope) WHERE scope IS NOT NULL;
            DROP TABLE meta;
            """,
            // Set in rows about uses only.
            """
            ALTER TABLE history ADD COLUMN seconds INTEGER;
            ALTER TABLE history ADD COLUMN status TEXT;
            """,
        ])
}
