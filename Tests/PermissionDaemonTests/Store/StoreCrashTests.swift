// The two databases after a crash at any point between their commits: nothing told is lost, nothing ended comes back.

import DBus
import Glibc
import Logging
import PermissionCore
import PermissionModel
import PermissionTestKit
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct StoreCrashTests {
    private let folder = try! TemporaryFolder()
    private let app = AppID("exe:/usr/bin/a")!

    private var paths: StorePaths { StorePaths(state: folder.file("state"), session: folder.file("run")) }

    private func open(boot: String = "boot") -> DecisionStore {
        var log = Logger(label: "test")
        log.logLevel = .critical
        return DecisionStore(paths: paths, bootID: boot, now: 1000, log: log)
    }

    private func decision(_ verdict: Verdict, _ duration: Duration, process: ProcessKey? = nil) -> Decision {
        Decision(
            app: app, permission: .camera, verdict: verdict, duration: duration, decided: 1000, by: .person,
            process: process)
    }

    /// Runs SQL on one of the files, as a crash would have left it.
    private func tamper(_ file: String, _ sql: String) throws {
        let database = try Database(path: folder.file(file))
        try database.execute(sql)
        // New rows only: a crash leaves whole ones.
        try StoreSeal.sealAll(database, file.hasPrefix("state") ? StoreSeal.lasting : StoreSeal.session)
    }

    @Test func everyDurationComesBack() async throws {
        let process = ProcessKey(pid: 77, startTime: 5)
        let store = open()
        try await commit(store, .set(decision(.grant, .once, process: process)))
        try await commit(
            store,
            .set(
                Decision(
                    app: app, permission: .microphone, verdict: .deny, duration: .session, decided: 1, by: .permctl)),
            .set(
                Decision(
                    app: app, permission: .location, verdict: .grant, duration: .until(2000), decided: 1, by: .person)))
        await close(store)
        let again = open()
        #expect(try list(again).sorted() == ["deny session", "grant once", "grant until"])
        #expect(again.processDecision(app, .camera, process)?.verdict == .grant)
        #expect(again.processDecision(app, .camera, ProcessKey(pid: 77, startTime: 6)) == nil)
        #expect(again.appDecision(app, .location)?.duration == .until(2000))
        await close(again)
        // After a boot the session's are over.
        let booted = open(boot: "other")
        #expect(try list(booted) == ["grant until"])
        await close(booted)
    }

    /// A session decision was committed, and the lasting one it replaces was not deleted any more.
    @Test func theNewerSessionDecisionStands() async throws {
        let store = open()
        try await commit(store, .set(decision(.grant, .always)))
        try await commit(store, .set(decision(.deny, .session)))
        await close(store)
        try tamper(
            "state/permd.db",
            "INSERT INTO decision VALUES ('exe:/usr/bin/a', 'camera', 'grant', 'always', NULL, 1000, 'person', 1, NULL)"
        )
        let again = open()
        #expect(try list(again) == ["deny session"])
        #expect(again.appDecision(app, .camera)?.verdict == .deny)
        await close(again)
    }

    /// A lasting decision was committed, and the session's rows it replaces were not deleted any more.
    @Test func theNewerLastingDecisionStands() async throws {
        let store = open()
        try await commit(store, .set(decision(.deny, .always)))
        await close(store)
        try tamper(
            "run/session.db",
            """
            INSERT INTO decision VALUES ('exe:/usr/bin/a', 'camera', 'grant', 1000, 'person', 1, 0, 0, NULL);
            INSERT INTO decision VALUES ('exe:/usr/bin/a', 'camera', 'grant', 1000, 'person', 1, 77, 5, NULL)
            """)
        let again = open()
        #expect(try list(again) == ["deny always"])
        #expect(again.processDecision(app, .camera, ProcessKey(pid: 77, startTime: 5)) == nil)
        await close(again)
    }

    /// A `once` decision of one process and a lasting one of the app stand beside each other when it is newer.
    @Test func aNewerOnceKeepsTheLastingOne() async throws {
        let store = open()
        try await commit(store, .set(decision(.deny, .always)))
        try await commit(store, .set(decision(.grant, .once, process: ProcessKey(pid: 77, startTime: 5))))
        await close(store)
        let again = open()
        #expect(try list(again).sorted() == ["deny always", "grant once"])
        await close(again)
    }

    /// A file of the first version gets what came later, and keeps what it has.
    @Test func anOlderFileBecomesANewerOne() async throws {
        let path = paths.stateFile
        let folder = try #require(path.split(separator: "/").dropLast().last)
        _ = mkdir(self.folder.file(String(folder)), 0o700)
        let old = try Database(path: path)
        #expect(try Schema(steps: [Schema.persistent.steps[0]]).migrate(old) == .ready)
        try old.execute(
            "INSERT INTO decision VALUES ('exe:/usr/bin/a', 'camera', 'deny', 'always', NULL, 1000, 'person', 1)")
        let store = open()
        #expect(try list(store) == ["deny always"])
        let answer = PortalAnswer(
            key: PortalKey(appID: "org.example.A", permission: .camera), app: app, verdict: .grant)
        try await commit(store, .savePortalAnswer(answer))
        await close(store)
        let again = open()
        #expect(again.portalAnswers() == [answer])
        try await commit(again, .removePortalAnswer(answer.key))
        #expect(again.portalAnswers() == [])
        await close(again)
    }

    @Test func anAppWideDecisionEndsOnce() async throws {
        let process = ProcessKey(pid: 77, startTime: 5)
        for duration in [Duration.always, .session, .until(2000)] {
            let store = open()
            try await commit(store, .set(decision(.grant, .once, process: process)))
            try await commit(store, .set(decision(.deny, duration)))
            #expect(store.processDecision(app, .camera, process) == nil)
            await close(store)
            let again = open()
            #expect(try list(again) == ["deny \(duration.word.rawValue)"])
            try await commit(again, .remove(app: nil, permission: nil))
            #expect(try list(again).isEmpty)
            await close(again)
        }
    }

    @Test func rowsThatAreNoValuesAreSkipped() async throws {
        let store = open()
        try await commit(store, .set(decision(.grant, .always)))
        await close(store)
        for row in [
            "'nonsense', 'camera', 'grant', 'always', NULL, 1, 'person', 1",
            "'exe:/b', 'screen', 'grant', 'always', NULL, 1, 'person', 1",
            "'exe:/b', 'camera', 'perhaps', 'always', NULL, 1, 'person', 1",
            "'exe:/c', 'camera', 'grant', 'until', NULL, 1, 'person', 1",
            "'exe:/d', 'camera', 'grant', 'once', NULL, 1, 'person', 1",
            "'exe:/e', 'camera', 'grant', 'always', NULL, 1, 'nobody', 1",
        ] { try tamper("state/permd.db", "INSERT INTO decision VALUES (\(row), NULL)") }
        let again = open()
        #expect(try list(again) == ["grant always"])
        #expect(again.appDecision(AppID("exe:/d")!, .camera) == nil)
        await close(again)
    }

    /// A bad disk makes another decision of one: it is nobody's, and is told.
    @Test(arguments: [
        "app = 'exe:/usr/bin/b'", "verdict = 'grant'", "until = 5000", "duration = 'always', until = NULL",
        "permission = 'location'", "seal = NULL", "by = 'permctl'", "until = 500",
    ])
    func changedRowsAreNotTrusted(_ change: String) async throws {
        let store = open()
        try await commit(store, .set(decision(.deny, .until(2000))))
        await close(store)
        try Database(path: folder.file("state/permd.db")).execute("UPDATE decision SET \(change)")
        let again = open()
        #expect(try list(again).isEmpty)
        #expect(again.appDecision(app, .camera) == nil)
        #expect(again.findings.contains { $0.contains("damaged rows") })
        try await commit(again, .expire(1000))
        await close(again)
        // It is not removed as if it had been the person's.
        #expect(try Database(path: folder.file("state/permd.db")).integer("SELECT count(*) FROM decision") == 1)
    }

    /// The index of ends, or the row alone, says that a decision is over.
    @Test(arguments: [(index: 500, row: 2000), (index: 2000, row: 500)])
    func onlyWhatIsOverEnds(_ ends: (index: Int, row: Int)) async throws {
        let store = open()
        try await commit(store, .set(decision(.deny, .until(2000))))
        await close(store)
        let path = folder.file("state/permd.db")
        try Database(path: path).execute("UPDATE decision SET until = \(ends.index)")
        // The index is taken away while the row gets another end.
        let index = "CREATE INDEX decision_until ON decision (until) WHERE until IS NOT NULL"
        let root = try #require(
            try Database(path: path).integer("SELECT rootpage FROM sqlite_master WHERE name = 'decision_until'"))
        try Database(path: path).execute(
            "PRAGMA writable_schema = ON; DELETE FROM sqlite_master WHERE name = 'decision_until'")
        try Database(path: path).execute(
            """
            UPDATE decision SET until = \(ends.row); PRAGMA writable_schema = ON;
            INSERT INTO sqlite_master VALUES ('index', 'decision_until', 'decision', \(root), '\(index)')
            """)
        let again = open()
        try await commit(again, .expire(1000))
        #expect(try list(again) == (ends.row == 2000 ? ["deny until"] : []))
        #expect(again.findings.contains { $0.contains("damaged rows") })
        await close(again)
    }

    @Test func emptiedFilesAreTold() async throws {
        let store = open()
        try await commit(store, .set(decision(.grant, .always)))
        await close(store)
        #expect(truncate(paths.stateFile, 0) == 0)
        let again = open()
        #expect(try list(again).isEmpty)
        #expect(again.findings.contains { $0.contains("was empty") })
        await close(again)
    }

    @Test func manyAtOnceAreAllThere() async throws {
        let store = open()
        let done = EventLog<Int>()
        for number in 0..<1000 {
            let decision = Decision(
                app: AppID("exe:/usr/bin/a\(number)")!, permission: .camera, verdict: .grant, duration: .always,
                decided: 1, by: .permctl)
            store.commit([.set(decision)], history: []) { _ in done.add(number) }
        }
        // Answered in their order.
        #expect(try await done.wait(for: 1000) == Array(0..<1000))
        await close(store)
        let again = open()
        #expect(try list(again).count == 1000)
        #expect(again.nextEnd(after: 0) == nil)
        await close(again)
    }

    @Test func aFailedJobSpoilsNoOther() async throws {
        let store = open()
        try await commit(store, .set(decision(.grant, .always)))
        try tamper(
            "state/permd.db",
            "CREATE TRIGGER no BEFORE INSERT ON decision WHEN new.app = 'exe:/bad' BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
        let results = EventLog<Bool>()
        for name in ["exe:/one", "exe:/bad", "exe:/two"] {
            let decision = Decision(
                app: AppID(name)!, permission: .camera, verdict: .grant, duration: .always, decided: 1, by: .permctl)
            store.commit([.set(decision)], history: []) { result in
                results.add((try? result.get()) != nil)
            }
        }
        #expect(try await results.wait(for: 3) == [true, false, true])
        #expect(try list(store).count == 3)
        await close(store)
    }

    /// `$XDG_RUNTIME_DIR` that is not there: session decisions hold as long as the daemon does.
    @Test func withoutARuntimeFolder() async throws {
        var log = Logger(label: "test")
        log.logLevel = .critical
        let store = DecisionStore(
            paths: StorePaths(state: folder.file("state"), session: nil), bootID: "b", now: 1000, log: log)
        try await commit(store, .set(decision(.grant, .session)))
        #expect(try list(store) == ["grant session"])
        #expect(store.findings.contains { $0.contains("XDG_RUNTIME_DIR") })
        await close(store)
    }
}
