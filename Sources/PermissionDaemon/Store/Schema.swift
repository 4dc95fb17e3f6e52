// The tables of both databases, and how an older file becomes a newer one.

/// The steps from an empty file to the newest version; step N makes version N.
struct Schema: Sendable {
    let steps: [String]
    /// What a decision's seal is of, and the version that brought seals.
    var sealed: (columns: [String], since: Int64)?

    var version: Int64 { Int64(steps.count) }

    enum State: Equatable {
        case ready
        /// Written by a newer program: left untouched.
        case newer(Int64)
    }

    /// Brings a file forward, in one transaction.
    func migrate(_ database: Database) throws(DatabaseError) -> State {
        let found = try database.integer("PRAGMA user_version") ?? 0
        if found > version { return .newer(found) }
        guard found < version else { return .ready }
        try database.transaction { () throws(DatabaseError) in
            // Another permd may have been faster between the look and the lock.
            let found = try database.integer("PRAGMA user_version") ?? 0
            for step in steps.dropFirst(Int(found)) { try database.execute(step) }
            if let sealed, found < sealed.since { try StoreSeal.sealAll(database, sealed.columns) }
            try database.execute("PRAGMA user_version = \(version)")
        }
        return .ready
    }

    /// What stays: `permd.db`.
    static let persistent = Schema(
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
        ], sealed: (StoreSeal.lasting, 3))

    /// What ends with the session: `session.db`. A process of 0 is none: the decision is the app's.
    static let session = Schema(
        steps: [
            """
            CREATE TABLE decision (
                app TEXT NOT NULL, permission TEXT NOT NULL, verdict TEXT NOT NULL, decided INTEGER NOT NULL,
                by TEXT NOT NULL, serial INTEGER NOT NULL, pid INTEGER NOT NULL, start INTEGER NOT NULL,
                PRIMARY KEY (app, permission, pid, start)) WITHOUT ROWID;
            CREATE TABLE nag (
                app TEXT NOT NULL, permission TEXT NOT NULL, count INTEGER NOT NULL, paused_until INTEGER,
                since INTEGER NOT NULL, PRIMARY KEY (app, permission)) WITHOUT ROWID;
            CREATE TABLE login (id TEXT PRIMARY KEY) WITHOUT ROWID;
            CREATE TABLE boot (id TEXT PRIMARY KEY) WITHOUT ROWID;
            """,
            "ALTER TABLE decision ADD COLUMN seal INTEGER;",
        ], sealed: (StoreSeal.session, 2))
}
