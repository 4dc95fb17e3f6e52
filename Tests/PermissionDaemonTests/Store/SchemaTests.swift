// The way from one version of the tables to the next: each step once, all in one transaction.

import Glibc
import PermissionModel
import PermissionTestKit
import Testing

@testable import PermissionDaemon

struct SchemaTests {
    private let folder = try! TemporaryFolder()

    /// A made-up future: a column, a table and an index are added, and each step counts itself.
    private static let later = Schema(
        steps: Schema.current.steps + [
            """
            CREATE TABLE step (number INTEGER NOT NULL);
            INSERT INTO step VALUES (1);
            ALTER TABLE decision ADD COLUMN note TEXT NOT NULL DEFAULT 'older';
            """,
            "INSERT INTO step VALUES (2); CREATE INDEX decision_note ON decision (note);",
        ])
    private static let now = Schema.current.version
    private static let row =
        "INSERT INTO decision VALUES ('exe:/a', 'camera', 0, 0, 'deny', 'always', NULL, NULL, 1, 'person', 7)"

    private func open() throws -> Database { try Database(path: folder.file("store.db")) }

    private func steps(_ database: Database) throws -> [Int64?] {
        try database.rows("SELECT number FROM step ORDER BY rowid") { $0.optionalInteger(0) }
    }

    @Test func anOlderStore() throws {
        let older = try open()
        #expect(try Schema.current.migrate(older) == 0)
        try older.execute(SchemaTests.row)
        let database = try open()
        #expect(try SchemaTests.later.migrate(database) == SchemaTests.now)
        #expect(try steps(database) == [1, 2])
        let notes = try database.rows("SELECT note FROM decision") { $0.text(0) }
        #expect(notes == ["older"])
        // Not twice.
        #expect(try SchemaTests.later.migrate(try open()) == SchemaTests.now + 2)
        #expect(try steps(database) == [1, 2])
        // This version leaves it alone.
        #expect(try Schema.current.migrate(database) == SchemaTests.now + 2)
        #expect(try Schema.version(of: database) == SchemaTests.now + 2)
    }

    @Test func aStoreBetweenTwoVersions() throws {
        let database = try open()
        try Schema(steps: Array(SchemaTests.later.steps.dropLast())).migrate(database)
        #expect(try SchemaTests.later.migrate(database) == SchemaTests.now + 1)
        #expect(try steps(database) == [1, 2])
    }

    /// It is not known when the grants in it were used last: they were now.
    @Test func anOlderStoreOfGrants() throws {
        let database = try open()
        try Schema(steps: Array(Schema.current.steps.prefix(2))).migrate(database)
        try database.execute(SchemaTests.row)
        let before = Int64(time(nil))
        try Schema.current.migrate(database)
        let uses = try LastUseRows.all(database)
        #expect(uses.map(\.key) == [AppPermission(app: AppID("exe:/a")!, permission: .camera)])
        #expect(uses.allSatisfy { (before...(before + 100)).contains($0.time) })
    }

    /// The version in a damaged file may be any number.
    @Test func aNegativeVersion() throws {
        let database = try open()
        try database.execute("PRAGMA user_version = -7")
        #expect(try Schema.current.migrate(database) == -7)
        #expect(try Schema.version(of: database) == Schema.current.version)
    }

    @Test func aStepThatFailsChangesNothing() throws {
        let database = try open()
        try Schema.current.migrate(database)
        try database.execute(SchemaTests.row)
        let broken = Schema(
            steps: SchemaTests.later.steps + ["DELETE FROM decision; CREATE TABLE step (number INTEGER);"])
        #expect(throws: DatabaseError.self) { try broken.migrate(database) }
        #expect(try Schema.version(of: database) == SchemaTests.now)
        #expect(try database.integer("SELECT count(*) FROM decision") == 1)
        #expect(try database.integer("SELECT count(*) FROM sqlite_master WHERE name = 'step'") == 0)
        #expect(try SchemaTests.later.migrate(database) == SchemaTests.now)
    }

    /// Another permd makes the steps after the version was read.
    @Test func twoAtTheSameTime() throws {
        let (first, second) = (try open(), try open())
        #expect(try Schema.version(of: second) == 0)
        try SchemaTests.later.migrate(first)
        try SchemaTests.later.migrate(second)
        #expect(try steps(second) == [1, 2])
    }
}
