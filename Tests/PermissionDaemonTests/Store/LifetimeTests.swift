// Decisions end whether or not anything can be written.

import DBus
import Glibc
import PermissionCore
import PermissionModel
import PermissionTestKit
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct LifetimeTests {
    private let folder = try! TemporaryFolder()
    private let app = AppID("exe:/usr/bin/a")!
    private let process = ProcessKey(pid: 77, startTime: 5)
    private let clock = ManualClock(1000)
    private let processes = FakeProcesses()

    private var paths: StorePaths { StorePaths(state: folder.file("state"), session: folder.file("run")) }

    private func open() -> DecisionStore {
        openStore(paths, now: { [clock] in clock.now }, processes: processes)
    }

    private func decision(_ permission: Permission, _ duration: Duration) -> Decision {
        Decision(
            app: app, permission: permission, verdict: .grant, duration: duration, decided: 1, by: .person,
            process: duration == .once ? process : nil)
    }

    /// A decision of each lifetime.
    private func decideAll(_ store: DecisionStore) async throws {
        try await commit(
            store, .set(decision(.camera, .session)), .set(decision(.microphone, .until(2000))),
            .set(decision(.location, .once)), .set(decision(.bluetooth, .always)))
    }

    enum Obstacle: CaseIterable, Sendable { case none, fullDisk, newerSchema }

    /// From now on nothing can be written.
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

    /// `permission verdict` of each change that everybody is told of.
    private func changes(of store: DecisionStore) -> EventLog<String> {
        let log = EventLog<String>()
        store.onChange = { for change in $0 { log.add("\(change.permission) \(change.verdict?.rawValue ?? "-")") } }
        return log
    }

    private func rows() throws -> Int64? {
        try Database(path: paths.stateFile, .reading).integer("SELECT count(*) FROM decision")
    }

    @Test(arguments: [Obstacle.none, .fullDisk])
    func theSessionEnds(_ obstacle: Obstacle) async throws {
        let store = open()
        try await decideAll(store)
        try await commit(
            store,
            .saveDismissals(DismissalRecord(app: app, question: .camera, count: 3, pausedUntil: 9000, since: 1000)))
        try obstruct(obstacle)
        let changes = changes(of: store)
        store.endSession()
        // What a process has once goes on with it.
        #expect(inForce(store) == [.microphone, .bluetooth, .location])
        #expect(changes.all == ["camera -"])
        await written(store)
        #expect(try rows() == (obstacle == .none ? 3 : 4))
        #expect(store.listDismissals().isEmpty)
        // Killed here and started again.
        let again = open()
        #expect(inForce(again) == [.microphone, .bluetooth, .location])
        #expect(again.listDismissals().isEmpty)
        await close(again)
        await close(store)
    }

    /// The store cannot be read, so what was decided is known in memory alone.
    @Test func theSessionEndsWithANewerStore() async throws {
        let first = open()
        try await decideAll(first)
        await close(first)
        try obstruct(.newerSchema)
        let store = open()
        #expect(inForce(store).isEmpty)
        store.hold(decision(.location, .once))
        #expect(inForce(store) == [.location])
        let changes = changes(of: store)
        store.endSession()
        #expect(inForce(store) == [.location])
        // A reset is refused for the file, and takes back what memory holds.
        await #expect(throws: StoreError.self) { try await commit(store, .remove(app: app, permission: nil)) }
        #expect(inForce(store).isEmpty && changes.all == ["location -"])
        await close(store)
        try Database(path: paths.stateFile).execute("PRAGMA user_version = \(Schema.current.version)")
        let again = open()
        #expect(inForce(again) == [.microphone, .bluetooth, .location])
        await close(again)
    }

    /// Not even the token can be written.
    @Test func theSessionEndsWithoutARuntimeFolder() async throws {
        let store = open()
        try await decideAll(store)
        try #require(system("rm -r \(folder.file("run")) && echo >\(folder.file("run"))") == 0)
        store.endSession()
        #expect(inForce(store) == [.microphone, .bluetooth, .location])
        #expect(store.findings.contains { $0.contains("decisions for the session are forgotten") })
        // One that could not be known again is not acknowledged.
        await #expect(throws: StoreError.self) { try await commit(store, .set(decision(.camera, .session))) }
        #expect(inForce(store) == [.microphone, .bluetooth, .location])
        try await commit(store, .set(decision(.camera, .until(3000))))
        try await commit(store, .remove(app: app, permission: .camera))
        await close(store)
        let again = open()
        #expect(inForce(again) == [.microphone, .bluetooth, .location])
        await close(again)
    }

    @Test(arguments: [Obstacle.none, .fullDisk])
    func aTimeIsOver(_ obstacle: Obstacle) async throws {
        let store = open()
        try await decideAll(store)
        try obstruct(obstacle)
        let changes = changes(of: store)
        clock.advance(by: 999)
        store.noticeEnds()
        #expect(changes.all.isEmpty && inForce(store).contains(.microphone))
        clock.advance(by: 1)
        #expect(!inForce(store).contains(.microphone))
        store.noticeEnds()
        #expect(changes.all == ["microphone -"])
        await written(store)
        // Told once, and over for good, however the clock is set.
        clock.advance(by: -1000)
        store.noticeEnds()
        #expect(changes.all == ["microphone -"] && !inForce(store).contains(.microphone))
        #expect(try !list(store).contains("grant until"))
        guard obstacle != .none else { return await close(store) }
        #expect(try rows() == 4)
        try mend()
        try await commit(store, .removeDismissals(app: nil, question: nil))
        #expect(try rows() == 3 && !inForce(store).contains(.microphone))
        await close(store)
    }

    /// The disk was slow: the time was over when the decision was on it.
    @Test func aTimeThatIsOverWhileItIsWritten() async throws {
        let store = open()
        let changes = changes(of: store)
        store.commit([.set(decision(.microphone, .until(1001)))], history: []) { _ in }
        clock.advance(by: 5)
        store.noticeEnds()
        #expect(try await changes.wait(for: 2) == ["microphone grant", "microphone -"])
        await written(store)
        #expect(try rows() == 0)
        await close(store)
    }

    /// The clock goes on between any two looks at it: no end falls between them.
    @Test(arguments: 0..<8)
    func aClockThatTicksMeanwhile(_ start: Int64) async throws {
        let clock = ManualClock(1985 + start)
        let store = openStore(
            paths,
            now: {
                clock.advance(by: 1)
                return clock.now
            }, processes: processes)
        let changes = changes(of: store)
        try await commit(store, .set(decision(.microphone, .until(2000))))
        #expect(try await changes.wait(for: 2) == ["microphone grant", "microphone -"])
        await close(store)
    }

    @Test(arguments: [Obstacle.none, .fullDisk])
    func aProcessExits(_ obstacle: Obstacle) async throws {
        let store = open()
        try await decideAll(store)
        try obstruct(obstacle)
        let changes = changes(of: store)
        processes.exit(process, isTold: false)
        #expect(!inForce(store).contains(.location))
        processes.exit(process)
        #expect(changes.all == ["location -"])
        await written(store)
        #expect(try rows() == (obstacle == .none ? 3 : 4))
        await close(store)
    }

    /// It exited while permd did not run.
    @Test func aProcessHasExited() async throws {
        let first = open()
        try await decideAll(first)
        await close(first)
        processes.exit(process)
        let store = open()
        let changes = changes(of: store)
        #expect(try inForce(store) == [.camera, .microphone, .bluetooth] && list(store).count == 3)
        store.lookForEnds()
        #expect(changes.all == ["location -"])
        await written(store)
        #expect(try rows() == 3)
        await close(store)
    }

    @Test(arguments: [Obstacle.none, .fullDisk])
    func everythingIsReset(_ obstacle: Obstacle) async throws {
        let store = open()
        try await decideAll(store)
        try obstruct(obstacle)
        let changes = changes(of: store)
        let reset = Change.remove(app: app, permission: nil)
        if obstacle == .none {
            try await commit(store, reset)
        } else {
            await #expect(throws: StoreError.self) { try await commit(store, reset) }
        }
        #expect(try inForce(store).isEmpty && list(store).isEmpty)
        #expect(changes.all.sorted() == ["bluetooth -", "camera -", "location -", "microphone -"])
        guard obstacle != .none else { return await close(store) }
        // Once it can be written, the rows go before anything else is decided.
        try mend()
        try await commit(store, .set(decision(.camera, .always)))
        #expect(try inForce(store) == [.camera] && rows() == 1)
        await close(store)
        let again = open()
        #expect(inForce(again) == [.camera])
        await close(again)
    }

    /// What is taken back is bounded, and never more than was named: of the file, nothing else is removed later.
    @Test func moreResetsThanAreKept() async throws {
        let store = open()
        try await decideAll(store)
        let others = (0..<DecisionStore.maximumVoid).map { AppID("exe:/other\($0)")! }
        for other in others {
            let decision = Decision(
                app: other, permission: .camera, verdict: .deny, duration: .always, decided: 1, by: .permctl)
            store.commit([.set(decision)], history: []) { _ in }
        }
        await written(store)
        try obstruct(.fullDisk)
        for other in others { store.commit([.remove(app: other, permission: nil)], history: []) { _ in } }
        await #expect(throws: StoreError.self) { try await commit(store, .remove(app: app, permission: nil)) }
        #expect(inForce(store) == Permission.allCases)
        #expect(store.findings.contains { $0.contains("resets could not be written") }, "\(store.findings)")
        try mend()
        try await commit(store, .removeDismissals(app: nil, question: nil))
        #expect(try inForce(store) == Permission.allCases && rows() == 4)
        await close(store)
    }

    /// A decision that was queued behind a reset that fails is not taken back with it.
    @Test func whatIsDecidedBehindAResetThatFails() async throws {
        let store = open()
        try await commit(store, .set(decision(.camera, .always)), .set(decision(.location, .always)))
        try Database(path: paths.stateFile).execute(
            "CREATE TRIGGER full BEFORE DELETE ON decision WHEN old.permission = 'location' BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
        let results = EventLog<String>()
        store.commit([.remove(app: app, permission: nil)], history: []) {
            results.add("reset \((try? $0.get()) != nil)")
        }
        store.commit([.set(decision(.camera, .until(5000)))], history: []) {
            results.add("set \((try? $0.get()) != nil)")
        }
        // The same rows cannot be removed before the second one either, so it is refused rather than taken back unseen.
        #expect(try await results.wait(for: 2) == ["reset false", "set false"])
        #expect(inForce(store).isEmpty)
        try Database(path: paths.stateFile).execute("DROP TRIGGER full")
        try await commit(store, .set(decision(.camera, .until(5000))))
        #expect(try inForce(store) == [.camera] && list(store) == ["grant until"])
        await close(store)
    }

    // MARK: The session's token

    @Test(arguments: ["", "permd session 1\na\nboot\n\n0\n", "nonsense", "permd session 1\na\nboot\n\n"])
    func aTokenThatIsDamagedEndsTheSession(_ content: String) async throws {
        let store = open()
        try await decideAll(store)
        await close(store)
        try folder.write(content, to: "run/session")
        let again = open()
        #expect(inForce(again) == [.microphone, .bluetooth, .location])
        #expect(again.findings.contains { $0.contains("decisions for the session have ended") })
        await close(again)
    }

    @Test func aTokenOfAnotherBoot() async throws {
        let store = open()
        try await decideAll(store)
        store.session.keep(logins: ["1"])
        await close(store)
        let again = openStore(paths, boot: "another", processes: processes)
        // A process of the same number and start time is another one.
        #expect(inForce(again) == [.microphone, .bluetooth])
        #expect(again.session.logins.isEmpty && again.findings.isEmpty)
        await close(again)
    }

    // MARK: The end

    /// What cannot be read any more is not answered as if nothing had been decided.
    @Test func aClosedStoreHasNoAnswers() async throws {
        let store = open()
        try await decideAll(store)
        await close(store)
        #expect(store.state == .closed)
        #expect(throws: PermissionError.self) { try list(store) }
        #expect(throws: PermissionError.self) {
            try store.listHistory(app: nil, question: nil, since: nil, limit: 1)
        }
    }

    /// The writer has closed a damaged file before it is renamed: what it acknowledges is in the one that takes its place.
    @Test func aDamagedFileIsNotRenamedUnderTheWriter() async throws {
        let first = open()
        try await decide(0..<300, first)
        await close(first)
        let store = open()
        let results = EventLog<Bool>()
        try damage()
        for number in 300..<900 {
            store.commit([.set(decision(number))], history: []) { results.add((try? $0.get()) != nil) }
            // The reader comes upon the damage while the writer is busy.
            if number == 600 { _ = store.decision(AppID("exe:/somebody")!, .camera, for: process) }
        }
        try await results.wait(for: 600)
        await written(store)
        #expect(store.state == .writable)
        #expect(store.findings.contains { $0.contains("set aside") }, "\(store.findings)")
        try await decide(900..<1000, store)
        let there = try store.listDecisions(app: nil, permission: nil)
        #expect(there.count >= 100)
        await close(store)
        let again = open()
        #expect(try again.listDecisions(app: nil, permission: nil) == there)
        #expect(again.findings.isEmpty, "\(again.findings)")
        await close(again)
    }

    private func decision(_ number: Int) -> Decision {
        Decision(
            app: AppID("exe:/b\(number)")!, permission: .camera, verdict: .deny, duration: .always, decided: 1,
            by: .permctl)
    }

    private func decide(_ numbers: Range<Int>, _ store: DecisionStore) async throws {
        for number in numbers { try await commit(store, .set(decision(number))) }
    }

    /// Overwrites every page but the first, as a failing disk might.
    private func damage() throws {
        let fd = Glibc.open(paths.stateFile, O_WRONLY | O_CLOEXEC)
        try #require(fd >= 0)
        defer { Glibc.close(fd) }
        let noise = [UInt8](repeating: 0xA5, count: 256 << 10)
        try #require(pwrite(fd, noise, noise.count, 4096) == noise.count)
    }
}
