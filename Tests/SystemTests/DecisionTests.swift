// How long decisions hold, and that they survive crashes of the daemon.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct DecisionTests {
    @Test func onceIsForTheProcessThatAsked() async throws {
        let stage = try await Stage()
        let agent = try await stage.agent([.grant(.once)])
        let app = try await stage.app()
        try await app.request("t", [.camera])
        #expect(try await app.response("t") == "0 refused= statuses=camera=granted")
        let other = try await app.secondProcess(on: stage.permd)
        #expect(other.id == app.id)
        #expect(try await app.status(.camera) == "ok camera=granted")
        #expect(try await other.status(.camera) == "ok camera=undetermined")
        // A second process needs a prompt of its own.
        try await other.request("t", [.camera])
        try await agent.prompts.wait(for: 2)
        // The grant survives a crash of the daemon and ends with its process.
        try await stage.permd.restart(SIGKILL)
        #expect(try await app.status(.camera) == "ok camera=granted")
        let changes = try await stage.signals(BusNames.policy)
        await app.end()
        try await changes.first { $0 == "DecisionChanged \(app.id) camera " }
        #expect(try await stage.decisions().isEmpty)
        await stage.end()
    }

    @Test func aProcessThatExitsWhileNoDaemonRuns() async throws {
        let stage = try await Stage()
        let agent = try await stage.agent([.grant(.once)])
        let app = try await stage.app()
        try await app.request("t", [.camera])
        _ = try await app.response("t")
        #expect(try await stage.decisions() == ["\(app.id) camera grant once"])
        await stage.permd.stop(SIGKILL)
        await app.end()
        try await stage.permd.start()
        #expect(try await stage.decisions().isEmpty)
        withExtendedLifetime(agent) {}
        await stage.end()
    }

    @Test func aLaterDecisionForTheAppEndsOnce() async throws {
        let stage = try await Stage()
        let agent = try await stage.agent([.grant(.once), .deny(.once)])
        let app = try await stage.app()
        try await app.request("t", [.camera])
        _ = try await app.response("t")
        try await stage.set("deny", app.id, .camera)
        #expect(try await app.status(.camera) == "ok camera=denied")
        #expect(try await stage.reset(app.id.description, "camera") >= 1)
        #expect(try await app.status(.camera) == "ok camera=undetermined")
        withExtendedLifetime(agent) {}
        await stage.end()
    }

    @Test func untilEndsAtItsSecond() async throws {
        let stage = try await Stage()
        let app = try await stage.app()
        let changes = try await stage.signals(BusNames.policy)
        let end = UInt64(time(nil)) + 2
        try await stage.set("grant", app.id, .camera, ["duration": .string("until"), "until": .uint64(end)])
        #expect(try await app.status(.camera) == "ok camera=granted")
        try await changes.first { $0 == "DecisionChanged \(app.id) camera grant" }
        try await stage.permd.restart(SIGKILL)
        let after = try await stage.signals(BusNames.policy)
        #expect(try await app.status(.camera) == "ok camera=granted" || UInt64(time(nil)) >= end)
        if UInt64(time(nil)) < end { try await after.first { $0 == "DecisionChanged \(app.id) camera " } }
        #expect(UInt64(time(nil)) >= end)
        #expect(try await app.status(.camera) == "ok camera=undetermined")
        #expect(try await stage.decisions().isEmpty)
        await stage.end()
    }

    /// A daemon killed after any reply has everything that it acknowledged when it starts again.
    @Test func acknowledgedDecisionsAreOnDisk() async throws {
        let stage = try await Stage()
        for round in 0..<8 {
            let app = AppID("exe:/usr/bin/app\(round)")!
            try await stage.set(round % 2 == 0 ? "grant" : "deny", app, .microphone)
            try await stage.permd.restart(SIGKILL)
            let decisions = try await stage.decisions()
            #expect(decisions.contains("\(app) microphone \(round % 2 == 0 ? "grant" : "deny") always"))
            #expect(decisions.count == round + 1)
        }
        #expect(try await stage.reset() == 8)
        try await stage.permd.restart(SIGKILL)
        #expect(try await stage.decisions().isEmpty)
        await stage.end()
    }

    /// This holds for answers to prompts and for session decisions as well.
    @Test func answersAreOnDiskBeforeTheAppReceivesThem() async throws {
        let stage = try await Stage()
        let app = try await stage.app()
        let durations: [(Permission, Duration)] = [(.camera, .session), (.microphone, .always)]
        for (permission, duration) in durations {
            let agent = try await stage.agent([.grant(duration)])
            try await app.request(permission.rawValue, [permission])
            _ = try await app.response(permission.rawValue)
            try await stage.permd.restart(SIGKILL)
            #expect(try await app.status(permission) == "ok \(permission.rawValue)=granted")
            agent.connection.close()
        }
        #expect(
            try await stage.decisions() == ["\(app.id) camera grant session", "\(app.id) microphone grant always"])
        await stage.end()
    }

    @Test func statusChangesGoToTheirAppOnly() async throws {
        let stage = try await Stage()
        let app = try await stage.app("told")
        let other = try await stage.app("other")
        _ = try await app.status(.camera)
        _ = try await other.status(.camera)
        try await stage.set("grant", app.id, .camera)
        try await app.events.first { $0 == "status camera granted" }
        try await stage.set("deny", other.id, .microphone)
        try await other.events.first { $0 == "status microphone denied" }
        #expect(!other.events.all.contains { $0.hasPrefix("status camera") })
        #expect(!app.events.all.contains { $0.hasPrefix("status microphone") })
        await stage.end()
    }

    @Test func onlySubscribersReceiveSignals() async throws {
        let stage = try await Stage()
        let heard = try await stage.signals(BusNames.policy)
        let stranger = try stage.permd.bus.connect()
        let overheard = EventLog<String>()
        // A match rule does not bring it signals that are sent to other connections.
        stranger.onSignal(path: BusNames.root, interface: BusNames.policy) { overheard.add($0.member ?? "") }
        try await stage.set("grant", AppID("exe:/a")!, .camera)
        try await heard.first { $0 == "DecisionChanged exe:/a camera grant" }
        _ = try await stage.call(BusNames.policy, "Unsubscribe")
        _ = try await stage.reset()
        try await stage.set("grant", AppID("exe:/b")!, .camera)
        #expect(!heard.all.contains { $0.contains("exe:/b") })
        #expect(overheard.all.isEmpty)
        await stage.end()
    }

    @Test func listsAreFilteredAndPaged() async throws {
        let stage = try await Stage()
        for name in ["a", "b", "c"] {
            for permission in [Permission.microphone, .camera] {
                try await stage.set("grant", AppID("exe:/\(name)")!, permission)
            }
        }
        func list(_ filter: [String: Value]) async throws -> [String] {
            try await stage.rows("ListDecisions", filter).map {
                "\($0["app"]?.stringValue?.last ?? "?")\($0["permission"]?.stringValue?.first ?? "?")"
            }
        }
        #expect(try await list([:]) == ["ac", "am", "bc", "bm", "cc", "cm"])
        #expect(try await list(["app": .string("exe:/b")]) == ["bc", "bm"])
        #expect(try await list(["permission": .string("camera")]) == ["ac", "bc", "cc"])
        #expect(try await list(["limit": .uint32(2), "offset": .uint32(3)]) == ["bm", "cc"])
        #expect(try await list(["limit": .uint32(0)]).count == 6)
        #expect(try await list(["offset": .uint32(9)]).isEmpty)
        let now = UInt64(time(nil))
        #expect(try await stage.rows("ListHistory", ["since": .uint64(now + 100)]).isEmpty)
        #expect(try await stage.rows("ListHistory", ["since": .uint64(0), "limit": .uint32(4)]).count == 4)
        #expect(try await stage.rows("ListHistory", ["app": .string("exe:/c")]).count == 2)
        await stage.end()
    }

    /// A program in which a person decides says so.
    @Test func whoDecides() async throws {
        let stage = try await Stage()
        let app = try await stage.app()
        try await stage.set("deny", app.id, .camera, ["by": .string("person")])
        try await stage.set("deny", app.id, .microphone, ["by": .string("permctl")])
        #expect(try await stage.rows("ListDecisions").map { $0["by"]?.stringValue } == ["person", "permctl"])
        for author in ["throttle", "administrator", "", "somebody"] {
            let body: [Value] = [
                .string(app.id.description), .string("camera"), .string("grant"),
                .properties(["by": .string(author)]),
            ]
            #expect(await stage.refusal(BusNames.policy, "SetDecision", body) == "InvalidArguments final")
        }
        await stage.end()
    }

    @Test func historyKeepsWhoDecided() async throws {
        let stage = try await Stage()
        let agent = try await stage.agent([.grant(.once)])
        let app = try await stage.app()
        try await app.request("t", [.camera])
        _ = try await app.response("t")
        try await stage.set("deny", app.id, .camera)
        _ = try await stage.reset(app.id.description)
        #expect(
            try await stage.history(app.id) == [
                "camera reset permctl", "camera denied permctl", "camera granted person",
            ])
        let rows = try await stage.rows("ListHistory")
        #expect(rows.last?["request"]?.stringValue?.hasSuffix("/t") == true)
        #expect(rows.first?["request"] == .string(""))
        withExtendedLifetime(agent) {}
        await stage.end()
    }
}
