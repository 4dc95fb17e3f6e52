// The store after it is reopened: no acknowledged decision is lost, none that ended returns, no damaged row is used.

import DBus
import Glibc
import PermissionCore
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct StoreRowsTests {
    private let folder = try! TemporaryFolder()
    private let app = AppID("exe:/usr/bin/a")!

    private var paths: StorePaths { StorePaths(state: folder.file("state"), session: folder.file("run")) }

    private func open(boot: String = "boot") -> DecisionStore { openStore(paths, boot: boot) }

    private func decision(_ verdict: Verdict, _ duration: Duration, process: ProcessKey? = nil) -> Decision {
        Decision(
            app: app, permission: .camera, verdict: verdict, duration: duration, decided: 1000, by: .person,
            process: process)
    }

    /// Runs SQL on the file.
    private func tamper(_ file: String, _ sql: String) throws {
        let database = try Database(path: folder.file(file))
        try database.execute(sql)
    }

    @Test func everyDurationIsRestored() async throws {
        let process = ProcessKey(pid: 77, startTime: 5)
        let store = open()
        try await commit(store, decision(.grant, .once, process: process))
        try await commit(
            store,
            Decision(app: app, permission: .microphone, verdict: .deny, duration: .session, decided: 1, by: .permctl),
            Decision(
                app: app, permission: .location, verdict: .grant, duration: .until(5_000_000_000), decided: 1,
                by: .person))
        await close(store)
        let again = open()
        #expect(try await list(again).sorted() == ["deny session", "grant once", "grant until"])
        #expect(again.decision(app, .camera, for: process)?.verdict == .grant)
        #expect(again.decision(app, .camera, for: ProcessKey(pid: 77, startTime: 6)) == nil)
        #expect(again.appDecision(app, .location)?.duration == .until(5_000_000_000))
        await close(again)
        // After a reboot, `session` and `once` decisions have ended.
        let booted = open(boot: "other")
        #expect(try await list(booted) == ["grant until"])
        await close(booted)
    }

    /// It reports an error instead of an empty list.
    @Test func aClosedStoreHasNoAnswers() async throws {
        let store = open()
        try await commit(store, decision(.grant, .always))
        await close(store)
        #expect(store.queue.state == .closed)
        await #expect(throws: StoreError.self) { try await commit(store, decision(.deny, .always)) }
        await #expect(throws: StoreError.self) { try await history(store) }
    }

    /// A newer `once` decision of a process does not replace a lasting decision of the app.
    @Test func aNewerOnceKeepsTheLastingOne() async throws {
        let store = open()
        try await commit(store, decision(.deny, .always))
        try await commit(store, decision(.grant, .once, process: ProcessKey(pid: 77, startTime: 5)))
        await close(store)
        let again = open()
        #expect(try await list(again).sorted() == ["deny always", "grant once"])
        await close(again)
    }

    @Test func portalAnswersAreRestored() async throws {
        let store = open()
        let answer = PortalVerdict(
            key: PortalKey(appID: "org.example.A", item: .camera), app: app, verdict: .grant)
        try await write(store) { (database) throws(DatabaseError) in try PortalVerdictRows.save(answer, database) }
        await close(store)
        let again = open()
        #expect(await restored(again).portalVerdicts == [answer])
        try await write(again) { (database) throws(DatabaseError) in
            try PortalVerdictRows.remove(answer.key, database)
        }
        #expect(await restored(again).portalVerdicts == [])
        await close(again)
    }

    @Test func anAppWideDecisionReplacesOnceDecisions() async throws {
        let process = ProcessKey(pid: 77, startTime: 5)
        for duration in [Duration.always, .session, .until(5_000_000_000)] {
            let store = open()
            try await commit(store, decision(.grant, .once, process: process))
            try await commit(store, decision(.deny, duration))
            #expect(store.decision(app, .camera, for: process)?.process == nil)
            await close(store)
            let again = open()
            #expect(try await list(again) == ["deny \(duration.kind.rawValue)"])
            try await reset(again)
            #expect(try await list(again).isEmpty)
            await close(again)
        }
    }

    @Test func rowsWithInvalidValuesAreSkipped() async throws {
        let store = open()
        try await commit(store, decision(.grant, .always))
        await close(store)
        for row in [
            ["nonsense", "camera", "grant", "always", "person"], ["exe:/b", "screen", "grant", "always", "person"],
            ["exe:/b", "camera", "perhaps", "always", "person"], ["exe:/c", "camera", "grant", "until", "person"],
            ["exe:/d", "camera", "grant", "once", "person"], ["exe:/f", "camera", "grant", "session", "person"],
            ["exe:/e", "camera", "grant", "always", "nobody"],
        ] {
            // The checksum is correct for the row.
            let fields = row.map { SQLValue.text($0) }
            let checksum = SQLValue.integer(RowChecksum.of(Array(fields[0...3]) + [.null, .integer(1), fields[4]]))
            try Database(path: paths.stateFile).run(
                """
                INSERT INTO decision (app, permission, verdict, lifetime, by, checksum, decided, pid, start)
                VALUES (?, ?, ?, ?, ?, ?, 1, 0, 0)
                """, fields + [checksum])
        }
        let again = open()
        #expect(try await list(again) == ["grant always"])
        #expect(again.appDecision(AppID("exe:/d")!, .camera) == nil)
        await close(again)
    }

    /// A row that a failing disk has changed into another decision is not used, and is reported.
    @Test(arguments: [
        "app = 'exe:/usr/bin/b'", "verdict = 'grant'", "until = 5000", "lifetime = 'always', until = NULL",
        "permission = 'location'", "checksum = NULL", "by = 'permctl'", "until = 500", "scope = 'x'", "pid = 7",
        "app = 'exe:/usr/bin/b', scope = 'x'",
    ])
    func changedRowsAreNotTrusted(_ change: String) async throws {
        let store = open()
        try await commit(store, decision(.deny, .until(5_000_000_000)))
        await close(store)
        try Database(path: folder.file("state/permd.db")).execute("UPDATE decision SET \(change)")
        let again = open()
        #expect(try await list(again).isEmpty)
        #expect(again.appDecision(app, .camera) == nil)
        await withCheckedContinuation { done in again.queue.checkIntegrity { done.resume() } }
        #expect(again.queue.problems.contains { $0.contains("damaged rows") })
        again.noticeEnds()
        try await commit(
            again,
            Decision(app: app, permission: .bluetooth, verdict: .deny, duration: .always, decided: 1, by: .permctl))
        await close(again)
        // The damaged row is not removed like a decision that has ended.
        #expect(try Database(path: folder.file("state/permd.db")).integer("SELECT count(*) FROM decision") == 2)
    }

    @Test func emptiedFilesAreReported() async throws {
        let store = open()
        try await commit(store, decision(.grant, .always))
        await close(store)
        #expect(truncate(paths.stateFile, 0) == 0)
        let again = open()
        #expect(try await list(again).isEmpty)
        #expect(again.queue.problems.contains { $0.contains("was empty") })
        await close(again)
    }

    @Test func manyDecisionsAtOnceAreAllStored() async throws {
        let store = open()
        let done = EventLog<Int>()
        for number in 0..<1000 {
            let decision = Decision(
                app: AppID("exe:/usr/bin/a\(number)")!, permission: .camera, verdict: .grant, duration: .always,
                decided: 1, by: .permctl)
            store.set([decision], history: []) { _ in done.add(number) }
        }
        // They are acknowledged in order.
        #expect(try await done.wait(for: 1000) == Array(0..<1000))
        await close(store)
        let again = open()
        #expect(try await list(again).count == 1000)
        await close(again)
    }

    @Test func aFailedChangeDoesNotAffectOthers() async throws {
        let store = open()
        try await commit(store, decision(.grant, .always))
        try tamper(
            "state/permd.db",
            "CREATE TRIGGER no BEFORE INSERT ON decision WHEN new.app = 'exe:/bad' BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
        let results = EventLog<Bool>()
        for name in ["exe:/one", "exe:/bad", "exe:/two"] {
            let decision = Decision(
                app: AppID(name)!, permission: .camera, verdict: .grant, duration: .always, decided: 1, by: .permctl)
            store.set([decision], history: []) { result in
                results.add(result.error == nil)
            }
        }
        #expect(try await results.wait(for: 3) == [true, false, true])
        #expect(try await list(store).count == 3)
        await close(store)
    }

    /// Without `$XDG_RUNTIME_DIR`, session decisions hold as long as the daemon runs.
    @Test func withoutARuntimeFolder() async throws {
        let store = openStore(StorePaths(state: folder.file("state"), session: nil))
        try await commit(store, decision(.grant, .session))
        #expect(try await list(store) == ["grant session"])
        #expect(store.queue.problems.contains { $0.contains("XDG_RUNTIME_DIR") })
        await close(store)
    }
}
