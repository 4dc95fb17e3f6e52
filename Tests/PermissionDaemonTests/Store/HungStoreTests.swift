// A home on a file system that never answers: nothing waits for it longer than the deadline, and nothing is granted.

import DBus
import PermissionCore
import PermissionModel
import PermissionTestKit
import System
import TestSupport
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(2)))
@LoopActor
struct HungStoreTests {
    private let folder = try! TemporaryFolder(["state"])
    private let app = AppID("exe:/usr/bin/a")!
    private let process = ProcessKey(pid: 77, startTime: 5)

    private func set(_ verdict: Verdict, _ permission: Permission) -> Decision {
        Decision(app: app, permission: permission, verdict: verdict, duration: .always, decided: 1, by: .person)
    }

    @Test func aHomeThatHangs() async throws {
        let paths = StorePaths(state: folder.file("state"), session: folder.file("run"))
        let first = openStore(paths)
        try await commit(first, set(.grant, .camera))
        await close(first)
        let hung = try await HungFileSystem(over: paths.state)
        let store = openStore(paths)
        // Whoever waits for it has no decisions, and the state has the reason.
        await written(store)
        #expect(store.appDecision(app, .camera) == nil)
        #expect(store.queue.problems.contains { $0.contains("does not answer") }, "\(store.queue.problems)")
        // Everything else fails at once now.
        await #expect(throws: StoreError.self) { try await commit(store, set(.deny, .camera)) }
        await #expect(throws: StoreError.self) { try await list(store) }
        let held = Decision(
            app: app, permission: .location, verdict: .grant, duration: .always, decided: 1, by: .person)
        await withCheckedContinuation { done in store.set([held], history: [], orFor: process) { _ in done.resume() } }
        #expect(store.decision(app, .location, for: process)?.verdict == .grant)
        // When it answers, the decision is known without being asked for.
        let read = EventLog<Bool>()
        store.onChange = { if case .read = $0 { read.add(true) } }
        try await hung.end()
        while store.queue.state != .writable { _ = try? await list(store) }
        try await read.wait(for: 1)
        #expect(store.appDecision(app, .camera)?.verdict == .grant)
        // What had failed was not written.
        #expect(try await list(store).contains("grant always"))
        await close(store)
    }
}
