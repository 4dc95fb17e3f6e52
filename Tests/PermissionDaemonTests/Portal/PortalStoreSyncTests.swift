// How decisions and the portals' store follow each other, with a fake of the store and of who owns its name.

import DBus
import PermissionCore
import PermissionModel
import PermissionTestKit
import System
import TestSupport
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct PortalStoreSyncTests {
    /// Makes decisions of what other programs settled, and records it.
    @LoopActor
    private final class Decisions: PortalDecisions {
        private let store: DecisionStore
        let settled = EventLog<String>()
        let forgotten = EventLog<String>()
        /// Whether decisions can be written.
        var isWritable = true

        init(_ store: DecisionStore) { self.store = store }

        func portalSettled(
            _ app: AppID, _ permission: Permission, _ verdict: Verdict,
            _ completion: @escaping @LoopActor (Bool) -> Void
        ) {
            settled.add("\(app) \(permission.rawValue) \(verdict.rawValue)")
            guard isWritable else { return completion(false) }
            let decision = Decision(
                app: app, permission: permission, verdict: verdict, duration: .always, decided: 0, by: .person)
            store.set([decision], history: []) { _ in completion(true) }
        }

        func portalForgot(_ app: AppID, _ permission: Permission) { forgotten.add("\(app) \(permission.rawValue)") }
    }

    @LoopActor
    private final class Bench {
        static let app = AppID("flatpak:org.example.App")!
        static let caller = Caller(connection: ":1.99", app: app, process: ProcessKey(pid: 1, startTime: 1))
        static let camera = PortalKey(appID: "org.example.App", item: .camera)

        let bus: PrivateBus
        let parts: DaemonParts
        let identifier = FakeIdentifier()
        let decisions: Decisions
        let portals: FakePortalStore
        let sync: PortalStoreSync
        let worker = Worker()
        private let folder: TemporaryFolder
        private let connection: Connection

        /// - Parameter owner: The program that owns the name of the portals' store.
        init(owner: String = "exe:/usr/libexec/xdg-permission-store", _ entries: [String: String] = [:]) async throws {
            folder = try TemporaryFolder()
            bus = try await PrivateBus()
            parts = await DaemonParts(folder)
            decisions = Decisions(parts.store)
            portals = try FakePortalStore(on: bus)
            for (app, word) in entries { portals.write("devices camera", app, [word]) }
            identifier.add(portals.service.connection, owner)
            connection = try bus.connect()
            sync = PortalStoreSync(
                connection: connection, identifier: identifier, store: parts.store, facts: parts.facts, log: quietLog)
            sync.decisions = decisions
        }

        /// Starts, and waits until the store has been read.
        func start() async throws {
            sync.start(await restored(parts.store).portalVerdicts)
            _ = try await portals.lookups.wait(for: PortalKinds.decided.count)
            try await settle()
        }

        /// Returns once everything sent so far by either side has been received.
        func settle() async throws {
            for peer in [connection, portals.service.connection, connection] {
                _ = try await peer.call(.busCall("GetId"), timeoutMilliseconds: nil)
                await written(parts.store)
            }
        }

        func decide(_ verdict: Verdict) async {
            let decision = Decision(
                app: Bench.app, permission: .camera, verdict: verdict, duration: .always, decided: 0, by: .person)
            await withCheckedContinuation { done in
                parts.store.set([decision], history: []) { _ in done.resume() }
            }
        }

        func reset() async {
            await withCheckedContinuation { done in
                parts.store.reset(DecisionFilter(), by: .permctl) { _ in done.resume() }
            }
        }

        /// Notes an answer; returns once the portal may be told.
        func note(_ verdict: Verdict?, about key: PortalKey = Bench.camera) async {
            await withCheckedContinuation { done in
                sync.record(key, for: Bench.caller, verdict) { done.resume() }
            }
        }

        func end() async {
            connection.close()
            await portals.service.end()
            await bus.end()
        }
    }

    @Test func anAnswerIsOnDiskBeforeThePortalHearsIt() async throws {
        let bench = try await Bench()
        try await bench.start()
        await bench.decide(.grant)
        await bench.note(.grant)
        #expect(await restored(bench.parts.store).portalVerdicts.map(\.key) == [Bench.camera])
        // The portal's own copy of the answer is no news.
        bench.portals.write("devices camera", "org.example.App", ["yes"])
        try await bench.settle()
        #expect(bench.decisions.settled.all.isEmpty && bench.portals.deletions.all.isEmpty)
        await bench.end()
    }

    @Test func aResetIsTakenBackFromThePortals() async throws {
        let bench = try await Bench()
        try await bench.start()
        await bench.decide(.grant)
        await bench.note(.grant)
        bench.portals.write("devices camera", "org.example.App", ["yes"])
        try await bench.settle()
        await bench.reset()
        bench.sync.review()
        #expect(try await bench.portals.deletions.wait(for: 1) == ["devices camera org.example.App"])
        try await bench.settle()
        #expect(bench.decisions.forgotten.all.isEmpty)
        await bench.end()
    }

    @Test func whatAnotherProgramWritesBecomesADecision() async throws {
        let bench = try await Bench()
        try await bench.start()
        bench.portals.write("devices camera", "org.example.App", ["no"])
        let app = "flatpak:org.example.App"
        #expect(try await bench.decisions.settled.wait(for: 1) == ["\(app) camera deny"])
        await written(bench.parts.store)
        bench.portals.write("devices camera", "org.example.App", nil)
        #expect(try await bench.decisions.forgotten.wait(for: 1) == ["\(app) camera"])
        await bench.end()
    }

    @Test func entriesFromBeforeTheStartBecomeDecisions() async throws {
        let bench = try await Bench(["org.example.App": "yes"])
        try await bench.start()
        #expect(try await bench.decisions.settled.wait(for: 1).allSatisfy { $0.hasSuffix("camera grant") })
        await bench.end()
    }

    @Test func whatCannotBeWrittenIsTriedAgain() async throws {
        let bench = try await Bench()
        try await bench.start()
        bench.decisions.isWritable = false
        bench.portals.write("devices camera", "org.example.App", ["no"])
        _ = try await bench.decisions.settled.wait(for: 1)
        try await bench.settle()
        // The entry stays in the portals' store meanwhile.
        bench.sync.review()
        try await bench.settle()
        #expect(bench.portals.deletions.all.isEmpty)
        bench.decisions.isWritable = true
        bench.sync.readAgain()
        _ = try await bench.decisions.settled.wait(for: 2)
        await bench.end()
    }

    /// A dialog that ends without an answer is stored as "no" by the portal.
    @Test func anEndWithoutAnAnswerIsTakenBack() async throws {
        let bench = try await Bench()
        try await bench.start()
        await bench.note(nil)
        bench.portals.write("devices camera", "org.example.App", ["no"])
        #expect(try await bench.portals.deletions.wait(for: 1) == ["devices camera org.example.App"])
        #expect(bench.decisions.settled.all.isEmpty)
        await bench.end()
    }

    /// What the portal stores for the call that was lost is nobody's answer.
    @Test func aDialogThatWasOpenWhenPermdWasKilled() async throws {
        let killed = try await Bench()
        try await killed.start()
        killed.sync.opened(Bench.camera, for: Bench.caller)
        try await killed.settle()
        let rows = await restored(killed.parts.store).portalVerdicts
        let next = try await Bench(["org.example.App": "no"])
        next.sync.start(rows)
        _ = try await next.portals.deletions.wait(for: 1)
        try await next.settle()
        #expect(next.decisions.settled.all.isEmpty)
        await killed.end()
        await next.end()
    }

    /// "ask" and words that are not known decide nothing.
    @Test(arguments: ["ask", "maybe", ""]) func anEntryThatDecidesNothing(_ word: String) async throws {
        let bench = try await Bench(["org.example.App": word])
        try await bench.start()
        bench.portals.write("devices camera", "org.example.Other", [word])
        try await bench.settle()
        #expect(bench.decisions.settled.all.isEmpty && bench.portals.deletions.all.isEmpty)
        await bench.end()
    }

    /// No decision of permd stands behind such an entry.
    @Test func aQuestionOfThePortalsOwnIsLeftToThem() async throws {
        let bench = try await Bench()
        try await bench.start()
        await bench.note(.grant, about: PortalKey(appID: "org.example.App", item: .portal(.screenshot)))
        bench.portals.write("screenshot screenshot", "org.example.App", ["yes"])
        bench.portals.write("screenshot screenshot", "org.example.Other", ["no"])
        try await bench.settle()
        #expect(bench.decisions.settled.all.isEmpty && bench.portals.deletions.all.isEmpty)
        #expect(await restored(bench.parts.store).portalVerdicts.isEmpty)
        await bench.end()
    }

    /// Any program may take a free name.
    @Test(arguments: ["flatpak:org.example.Hostile", "snap:hostile"])
    func aSandboxedOwnerOfTheNameIsNotBelieved(_ owner: String) async throws {
        let bench = try await Bench(owner: owner, ["org.example.App": "yes"])
        bench.sync.start([])
        _ = try await bench.identifier.asked.wait(for: 1)
        bench.portals.write("devices camera", "org.example.App", ["no"])
        try await bench.settle()
        #expect(bench.portals.lookups.all.isEmpty && bench.decisions.settled.all.isEmpty)
        await bench.end()
    }
}
