// Migration from older versions of permd, which had a second database for the session.

import DBus
import Glibc
import PermissionCore
import PermissionModel
import PermissionTestKit
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct OlderSessionTests {
    private let folder = try! TemporaryFolder()
    private let app = AppID("exe:/usr/bin/a")!
    private let process = ProcessKey(pid: 77, startTime: 5)

    private var paths: StorePaths { StorePaths(state: folder.file("state"), session: folder.file("run")) }
    private var sessionFile: String { folder.file("run/session.db") }

    /// Rows as the last such version wrote them, with its checksums.
    private static let persistentRows = """
        INSERT INTO meta VALUES ('serial', 1795325303000012);
        INSERT INTO decision VALUES
            ('exe:/usr/bin/app0', 'bluetooth', 'grant', 'always', NULL, 1795325303, 'permctl', 1795325303000003,
             -4585843184128267692),
            ('exe:/usr/bin/app0', 'camera', 'deny', 'always', NULL, 1795325303, 'permctl', 1795325303000001,
             1519477857831275503),
            ('exe:/usr/bin/app1', 'bluetooth', 'deny', 'always', NULL, 1795325303, 'permctl', 1795325303000007,
             -4720494041139114578),
            ('exe:/usr/bin/app1', 'location', 'grant', 'until', 4000000007, 1795325303, 'permctl', 1795325303000008,
             -41863080247457932);
        INSERT INTO history VALUES (1, 1795325303, '', 'exe:/usr/bin/app0', 'camera', 'denied', 'permctl', 1);
        INSERT INTO rule_file VALUES ('/etc/permd/policy.d/a.conf', '[Rule a]');
        INSERT INTO portal_answer VALUES ('org.example.A', 'camera', 'flatpak:org.example.A', 'grant');
        """
    private static let sessionTables = """
        CREATE TABLE decision (
            app TEXT NOT NULL, permission TEXT NOT NULL, verdict TEXT NOT NULL, decided INTEGER NOT NULL,
            by TEXT NOT NULL, serial INTEGER NOT NULL, pid INTEGER NOT NULL, start INTEGER NOT NULL, seal INTEGER,
            PRIMARY KEY (app, permission, pid, start)) WITHOUT ROWID;
        CREATE TABLE nag (
            app TEXT NOT NULL, permission TEXT NOT NULL, count INTEGER NOT NULL, paused_until INTEGER,
            since INTEGER NOT NULL, PRIMARY KEY (app, permission)) WITHOUT ROWID;
        CREATE TABLE login (id TEXT PRIMARY KEY) WITHOUT ROWID;
        CREATE TABLE boot (id TEXT PRIMARY KEY) WITHOUT ROWID;
        INSERT INTO boot VALUES ('boot');
        INSERT INTO login VALUES ('3'), ('c1');
        PRAGMA user_version = 2;
        """
    private static let sessionRows = """
        INSERT INTO decision VALUES
            ('exe:/usr/bin/app1', 'camera', 'grant', 1795325303, 'permctl', 1795325303000010, 0, 0, -4144565287346162494),
            ('exe:/usr/bin/s1', 'camera', 'deny', 1795325303, 'permctl', 1795325303000009, 0, 0, -6264039064662343467);
        INSERT INTO nag VALUES ('exe:/usr/bin/n', 'camera', 3, 4000000000, 1795325303);
        """

    private func older(_ persistent: String, _ session: String) throws {
        for part in ["state", "run"] { try #require(mkdir(folder.file(part), 0o700) == 0) }
        let lasting = try StoreOpening.configured(paths.stateFile)
        _ = try Schema(steps: Array(Schema.current.steps[0..<4])).migrate(lasting)
        try lasting.execute(persistent)
        let database = try StoreOpening.configured(sessionFile)
        try database.execute(OlderSessionTests.sessionTables + session)
    }

    private func listed(_ store: DecisionStore) throws -> [String] {
        try store.listDecisions().map {
            "\($0.app.name) \($0.permission.rawValue) \($0.verdict.rawValue) \($0.duration.word.rawValue)"
        }
    }

    @Test func everythingIsMigrated() async throws {
        try older(OlderSessionTests.persistentRows, OlderSessionTests.sessionRows)
        let all = [
            "/usr/bin/app0 bluetooth grant always", "/usr/bin/app0 camera deny always",
            "/usr/bin/app1 bluetooth deny always", "/usr/bin/app1 camera grant session",
            "/usr/bin/app1 location grant until", "/usr/bin/s1 camera deny session",
        ]
        for _ in 0..<2 {
            let store = openStore(paths)
            #expect(try listed(store) == all)
            #expect(store.findings.isEmpty && store.state == .writable, "\(store.findings)")
            #expect(store.session.logins == ["3", "c1"])
            #expect(
                store.listDismissals() == [
                    DismissalRecord(
                        app: AppID("exe:/usr/bin/n")!, question: .camera, count: 3, pausedUntil: 4_000_000_000,
                        since: 1_795_325_303)
                ])
            #expect(store.ruleFiles().map(\.text) == ["[Rule a]"] && store.portalAnswers().count == 1)
            #expect(try store.listHistory(app: nil, question: nil, since: nil, limit: 9).rows.count == 1)
            await close(store)
            #expect(StoreIdentity.File(sessionFile) == nil && StoreIdentity.File(sessionFile + "-wal") == nil)
        }
    }

    /// Session decisions and dismissal counts of an earlier boot are dropped.
    @Test func theSessionOfAnotherBootHasEnded() async throws {
        try older(OlderSessionTests.persistentRows, OlderSessionTests.sessionRows)
        let store = openStore(paths, boot: "another")
        #expect(try listed(store).count == 4 && store.listDismissals().isEmpty && store.session.logins.isEmpty)
        await close(store)
        #expect(StoreIdentity.File(sessionFile) == nil)
    }

    /// A crash between writes to the two databases left a row for the same permission in each: the newer one wins.
    @Test(arguments: [
        (session: "grant", serial: 1, expected: "deny always"),
        (session: "grant", serial: 9, expected: "grant session"),
        (session: "deny", serial: 9, expected: "deny session"),
    ])
    func theNewerOfTwoRowsWins(_ rows: (session: String, serial: Int, expected: String)) async throws {
        func sum(_ fields: [SQLValue]) -> Int64 {
            if case .integer(let sum) = RowChecksum.of(fields) { sum } else { 0 }
        }
        let verdict = rows.expected == "deny session" ? "grant" : "deny"
        let key: [SQLValue] = [.text("\(app)"), .text("camera")]
        let lasting = sum(key + [.text(verdict), .text("always"), .null, .integer(1), .text("person")])
        func session(_ word: String, _ pid: Int64) -> Int64 {
            sum(key + [.text(word), .integer(1), .text("person"), .integer(pid), .integer(pid == 0 ? 0 : 5)])
        }
        try older(
            "INSERT INTO decision VALUES ('\(app)', 'camera', '\(verdict)', 'always', NULL, 1, 'person', 5, \(lasting))",
            """
            INSERT INTO decision VALUES
                ('\(app)', 'camera', '\(rows.session)', 1, 'person', \(rows.serial), 0, 0, \(session(rows.session, 0))),
                ('\(app)', 'camera', 'grant', 1, 'person', 1, 77, 5, \(session("grant", 77)));
            """)
        let store = openStore(paths)
        #expect(try list(store) == [rows.expected])
        #expect(store.decision(app, .camera, for: process)?.process == nil)
        await close(store)
    }

    @Test func damagedRowsAreSkippedAndReported() async throws {
        try older(OlderSessionTests.persistentRows, OlderSessionTests.sessionRows)
        try Database(path: paths.stateFile).execute("UPDATE decision SET verdict = 'grant'")
        try Database(path: sessionFile).execute("UPDATE decision SET verdict = 'grant'")
        let store = openStore(paths)
        #expect(
            try listed(store) == [
                "/usr/bin/app0 bluetooth grant always", "/usr/bin/app1 camera grant session",
                "/usr/bin/app1 location grant until",
            ])
        #expect(store.findings.contains { $0.contains("damaged rows") })
        await close(store)
    }

    @Test func aSessionFileThatIsNotADatabase() async throws {
        try older(OlderSessionTests.persistentRows, "")
        for suffix in ["", "-wal", "-shm"] { unlink(sessionFile + suffix) }
        try folder.write(String(repeating: "nonsense ", count: 999), to: "run/session.db")
        let store = openStore(paths)
        #expect(try listed(store).count == 4)
        #expect(store.findings.contains { $0.contains("before the update") }, "\(store.findings)")
        await close(store)
    }

    @Test func aHundredThousandDecisions() async throws {
        try older("", "")
        let count = 100_000
        let database = try Database(path: paths.stateFile)
        try database.transaction { () throws(DatabaseError) in
            for number in 0..<count {
                let fields: [SQLValue] = [
                    .text("exe:/usr/bin/app\(number)"), .text("camera"), .text(number % 3 == 0 ? "deny" : "grant"),
                    .text("always"), .null, .integer(1), .text("permctl"),
                ]
                try database.run(
                    "INSERT INTO decision VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    fields + [.integer(Int64(number)), RowChecksum.of(fields)])
            }
        }
        let store = openStore(paths)
        let found = try store.listDecisions()
        #expect(found.count == count && found.count { $0.verdict == .deny } == (count + 2) / 3)
        #expect(store.findings.isEmpty && store.state == .writable)
        await close(store)
    }
}
