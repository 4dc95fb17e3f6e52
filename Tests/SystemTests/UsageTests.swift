// Who uses a device: nodes that apps open themselves, as org.permd.Usage1 lists them and the history keeps them.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct UsageTests {
    /// A camera whose node apps can open, and all signals about uses.
    @LoopActor
    private struct Scene {
        let stage: Stage
        let terminal = try! PseudoTerminal()
        let starts = EventLog<[String: Value]>()
        let ends = EventLog<(use: UInt32, seconds: UInt64)>()

        init(_ kind: MockDevices.Kind = .camera) async throws {
            stage = try await Stage([])
            _ = try await stage.devices.add(kind, 0, backedBy: terminal)
            stage.desk.onSignal(path: BusNames.root, interface: BusNames.usage, addMatch: false) { [starts, ends] in
                if $0.member == "UseStarted", let row = $0.body.first?.properties { starts.add(row) }
                if $0.member == "UseEnded", let use = $0.body[0].uint32Value, let seconds = $0.body[1].uint64Value {
                    ends.add((use, seconds))
                }
            }
            _ = try await stage.call(BusNames.usage, "Subscribe")
        }

        func uses() async throws -> [[String: Value]] { try await stage.rows("ListUses", nil, BusNames.usage) }
    }

    @Test func anAppThatOpensACamera() async throws {
        let scene = try await Scene()
        let app = try await scene.stage.app()
        try await app.ask("hold \(scene.terminal.path)")
        let row = try await scene.starts.wait(for: 1)[0]
        #expect(row["app"] == .string(app.id.description) && row["app_name"] == .string("app"))
        #expect(row["permission"] == .string("camera") && row["device_name"] == .string("Mock Camera 0"))
        #expect(row["status"] == .string("undetermined") && row["source"] == .string("device"))
        #expect(try await scene.uses() == [row])
        // Further descriptors are the same use.
        try await app.ask("hold \(scene.terminal.path)")
        try await app.ask("drop")
        let end = try await scene.ends.wait(for: 1)[0]
        #expect(.uint32(end.use) == row["use"])
        #expect(try await scene.uses().isEmpty && scene.starts.all.count == 1)
        let history = try await scene.stage.rows("ListHistory", ["outcome": .string("used")])
        #expect(history.count == 1 && history[0]["status"] == .string("undetermined"))
        #expect(history[0]["seconds"]?.uint32Value.map(UInt64.init) == end.seconds)
        try await scene.stage.permd.log.first("the journal's line") {
            $0.contains("\(app.id) uses the camera Mock Camera 0 without a grant") && $0.contains("outcome=used")
        }
        await scene.stage.end()
    }

    /// The name of whoever has the camera is in the prompt, but not the app's own.
    @Test func whoHasTheCamera() async throws {
        let scene = try await Scene()
        let (holder, app) = (try await scene.stage.app("holder"), try await scene.stage.app("app"))
        try await holder.ask("hold \(scene.terminal.path)")
        try await scene.starts.wait(for: 1)
        let agent = try await scene.stage.agent([.dismiss, .dismiss, .dismiss])
        for (number, (asking, user)) in [(app, Value.string("holder")), (holder, nil)].enumerated() {
            try await asking.request("t\(number)", [.camera])
            #expect(try await agent.prompt(number).items.first?["used_by"] == user)
            _ = try await asking.response("t\(number)")
        }
        try await holder.ask("drop")
        try await scene.ends.wait(for: 1)
        try await app.request("u", [.camera])
        #expect(try await agent.prompt(2).items.first?["used_by"] == nil)
        await scene.stage.end()
    }

    /// Rules and decisions are those of the moment when the use begins.
    @Test func aGrantedUseIsNotInTheJournal() async throws {
        let scene = try await Scene()
        let app = try await scene.stage.app()
        try await scene.stage.set("grant", app.id, .camera)
        try await app.ask("hold \(scene.terminal.path)")
        #expect(try await scene.starts.wait(for: 1)[0]["status"] == .string("granted"))
        // It goes on after a restart of the daemon, which finds it open.
        try await scene.stage.permd.restart()
        let again = try await scene.stage.history(app.id)
        #expect(again.contains("camera used "))
        _ = try await scene.stage.call(BusNames.usage, "Subscribe")
        try await scene.starts.wait(for: 2)
        await app.end()
        try await scene.ends.wait(for: 1)
        #expect(!scene.stage.permd.log.all.contains { $0.contains("without a grant") })
        await scene.stage.end()
    }

    /// Programs that only ask what a camera can do are not listed, others beside them are.
    @Test func probes() async throws {
        let scene = try await Scene()
        let prober = try await scene.stage.app("prober")
        let app = try await scene.stage.app()
        #expect(try await prober.ask("probe \(scene.terminal.path)") == "ok")
        try await app.ask("hold \(scene.terminal.path)")
        #expect(try await scene.starts.wait(for: 1)[0]["app"] == .string(app.id.description))
        await app.end()
        try await scene.ends.wait(for: 1)
        #expect(scene.starts.all.count == 1)
        await prober.end()
        await scene.stage.end()
    }

    @Test func twoProcessesOfAnAppAndAnother() async throws {
        let scene = try await Scene()
        let app = try await scene.stage.app()
        let second = try await app.secondProcess(on: scene.stage.permd)
        let other = try await scene.stage.app("other")
        try await app.ask("hold \(scene.terminal.path)")
        try await scene.starts.wait(for: 1)
        try await second.ask("hold \(scene.terminal.path)")
        try await other.ask("hold \(scene.terminal.path)")
        let rows = try await scene.starts.wait(for: 2)
        #expect(rows.map { $0["app"]?.stringValue } == [app.id.description, other.id.description])
        await app.end()
        await other.end()
        #expect(.uint32(try await scene.ends.wait(for: 1)[0].use) == rows[1]["use"])
        await second.end()
        #expect(.uint32(try await scene.ends.wait(for: 2)[1].use) == rows[0]["use"])
        await scene.stage.end()
    }

    @Test func anUnpluggedMicrophone() async throws {
        let scene = try await Scene(.microphone)
        let app = try await scene.stage.app()
        try await app.ask("hold \(scene.terminal.path)")
        #expect(try await scene.starts.wait(for: 1)[0]["permission"] == .string("microphone"))
        try await scene.stage.devices.remove(.microphone, 0)
        try await scene.ends.wait(for: 1)
        #expect(try await scene.uses().isEmpty)
        await app.end()
        await scene.stage.end()
    }

    /// A descriptor that permd opened for an app is the app's use, not permd's.
    @Test func aDeviceThatPermdOpened() async throws {
        let scene = try await Scene()
        let app = try await scene.stage.app()
        try await scene.stage.set("grant", app.id, .camera)
        #expect(try await app.ask("open camera").hasPrefix("ok descriptor"))
        let row = try await scene.starts.wait(for: 1)[0]
        #expect(row["app"] == .string(app.id.description) && row["status"] == .string("granted"))
        await app.end()
        try await scene.ends.wait(for: 1)
        await scene.stage.end()
    }

    /// A flatpak that has all devices opens the camera itself.
    @Test func aSandboxedApp() async throws {
        let scene = try await Scene()
        let app = try await TestApp.flatpak("org.example.Camera", on: scene.stage.permd)
        try #require(try await app.ask("hold \(scene.terminal.path)") == "ok")
        #expect(try await scene.starts.wait(for: 1)[0]["app"] == .string("flatpak:org.example.Camera"))
        await app.end()
        try await scene.ends.wait(for: 1)
        await scene.stage.end()
    }

    /// A program that does not let itself be inspected is listed without an app; a permd of root may inspect it.
    @Test func aHiddenProcess() async throws {
        let isSeen = geteuid() == 0
        let scene = try await Scene()
        let program = """
            import ctypes, os, sys
            ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
            os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY)
            sys.stdin.read()
            """
        let hidden = try ChildProcess("python3", ["-c", program, scene.terminal.path], standardInput: .pipe)
        let row = try await scene.starts.wait(for: 1)[0]
        #expect(row["app"]?.stringValue?.contains("python") == isSeen)
        #expect(row["pid"] == .uint32(isSeen ? UInt32(hidden.pid) : 0) && row["status"] == .string("undetermined"))
        // Another program beside it.
        let app = try await scene.stage.app()
        try await app.ask("hold \(scene.terminal.path)")
        #expect(try await scene.starts.wait(for: 2)[1]["app"] == .string(app.id.description))
        await app.end()
        #expect(try await .uint32(scene.ends.wait(for: 1)[0].use) == scene.starts.all[1]["use"])
        hidden.closeInput()
        #expect(try await .uint32(scene.ends.wait(for: 2)[1].use) == row["use"])
        await scene.stage.end()
    }
}
