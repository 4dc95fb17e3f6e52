// All components with a clock that the test controls: a decision ends exactly at its time, however the clock is set.

import DBus
import DeviceNodes
import PermissionModel
import PermissionTestKit
import Testing

@testable import PermissionDaemon

/// Later than the wall clock, whose timers would fire at once otherwise.
private let start: EpochSeconds = 4_000_000_000

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct CoordinatorClockTests {
    private let folder: TemporaryFolder
    private let bus: PrivateBus
    private let clock = ManualClock(start)
    private let coordinator: Coordinator
    private let caller = Caller(
        connection: ":1.9", app: AppID("exe:/usr/bin/a")!, process: ProcessKey(pid: 1, startTime: 1))

    init() async throws {
        folder = try TemporaryFolder()
        bus = try await PrivateBus()
        var camera = DeviceRecord(subsystem: "video4linux", syspath: "/sys/camera")
        camera.node = "/dev/null"
        let clock = clock
        coordinator = await DaemonParts(folder, devices: [camera]) { clock.now }.coordinator(try bus.connect())
        coordinator.start()
    }

    private func decide(until end: EpochSeconds) async throws {
        let decision = Decision(
            app: caller.app, permission: .camera, verdict: .deny, duration: .until(end), decided: clock.now,
            by: .permctl)
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            coordinator.decide(decision) { done.resume(with: $0.mapError { $0 as any Error }) }
        }
    }

    private var isDecided: Bool { coordinator.facts.status(of: .camera, for: caller) == .denied }

    private func rows() throws -> Int64? {
        try Database(path: folder.file("state/permd.db"), isReadOnly: true).integer("SELECT count(*) FROM decision")
    }

    @Test func aClockThatJumpsBack() async throws {
        try await decide(until: start + 100)
        #expect(isDecided)
        // An hour back: the end is an absolute time, so the decision still holds until then.
        clock.advance(by: -3600)
        coordinator.store.noticeEnds()
        #expect(isDecided)
        clock.advance(by: 3600 + 99)
        #expect(isDecided)
        clock.advance(by: 1)
        // It ends at that second, even before the store notices.
        #expect(!isDecided)
        #expect(try rows() == 1)
        coordinator.store.noticeEnds()
        await written(coordinator.store)
        #expect(try rows() == 0)
        // It does not return when the clock is set back again.
        clock.advance(by: -3600)
        #expect(!isDecided)
        await bus.end()
    }

    @Test func aClockThatJumpsForward() async throws {
        try await decide(until: start + 10_000)
        clock.advance(by: 1_000_000)
        #expect(!isDecided)
        coordinator.store.noticeEnds()
        await written(coordinator.store)
        #expect(try rows() == 0)
        await bus.end()
    }

    @Test func aDecisionThatEndedUnnoticed() async throws {
        try await decide(until: start + 10)
        clock.advance(by: 10)
        #expect(!isDecided)
        #expect(try await decisions(coordinator.store).isEmpty)
        await bus.end()
    }
}
