// At most so many decisions are kept: beyond that only those are made that replace others, and answers hold for their
// process.

import DBus
import PermissionCore
import PermissionModel
import PermissionTestKit
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct DecisionLimitTests {
    private let folder = try! TemporaryFolder(["state"])
    private let process = ProcessKey(pid: 77, startTime: 5)
    private let maximum = 20

    private var paths: StorePaths { StorePaths(state: folder.file("state"), session: folder.file("run")) }

    private func decision(_ number: Int, _ verdict: Verdict = .grant) -> Decision {
        Decision(
            app: AppID("exe:/app\(number)")!, permission: .camera, verdict: verdict, duration: .always,
            decided: EpochSeconds(number), by: .person)
    }

    /// Writes a file with that many decisions, each newer than the one before.
    private func fill(_ count: Int) throws {
        let database = try Database(path: paths.stateFile)
        try Schema.current.migrate(database)
        try database.transaction { () throws(DatabaseError) in
            for number in 0..<count { try DecisionRows.set(decision(number), database) }
        }
    }

    private func set(_ store: DecisionStore, _ decision: Decision, orFor process: ProcessKey? = nil) async
        -> StoreReport
    {
        await withCheckedContinuation { done in
            store.set([decision], history: [], orFor: process) { done.resume(returning: $0) }
        }
    }

    @Test func oneMoreIsRefused() async throws {
        try fill(maximum - 1)
        let store = openStore(paths, maximum: maximum)
        await written(store)
        #expect(!store.isFull)
        let last = decision(maximum - 1)
        let further = decision(maximum)
        // Those that are being written count.
        let reports = EventLog<ErrorKind?>()
        for decision in [last, further] { store.set([decision], history: []) { reports.add($0.error?.kind) } }
        #expect(try await reports.wait(for: 2) == [nil, .limitExceeded])
        #expect(store.isFull && store.appDecision(further.app, .camera) == nil)
        // An answer in a prompt holds for the process.
        let held = await set(store, further, orFor: process)
        #expect(held.error?.kind == .limitExceeded && held.changes.map(\.app) == [further.app])
        #expect(store.decision(further.app, .camera, for: process)?.duration == .once)
        #expect(store.appDecision(further.app, .camera) == nil)
        // One that replaces another is made, and a reset makes room.
        #expect(await set(store, decision(5, .deny)).error == nil)
        #expect(store.isFull)
        try await reset(store, last.app)
        #expect(!store.isFull)
        #expect(await set(store, further).error == nil)
        await close(store)
        let again = openStore(paths, maximum: maximum)
        #expect(try await decisions(again).count == maximum)
        #expect(again.appDecision(further.app, .camera) != nil && again.appDecision(last.app, .camera) == nil)
        #expect(again.appDecision(decision(5).app, .camera)?.verdict == .deny)
        await close(again)
    }

    @Test func ofALargerFileTheNewestAreKnown() async throws {
        try fill(maximum + 3)
        let store = openStore(paths, maximum: maximum)
        #expect(try await decisions(store).count == maximum)
        #expect(store.isFull)
        let known = (0..<6).map { store.appDecision(decision($0).app, .camera) != nil }
        #expect(known == [false, false, false, true, true, true])
        await close(store)
    }

    /// `permctl doctor` says so, and what to do.
    @Test func itIsAProblem() async throws {
        try fill(maximum)
        let bus = try await PrivateBus()
        let parts = await DaemonParts(folder, maximum: maximum)
        let coordinator = parts.coordinator(try bus.connect())
        let problem = try #require(coordinator.problems().first { $0.code == "store-full" })
        #expect(problem.text.contains("20 decisions") && problem.advice.contains("permctl reset"))
        let refusal = await withCheckedContinuation { done in
            coordinator.decide(decision(maximum)) { done.resume(returning: $0) }
        }
        guard case .failure(let error) = refusal else { return #expect(Bool(false), "it was made") }
        #expect(error.kind == .limitExceeded)
        coordinator.detach()
        coordinator.connection.close()
        await bus.end()
    }
}
