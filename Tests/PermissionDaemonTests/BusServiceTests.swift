// A service on one connection leaves nothing behind when the connection is lost.

import DBus
import Logging
import PermissionModel
import PermissionTestKit
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct BusServiceTests {
    private static let log = {
        var log = Logger(label: "test")
        log.logLevel = .critical
        return log
    }()

    /// Whoever can cut the connection can do so again and again: no service may stay in memory.
    @Test func aLostServiceIsForgotten() async throws {
        let folder = try TemporaryFolder()
        let bus = try await PrivateBus()
        let store = DecisionStore(
            paths: StorePaths(state: folder.file("state"), session: folder.file("run")), bootID: "b", now: { 0 },
            log: BusServiceTests.log)
        let rules = PolicySet(root: folder.path, lastGood: [], log: BusServiceTests.log)
        let devices = DeviceCatalog(
            log: BusServiceTests.log, source: FakeSource([]), kinds: DeviceKinds.all(FakeProbe(), nil))
        let client = try bus.connect()
        weak var broker: Broker?
        weak var connection: Connection?
        do {
            let open = try bus.connect()
            let lost = Broker(
                connection: open, store: store, policy: rules, devices: devices, now: { 0 }, log: BusServiceTests.log)
            let service = BusService(lost, log: BusServiceTests.log)
            lost.start()
            (broker, connection) = (lost, open)
            // It serves, knows its caller, tells subscribers, and holds a request. Other tests may keep the loop for long.
            for (interface, member) in [(BusNames.policy, "Subscribe"), (BusNames.devices, "Subscribe")] {
                _ = try await client.call(BusServiceTests.call(open, interface, member), timeoutMilliseconds: nil)
            }
            _ = try await client.call(
                BusServiceTests.call(open, BusNames.access, "GetStatus", [.strings([])]), timeoutMilliseconds: nil)
            try await lost.settle(BusServiceTests.decision)
            open.close()
            lost.detach()
            await withCheckedContinuation { done in store.whenWritten { done.resume() } }
            withExtendedLifetime(service) {}
        }
        // What is queued in the loop by now has run after this.
        await withCheckedContinuation { done in
            Loop.shared.later { Loop.shared.later { Loop.shared.later { done.resume() } } }
        }
        #expect(broker == nil)
        #expect(connection == nil)
        client.close()
        await bus.stop()
    }

    private static let decision = Decision(
        app: AppID("exe:/usr/bin/a")!, permission: .camera, verdict: .deny, duration: .until(100), decided: 0,
        by: .permctl)

    private static func call(
        _ connection: Connection, _ interface: String, _ member: String, _ body: [Value] = []
    ) -> Message {
        .call(destination: connection.uniqueName, path: BusNames.root, interface: interface, member: member, body)
    }
}

extension Broker {
    fileprivate func settle(_ decision: Decision) async throws {
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            settle(decision) { done.resume(with: $0.mapError { $0 as any Error }) }
        }
    }
}
