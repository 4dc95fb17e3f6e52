// The history: repeated rows are folded, its size is bounded, and no app displaces the rows of others.

import CLinux
import DBus
import Glibc
import Logging
import PermissionCore
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct HistoryTests {
    private let folder = try! TemporaryFolder()

    private nonisolated func database() throws -> Database {
        let database = try Database(path: ":memory:")
        try Schema.current.migrate(database)
        return database
    }

    private func open() -> DecisionStore {
        openStore(StorePaths(state: folder.file("state"), session: folder.file("run")))
    }

    private func row(_ app: String, _ outcome: Outcome, _ by: Author = .nobody) -> HistoryRow {
        HistoryRow(
            time: EpochSeconds(time(nil)), request: "", app: AppID(app)!, item: .camera, outcome: outcome,
            by: by)
    }

    /// Writes rows one at a time and trims after each; the writer trims after several. Takes seconds, and not on the loop,
    /// which other tests need.
    private struct Play {
        let database: Database
        let limit: Int
        var number: Int64 = 0

        mutating func add(_ app: String, _ by: Author = .nobody, times: Int = 1) throws {
            for _ in 0..<times {
                number += 1
                // An hour apart, so that none is merged with another.
                let row = HistoryRow(
                    time: 3600 * number, request: "", app: AppID(app)!, item: .camera, outcome: .withdrawn, by: by)
                try HistoryRows.write(row, database)
                try HistoryRows.trim(database, rows: limit, before: 0)
            }
        }

        func count(_ condition: String) throws -> Int64 {
            try database.integer("SELECT count(*) FROM history WHERE \(condition)") ?? 0
        }
    }

    /// A hostile app displaces neither the rows of other apps nor the decisions of a person.
    @Test(arguments: ["flatpak:org.evil", "exe:/usr/bin/evil"])
    nonisolated func oneHostileApp(_ evil: String) throws {
        var play = Play(database: try database(), limit: 200)
        for app in ["flatpak:org.a", "snap:b", "exe:/c", "exe:/d"] {
            try play.add(app, .person, times: 20)
            try play.add(app, .nobody, times: 9)
        }
        try play.add(evil, times: 2000)
        #expect(try play.count("by = 'person'") == 80)
        for app in ["flatpak:org.a", "snap:b", "exe:/c", "exe:/d"] {
            #expect(try play.count("app = '\(app)' AND by = ''") == 9, "\(app)")
        }
        // Its own newest rows are kept.
        #expect(try play.count("app = '\(evil)'") == 32)
        #expect(try play.count("app = '\(evil)' AND id > \(play.number - 32)") == 32)
    }

    /// Outside a sandbox a program can appear as any number of apps by copying itself.
    @Test nonisolated func manyInventedApps() throws {
        var play = Play(database: try database(), limit: 200)
        try play.add("exe:/usr/bin/good", .permctl, times: 100)
        try play.add("flatpak:org.good", times: 40)
        try play.add("exe:/usr/bin/good", times: 5)
        for number in 0..<1000 { try play.add("exe:/tmp/evil\(number)") }
        #expect(try play.count("by = 'permctl'") == 100)
        #expect(try play.count("app = 'flatpak:org.good'") == 40)
        #expect(try play.count("TRUE") == 190)
    }

    /// Decisions have half of the rows; the oldest are removed first.
    @Test nonisolated func manyDecisions() throws {
        var play = Play(database: try database(), limit: 200)
        try play.add("flatpak:org.a", times: 100)
        try play.add("exe:/b", .permctl, times: 500)
        #expect(try play.count("by = 'permctl'") == 100)
        #expect(try play.count("by = 'permctl' AND id > \(play.number - 100)") == 100)
        #expect(try play.count("app = 'flatpak:org.a'") == 50)
        // Those about one app do not push out those about others.
        try play.add("exe:/c", .person, times: 10)
        try play.add("exe:/b", .permctl, times: 500)
        #expect(try play.count("app = 'exe:/c'") == 10)
    }

    /// An app with few rows loses none to apps with many.
    @Test nonisolated func sharesAreFair() throws {
        var play = Play(database: try database(), limit: 240)
        try play.add("flatpak:org.few", times: 10)
        for app in ["flatpak:org.a", "flatpak:org.b", "exe:/c"] { try play.add(app, times: 300) }
        #expect(try play.count("app = 'flatpak:org.few'") == 10)
        #expect(try play.count("app = 'flatpak:org.a'") == 25)
        #expect(try play.count("app = 'flatpak:org.b'") == 25)
        #expect(try play.count("app = 'exe:/c'") == 60)
        try HistoryRows.trim(play.database, rows: 0, before: 0)
        #expect(try play.count("TRUE") == 0)
    }

    /// Within a minute, by the wall clock.
    @Test nonisolated func repeatsInTheFileAreOneRow() throws {
        let database = try database()
        func write(_ outcome: Outcome, _ time: EpochSeconds, _ by: Author = .nobody, _ status: Status? = nil) throws {
            var row = HistoryRow(
                time: time, request: "", app: AppID("exe:/a")!, item: .camera, outcome: outcome, by: by)
            row.status = status
            try HistoryRows.write(row, database)
        }
        func counts() throws -> [UInt32] {
            try HistoryRows.select(RowCondition(), RowPage(limit: 99, offset: 0), database).map(\.count)
        }
        for time in [1000, 1001, 1059, 1060, 1059] as [EpochSeconds] { try write(.withdrawn, time) }
        // A clock that was set back begins a new row.
        #expect(try counts() == [1, 1, 3])
        // Rows between do not matter, unless they are decisions: a grant, a denial and a grant are three rows.
        try write(.failed, 1060)
        try write(.granted, 1060, .person)
        try write(.withdrawn, 1060)
        try write(.granted, 1061, .person)
        #expect(try counts() == [2, 1, 2, 1, 3])
        try write(.denied, 1062, .person)
        try write(.granted, 1063, .person)
        try write(.granted, 1063, .permctl)
        #expect(try counts() == [1, 1, 1, 2, 1, 2, 1, 3])
        // A damaged file may have any time.
        try write(.failed, .min)
        try write(.failed, 1063)
        #expect(try counts().prefix(2) == [1, 1])
        try database.execute("DELETE FROM history WHERE time < 0 OR id = (SELECT max(id) FROM history)")
        // Uses with another status are other rows.
        try write(.used, 1064, .nobody, .granted)
        try write(.used, 1064, .nobody, .denied)
        try write(.used, 1064, .nobody, .granted)
        #expect(try counts() == [1, 2, 1, 1, 1, 2, 1, 2, 1, 3])
    }

    private func listed(_ store: DecisionStore) async throws -> [String] {
        try await history(store).map { "\($0.app?.name ?? "") \($0.outcome.rawValue) \($0.count)" }
    }

    /// Repeated rows are counted in memory, and written when the history is listed or the store is closed.
    @Test func repeatsAreOneRow() async throws {
        let store = open()
        for _ in 0..<10_000 {
            store.history.record([row("exe:/a", .withdrawn), row("exe:/a", .unavailable)])
        }
        #expect(try await listed(store) == ["/a unavailable 10000", "/a withdrawn 10000"])
        await withCheckedContinuation { done in
            store.set([], history: [row("exe:/b", .granted, .permctl)]) { _ in done.resume() }
        }
        // A row that waits is older than one that is written at once.
        store.history.record([row("exe:/c", .withdrawn)])
        try await commit(store)
        store.history.record([row("exe:/a", .withdrawn)])
        await close(store)
        let again = open()
        // A row whose count increases keeps its place.
        #expect(
            try await listed(again) == ["/c withdrawn 1", "/b granted 1", "/a unavailable 10000", "/a withdrawn 10001"])
        await close(again)
    }

    /// Seconds and status of a use are kept, and added up on disk; older rows have none.
    @Test func uses() async throws {
        let store = open()
        var use = row("exe:/a", .used)
        (use.seconds, use.status) = (7, .denied)
        store.history.record([use, row("exe:/b", .withdrawn)])
        #expect(try await listed(store) == ["/b withdrawn 1", "/a used 1"])
        store.history.record([use])
        let rows = try await history(store, outcome: .used)
        #expect(rows.map(\.seconds) == [14] && rows.map(\.status) == [.denied] && rows.map(\.count) == [2])
        let others = try await history(store, outcome: .withdrawn)
        #expect(others.map(\.seconds) == [nil] && others.map(\.status) == [nil])
        await close(store)
    }

    /// Rows caused by apps are not written at once, but together every ten seconds, which takes a few pages.
    @Test func writesAreBounded() async throws {
        let store = open()
        try await commit(store)
        await written(store)
        let size = try bytesWritten()
        let start = Loop.uptimeMilliseconds()
        for number in 0..<5000 {
            store.history.record([row("exe:/a", Outcome.allCases[number % Outcome.allCases.count])])
            if number % 100 == 0 {
                await withCheckedContinuation { done in store.whenWritten { done.resume() } }
            }
        }
        let timesWritten = (Loop.uptimeMilliseconds() - start) / 10_000
        #expect(try bytesWritten() - size <= timesWritten * 64 << 10)
        #expect(try await listed(store).count == Outcome.allCases.count)
        #expect(try bytesWritten() > size && bytesWritten() - size <= (timesWritten + 1) * 64 << 10)
        await close(store)
    }

    /// The size of the write-ahead log, which receives every page that is written.
    private func bytesWritten() throws -> Int64 {
        var status = stat()
        try #require(stat(folder.file("state/permd.db-wal"), &status) == 0)
        return Int64(status.st_size)
    }

    /// The disk is full while the history is trimmed: changes are still committed, and rows are trimmed later.
    @Test func aTrimmingThatFails() async throws {
        let store = open()
        try await commit(store)
        store.history.limits = (rows: 8, days: 90)
        for app in ["exe:/a", "exe:/b", "exe:/c"] { store.history.record([row(app, .withdrawn)]) }
        try Database(path: folder.file("state/permd.db")).execute(
            "CREATE TRIGGER full BEFORE DELETE ON history BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END")
        #expect(try await listed(store).count == 3)
        try await commit(store)
        try Database(path: folder.file("state/permd.db")).execute("DROP TRIGGER full")
        store.history.record([row("exe:/d", .withdrawn)])
        #expect(try await listed(store) == ["/d withdrawn 1", "/c withdrawn 1"])
        await close(store)
    }
}
