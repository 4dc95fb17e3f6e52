// Who uses a device: nodes that apps open themselves, as org.permd.Usage1 lists them and the history keeps them.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit
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

        init(_ kind: MockDevices.Kind = .camera, rules: [String: String] = [:]) async throws {
            stage = try await Stage([], rules: rules)
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
}
