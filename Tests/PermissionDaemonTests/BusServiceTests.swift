// A service on one connection: who may call it, how it stops, and that it is released from memory.

import DBus
import PermissionCore
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct BusServiceTests {
    /// A peer that can cut the connection can do so repeatedly, so no service may stay in memory.
    @Test func aServiceIsReleasedAfterItsConnectionIsLost() async throws {
        let folder = try TemporaryFolder()
        let bus = try await PrivateBus()
        let parts = await DaemonParts(folder)
        let store = parts.store
        let client = try bus.connect()
        weak var coordinator: Coordinator?
        weak var connection: Connection?
        do {
            let open = try bus.connect()
            let lost = parts.coordinator(open)
            let service = BusService(lost)
            lost.start()
            (coordinator, connection) = (lost, open)
            // The service gets subscribers and identifies their caller. Other tests may occupy the loop: no timeouts.
            for interface in [BusNames.policy, BusNames.devices, BusNames.enforcement, BusNames.usage] {
                _ = try await client.call(BusServiceTests.call(open, interface, "Subscribe"), timeoutMilliseconds: nil)
            }
            _ = try await client.call(
                BusServiceTests.call(open, BusNames.access, "GetStatus", [.strings([])]), timeoutMilliseconds: nil)
            try await lost.decide(BusServiceTests.decision)
            // Lists of several slices, which are still in progress when the connection is closed.
            for number in 0..<300 {
                let decision = Decision(
                    app: AppID("exe:/b\(number)")!, permission: .camera, verdict: .deny, duration: .always, decided: 0,
                    by: .permctl)
                store.set([decision], history: []) { _ in }
            }
            for member in ["ListStatuses", "ListDecisions", "ListProblems"] {
                let body: [Value] = member == "ListProblems" ? [] : [.properties([:])]
                client.call(BusServiceTests.call(open, BusNames.policy, member, body)) { _ in }
            }
            _ = try await client.call(
                BusServiceTests.call(open, BusNames.access, "GetStatus", [.strings([])]), timeoutMilliseconds: nil)
            await withCheckedContinuation { done in store.whenWritten { done.resume() } }
            open.close()
            lost.detach()
            await withCheckedContinuation { done in store.whenWritten { done.resume() } }
            withExtendedLifetime(service) {}
        }
        // After this, everything queued in the loop so far has run.
        await withCheckedContinuation { done in
            Loop.shared.later { Loop.shared.later { Loop.shared.later { done.resume() } } }
        }
        #expect(coordinator == nil)
        #expect(connection == nil)
        client.close()
        await bus.end()
    }

    /// Another backend may leave while permd runs.
    @Test(arguments: PrivateBus.Kind.allCases)
    func theNameOfTheBackendIsTakenOnceItIsFree(_ kind: PrivateBus.Kind) async throws {
        let folder = try TemporaryFolder()
        let bus = try await PrivateBus(kind)
        let other = try bus.connect()
        #expect(try other.requestName(BusNames.portalBackend))
        let open = try bus.connect()
        let coordinator = await DaemonParts(folder).coordinator(open)
        let service = BusService(coordinator)
        let client = try bus.connect()
        let owners = EventLog<String>()
        client.onOwnerChange(of: BusNames.portalBackend) { owners.add($0 ?? "") }
        service.servePortals()
        // After this, the name has been requested in vain.
        for _ in 0..<3 { _ = try await open.call(.busCall("GetId"), timeoutMilliseconds: nil) }
        other.close()
        try await owners.first("the new owner") { $0 == open.uniqueName }
        withExtendedLifetime(service) {}
        coordinator.detach()
        open.close()
        client.close()
        await bus.end()
    }

    /// Calls to a method without callers are always refused.
    @Test func everyMethodDeclaresItsCallers() async throws {
        let folder = try TemporaryFolder()
        let (bus, coordinator) = try await BusServiceTests.coordinator(folder)
        let portal = [coordinator.portal.access, coordinator.portal.request]
        for interface in coordinator.interfaces + portal {
            for method in interface.methods {
                #expect(method.callers != nil, "\(interface.name).\(method.name)")
            }
            #expect(interface.properties.isEmpty || interface.readers != nil, "\(interface.name)")
        }
        #expect(coordinator.interfaces.map(\.name).contains(BusNames.access))
        coordinator.detach()
        coordinator.connection.close()
        await bus.end()
    }

    /// Without the store the true status is unknown.
    @Test func callsDuringShutdownGetAnError() async throws {
        let folder = try TemporaryFolder()
        let (bus, coordinator) = try await BusServiceTests.coordinator(folder)
        let service = BusService(coordinator)
        coordinator.start()
        let client = try bus.connect()
        let status = BusServiceTests.call(coordinator.connection, BusNames.access, "GetStatus", [.strings([])])
        _ = try await client.call(status, timeoutMilliseconds: nil)
        await withCheckedContinuation { done in coordinator.stop { done.resume() } }
        let error = await #expect(throws: BusError.self) {
            try await client.call(status, timeoutMilliseconds: nil)
        }
        #expect(error?.name == ErrorKind.storeUnavailable.name)
        withExtendedLifetime(service) {}
        client.close()
        coordinator.connection.close()
        await bus.end()
    }

    /// Dismissal counts and pauses last as long as the session.
    @Test func pausesEndWithTheSession() async throws {
        let folder = try TemporaryFolder()
        let (bus, coordinator) = try await BusServiceTests.coordinator(folder)
        let app = AppID("exe:/usr/bin/a")!
        let pause = DismissalRecord(app: app, item: .camera, count: 3, pausedUntil: 9000, since: 1)
        await withCheckedContinuation { done in
            let session = coordinator.store.session.scopes.session
            coordinator.store.queue.add(writes: true) { (database) throws(DatabaseError) in
                try DismissalRows.save(pause, session: session, database)
            } then: { _ in
                done.resume()
            }
        }
        coordinator.start(await restored(coordinator.store))
        #expect(coordinator.pauses(app: nil, item: nil).map(\.app) == [app])
        coordinator.sessionEnded()
        #expect(coordinator.pauses(app: nil, item: nil).isEmpty)
        #expect(await restored(coordinator.store).dismissals.isEmpty)
        coordinator.detach()
        coordinator.connection.close()
        await bus.end()
    }

    private static func coordinator(_ folder: TemporaryFolder) async throws -> (PrivateBus, Coordinator) {
        let bus = try await PrivateBus()
        return (bus, await DaemonParts(folder).coordinator(try bus.connect()))
    }

    private static let decision = Decision(
        app: AppID("exe:/usr/bin/a")!, permission: .camera, verdict: .deny, duration: .until(5_000_000_000), decided: 0,
        by: .permctl)

    private static func call(
        _ connection: Connection, _ interface: String, _ member: String, _ body: [Value] = []
    ) -> Message {
        .call(destination: connection.uniqueName, path: BusNames.root, interface: interface, member: member, body)
    }
}

extension Coordinator {
    fileprivate func decide(_ decision: Decision) async throws {
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            decide(decision) { done.resume(with: $0.mapError { $0 as any Error }) }
        }
    }
}
