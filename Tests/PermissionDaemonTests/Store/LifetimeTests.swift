// Decisions end even if nothing can be written.

import DBus
import Glibc
import PermissionCore
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@testable import PermissionDaemon

/// Later than the wall clock, whose timers would fire at once otherwise.
private let start: EpochSeconds = 4_000_000_000

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct LifetimeTests {
    private let folder = try! TemporaryFolder()
    private let app = AppID("exe:/usr/bin/a")!
    private let process = ProcessKey(pid: 77, startTime: 5)
    private let clock = ManualClock(start)
    private let processes = FakeProcesses()

    private var paths: StorePaths { StorePaths(state: folder.file("state"), session: folder.file("run")) }

    private func open() -> DecisionStore {
        openStore(paths, now: { [clock] in clock.now }, processes: processes)
    }

    /// A store whose file has been read.
    private func opened() async -> DecisionStore {
        let store = open()
        await written(store)
        return store
    }

    private func decision(_ permission: Permission, _ duration: Duration) -> Decision {
        Decision(
            app: app, permission: permission, verdict: .grant, duration: duration, decided: 1, by: .person,
            process: duration == .once ? process : nil)
    }

    /// A decision of each lifetime.
    private func decideAll(_ store: DecisionStore) async throws {
        try await commit(
            store, decision(.camera, .session), decision(.microphone, .until(start + 1000)),
            decision(.location, .once), decision(.bluetooth, .always))
    }

    enum Obstacle: CaseIterable, Sendable { case none, fullDisk, newerSchema }

    /// From now on the obstacle makes writing fail.
    private func obstruct(_ obstacle: Obstacle) throws {
        let database = try Database(path: paths.stateFile)
        switch obstacle {
        case .none: break
        case .fullDisk:
            for event in ["DELETE", "INSERT"] {
                try database.execute(
                    "CREATE TRIGGER full\(event) BEFORE \(event) ON decision BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
                )
            }
        case .newerSchema: try database.execute("PRAGMA user_version = 999")
        }
    }

    private func mend() throws {
        for event in ["DELETE", "INSERT"] { try Database(path: paths.stateFile).execute("DROP TRIGGER full\(event)") }
    }

    private func inForce(_ store: DecisionStore) -> [Permission] {
        Permission.allCases.filter { store.decision(app, $0, for: process) != nil }
    }

    /// Each decision that ends by itself, as its permission.
    private func ends(of store: DecisionStore) -> EventLog<String> {
        let log = EventLog<String>()
        store.onChange = { change in
            guard case .ended(let changes) = change else { return }
            for change in changes { log.add(change.permission.rawValue) }
        }
        return log
    }

    /// However the clock is set, a decision holds no longer than it was given for.
    /// As any program outside sandboxes may ask for.
    @Test func theLatestEnd() async throws {
        let end = Decision(
            app: app, permission: .camera, verdict: .grant, duration: .until(.max), decided: clock.now, by: .person)
        for _ in 0..<2 {
            let store = openStore(paths, now: { [clock] in clock.now }, processes: processes)
            try await commit(store, end)
            #expect(inForce(store) == [.camera])
            await close(store)
        }
    }

    @Test func theClockGoesBack() async throws {
        let uptime = ManualClock(1000)
        let open = { [self] in
            openStore(
                paths, now: { [clock] in clock.now }, uptime: { uptime.now * 1000 }, processes: processes)
        }
        let forAnHour = { (permission: Permission) in
            Decision(
                app: app, permission: permission, verdict: .grant, duration: .until(clock.now + 3600),
                decided: clock.now, by: .person)
        }
        let store = open()
        try await commit(store, forAnHour(.camera))
        clock.advance(by: -14 * 86_400)
        uptime.advance(by: 3000)
        #expect(inForce(store) == [.camera])
        uptime.advance(by: 600)
        #expect(inForce(store) == [])
        try await commit(store, forAnHour(.microphone))
        await close(store)
        // How long it has held is not known any more.
        clock.advance(by: -86_400)
        let again = open()
        await written(again)
        #expect(inForce(again) == [])
        await close(again)
    }

    private func rows() throws -> Int64? {
        try Database(path: paths.stateFile, isReadOnly: true).integer("SELECT count(*) FROM decision")
    }

    @Test(arguments: [Obstacle.none, .fullDisk])
    func theSessionEnds(_ obstacle: Obstacle) async throws {
        let store = await opened()
        try await decideAll(store)
        let pause = DismissalRecord(app: app, item: .camera, count: 3, pausedUntil: start + 8000, since: start)
        try await write(store) { [session = store.session.scopes.session] (database) throws(DatabaseError) in
            try DismissalRows.save(pause, session: session, database)
        }
        try obstruct(obstacle)
        let ends = ends(of: store)
        store.endSession()
        // A `once` decision lasts as long as its process.
        #expect(inForce(store) == [.microphone, .bluetooth, .location])
        #expect(ends.all == ["camera"])
        await written(store)
        #expect(try rows() == (obstacle == .none ? 3 : 4))
        #expect(await restored(store).dismissals.isEmpty)
        // The state that permd finds if it is killed here and started again.
        let again = await opened()
        #expect(inForce(again) == [.microphone, .bluetooth, .location])
        #expect(await restored(again).dismissals.isEmpty)
        await close(again)
        await close(store)
    }

    /// The store cannot be read, so only decisions in memory are known.
    @Test func theSessionEndsWithANewerStore() async throws {
        let first = await opened()
        try await decideAll(first)
        await close(first)
        try obstruct(.newerSchema)
        let store = await opened()
        #expect(inForce(store).isEmpty)
        let held = await withCheckedContinuation { done in
            store.set([decision(.location, .always)], history: [], orFor: process) { done.resume(returning: $0) }
        }
        #expect(held.error != nil && held.changes.map(\.permission) == [.location])
        #expect(inForce(store) == [.location])
        store.endSession()
        #expect(inForce(store) == [.location])
        // A reset fails for the file, but removes the decisions in memory.
        await #expect(throws: StoreError.self) { try await reset(store, app) }
        #expect(inForce(store).isEmpty)
        await close(store)
        try Database(path: paths.stateFile).execute("PRAGMA user_version = \(Schema.current.version)")
        let again = await opened()
        #expect(inForce(again) == [.microphone, .bluetooth, .location])
        await close(again)
    }

    /// The session's token cannot be written either.
    @Test func theSessionEndsWithoutARuntimeFolder() async throws {
        let store = await opened()
        try await decideAll(store)
        try #require(system("rm -r \(folder.file("run")) && echo >\(folder.file("run"))") == 0)
        store.endSession()
        #expect(inForce(store) == [.microphone, .bluetooth, .location])
        await written(store)
        #expect(store.queue.problems.contains { $0.contains("decisions for the session are forgotten") })
        // A session decision is not acknowledged, because a restarted permd would not recognize its session.
        await #expect(throws: StoreError.self) { try await commit(store, decision(.camera, .session)) }
        #expect(inForce(store) == [.microphone, .bluetooth, .location])
        try await commit(store, decision(.camera, .until(start + 2000)))
        try await reset(store, app, .camera)
        await close(store)
        let again = await opened()
        #expect(inForce(again) == [.microphone, .bluetooth, .location])
        await close(again)
    }

    @Test(arguments: [Obstacle.none, .fullDisk])
    func anUntilDecisionEnds(_ obstacle: Obstacle) async throws {
        let store = await opened()
        try await decideAll(store)
        try obstruct(obstacle)
        let ends = ends(of: store)
        clock.advance(by: 999)
        store.noticeEnds()
        #expect(ends.all.isEmpty && inForce(store).contains(.microphone))
        clock.advance(by: 1)
        #expect(!inForce(store).contains(.microphone))
        store.noticeEnds()
        #expect(ends.all == ["microphone"])
        await written(store)
        #expect(try await !list(store).contains("grant until"))
        // The end is reported once, even if the clock is set back.
        clock.advance(by: -1000)
        store.noticeEnds()
        #expect(ends.all == ["microphone"] && !inForce(store).contains(.microphone))
        clock.advance(by: 1000)
        #expect(try rows() == (obstacle == .none ? 3 : 4))
        if obstacle != .none { try mend() }
        await close(store)
        let again = await opened()
        #expect(!inForce(again).contains(.microphone))
        await written(again)
        #expect(try rows() == 3)
        await close(again)
    }

    /// With a slow disk the decision has ended before it is stored.
    @Test func anUntilDecisionThatEndsWhileItIsWritten() async throws {
        let store = await opened()
        let ends = ends(of: store)
        store.set([decision(.microphone, .until(start + 1))], history: []) { _ in ends.add("written") }
        clock.advance(by: 5)
        store.noticeEnds()
        #expect(try await ends.wait(for: 2) == ["written", "microphone"])
        await written(store)
        #expect(try rows() == 0)
        await close(store)
    }

    /// An end is noticed although the file is gone.
    @Test func anUntilDecisionEndsWithoutTheFile() async throws {
        let store = openStore(paths, now: { EpochSeconds(time(nil)) }, processes: processes)
        await written(store)
        let ends = ends(of: store)
        try await commit(store, decision(.microphone, .until(EpochSeconds(time(nil)) + 2)))
        try #require(system("rm -r \(folder.file("state"))") == 0)
        #expect(try await ends.wait(for: 1) == ["microphone"])
        await close(store)
    }

    /// The clock advances at each reading; no end is missed between two readings.
    @Test(arguments: 0..<8)
    func aClockThatAdvancesMeanwhile(_ seconds: Int64) async throws {
        let clock = ManualClock(1985 + seconds)
        let store = openStore(
            paths,
            now: {
                clock.advance(by: 1)
                return clock.now
            }, processes: processes)
        let ends = ends(of: store)
        try await commit(store, decision(.microphone, .until(2000)))
        #expect(try await ends.wait(for: 1) == ["microphone"])
        await close(store)
    }

    @Test(arguments: [Obstacle.none, .fullDisk])
    func aProcessExits(_ obstacle: Obstacle) async throws {
        let store = await opened()
        try await decideAll(store)
        try obstruct(obstacle)
        let ends = ends(of: store)
        processes.exit(process, isTold: false)
        #expect(!inForce(store).contains(.location))
        processes.exit(process)
        #expect(ends.all == ["location"])
        await written(store)
        #expect(try rows() == (obstacle == .none ? 3 : 4))
        await close(store)
    }

    @Test func aProcessExitsWhilePermdIsNotRunning() async throws {
        let first = await opened()
        try await decideAll(first)
        await close(first)
        processes.exit(process)
        let store = open()
        let ends = ends(of: store)
        await written(store)
        #expect(inForce(store) == [.camera, .microphone, .bluetooth])
        #expect(ends.all == ["location"])
        await written(store)
        #expect(try rows() == 3)
        await close(store)
    }

    @Test(arguments: [Obstacle.none, .fullDisk])
    func everythingIsReset(_ obstacle: Obstacle) async throws {
        let store = await opened()
        try await decideAll(store)
        try obstruct(obstacle)
        let report = await withCheckedContinuation { done in
            store.reset(DecisionFilter(app: app), by: .permctl) { done.resume(returning: $0) }
        }
        #expect((report.error == nil) == (obstacle == .none))
        #expect(Set(report.changes.map(\.permission)) == Set(Permission.allCases))
        #expect(report.changes.count == 4 && report.changes.allSatisfy { $0.verdict == nil })
        #expect(inForce(store).isEmpty)
        #expect(try await list(store).isEmpty)
        guard obstacle != .none else { return await close(store) }
        // Once the store can be written, the rows are removed before any other change.
        try mend()
        try await commit(store, decision(.camera, .always))
        #expect(try inForce(store) == [.camera] && rows() == 1)
        await close(store)
        let again = await opened()
        #expect(inForce(again) == [.camera])
        await close(again)
    }

    /// Whether or not that can be written.
    @Test(arguments: Obstacle.allCases)
    func whyTheLastGrantEndedIsKnown(_ obstacle: Obstacle) async throws {
        let store = await opened()
        try await decideAll(store)
        func ends() -> [GrantEnd?] {
            [Permission.camera, .microphone, .location, .bluetooth].map { store.lastEnd(app, $0) }
        }
        #expect(ends() == [nil, nil, nil, nil])
        try obstruct(obstacle)
        store.endSession()
        clock.advance(by: 1000)
        store.noticeEnds()
        processes.exit(process)
        #expect(ends() == [.session, .time, .exit, nil])
        store.reset(DecisionFilter(app: app), by: .permctl) { _ in }
        await written(store)
        #expect(ends() == [.session, .time, .exit, .person])
        #expect(store.lastEnd(AppID("exe:/usr/bin/b")!, .camera) == nil)
        await close(store)
    }

    @Test func aDenialEndsAGrant() async throws {
        let store = await opened()
        var denial = decision(.camera, .always)
        denial.verdict = .deny
        try await commit(store, denial)
        #expect(store.lastEnd(app, .camera) == nil)
        try await commit(store, decision(.camera, .always))
        try await commit(store, denial)
        #expect(store.lastEnd(app, .camera) == .person)
        await close(store)
    }

    /// The number of resets kept in memory is bounded; a further reset fails and removes nothing later.
    @Test func moreResetsThanCanBeKept() async throws {
        let store = await opened()
        try await decideAll(store)
        let others = (0..<DecisionMemory.maximumPendingResets).map { AppID("exe:/other\($0)")! }
        for other in others {
            let decision = Decision(
                app: other, permission: .camera, verdict: .deny, duration: .always, decided: 1, by: .permctl)
            store.set([decision], history: []) { _ in }
        }
        await written(store)
        try obstruct(.fullDisk)
        for other in others {
            store.reset(DecisionFilter(app: other), by: .permctl) { _ in }
        }
        await #expect(throws: StoreError.self) {
            try await reset(store, app)
        }
        #expect(inForce(store) == Permission.allCases)
        try mend()
        try await commit(store)
        #expect(try inForce(store) == Permission.allCases && rows() == 4)
        await close(store)
    }

    /// A reset that fails does not remove what is decided after it, in the same group of jobs or later.
    @Test func aDecisionQueuedBehindAFailedReset() async throws {
        let store = await opened()
        try await commit(store, decision(.camera, .always), decision(.location, .always))
        try Database(path: paths.stateFile).execute(
            "CREATE TRIGGER full BEFORE DELETE ON decision WHEN old.permission = 'location' BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
        let results = EventLog<String>()
        store.reset(DecisionFilter(app: app), by: .permctl) {
            results.add("reset \($0.error == nil)")
        }
        store.set([decision(.camera, .until(start + 4000))], history: []) {
            results.add("set \($0.error == nil)")
        }
        // Before the second change the same rows still cannot be removed, so it is refused.
        #expect(try await results.wait(for: 2) == ["reset false", "set false"])
        #expect(inForce(store).isEmpty)
        try Database(path: paths.stateFile).execute("DROP TRIGGER full")
        try await commit(store, decision(.camera, .until(start + 4000)))
        #expect(inForce(store) == [.camera])
        #expect(try await list(store) == ["grant until"])
        await close(store)
    }

    // MARK: The session's token

    @Test(arguments: ["", "nonsense", "a\nboot", "\nboot\n1\n"])
    func aDamagedTokenEndsTheSession(_ content: String) async throws {
        let store = await opened()
        try await decideAll(store)
        await close(store)
        try folder.write(content, to: "run/session")
        let again = await opened()
        #expect(inForce(again) == [.microphone, .bluetooth, .location])
        await close(again)
    }

    @Test func aTokenOfAnotherBoot() async throws {
        let store = await opened()
        try await decideAll(store)
        store.setLogins(["1"])
        await close(store)
        let again = openStore(paths, boot: "another", processes: processes)
        await written(again)
        // After a reboot, a process with the same PID and start time is a different process.
        #expect(inForce(again) == [.microphone, .bluetooth])
        #expect(again.session.logins.isEmpty && again.queue.problems.isEmpty)
        await close(again)
    }
}
