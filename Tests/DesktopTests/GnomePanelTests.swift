// The top bar and the quick settings of GNOME Shell.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)), .serialized)
@LoopActor
struct GnomePanelTests {
    private static let app = "flatpak:org.example.Video"

    @Test func stop() async throws {
        let stage = try await GnomeStage()
        #expect(try await !stage.isTrue("Main.panel.statusArea.permd"))
        let use = try await stage.call(
            BusNames.enforcement, "ReportUse",
            [
                .variant(.string(GnomePanelTests.app)), .string("microphone"),
                .properties(["source": .string("test"), "device_name": .string("Headset")]),
            ])
        try await stage.until("the icon") { try await stage.isTrue("Main.panel.statusArea.permd") }
        try await stage.eval("Main.panel.statusArea.permd.menu.open()")
        try await stage.click("Stop org.example.Video: Microphone")
        try await stage.until("the refusal") { try await stage.decisions() == ["microphone deny session person"] }
        // There is nothing more to stop.
        try await stage.until("the menu") {
            try await stage.read("permdTest.find('Stop org.example.Video: Microphone')", as: [Double].self).isEmpty
        }
        _ = try await stage.call(BusNames.enforcement, "EndUse", use)
        try await stage.until("no icon") { try await !stage.isTrue("Main.panel.statusArea.permd") }
        await stage.end()
    }

    @Test func doctor() async throws {
        let stage = try await GnomeStage()
        func findings() async throws -> [Substring] {
            try await stage.run(BuiltProgram.path("permctl"), "doctor").split(separator: "\n")
                .filter { $0.contains("  gnome") }
        }
        #expect(try await findings().first?.hasPrefix("ok") == true)
        try await stage.run("gnome-extensions", "disable", GnomeStage.uuid)
        try await stage.until("the extension's end") { try await stage.agents() == 0 }
        #expect(try await findings().first?.contains("gnome-extensions enable \(GnomeStage.uuid)") == true)
        try await stage.run("gnome-extensions", "enable", GnomeStage.uuid)
        try await stage.until("the extension's return") { try await stage.agents() == 1 }
        await stage.end()
    }

    @Test func switches() async throws {
        let stage = try await GnomeStage()
        try await stage.eval("Main.panel.statusArea.quickSettings.menu.open()")
        try await stage.click("Camera")
        let app = try await TestApp("app", on: stage.permd)
        try await stage.until("the switch") { try await app.status(.camera) == "ok camera=denied" }
        #expect(try await app.status(.microphone) == "ok microphone=undetermined")
        // Somebody else switches it on again.
        _ = try await stage.call(BusNames.policy, "SetSwitch", [.string("camera"), .bool(true)])
        try await stage.until("the quick settings") {
            try await stage.isTrue("permdTest.checked('Camera')")
        }
        await app.end()
        await stage.end()
    }

    /// The shell tells of what permd has taken back while nobody used it, and gives it back.
    @Test func whatNobodyUses() async throws {
        let stage = try await GnomeStage()
        let grant: [Value] = [.string(GnomePanelTests.app), .string("camera"), .string("grant"), .properties([:])]
        _ = try await stage.call(BusNames.policy, "SetDecision", grant)
        await stage.permd.stop()
        try await OldGrants.make(days: 61, on: stage.permd.bus)
        try await stage.permd.start()
        try stage.permd.root.write("[Decisions]\nUnusedDays=60\n", to: "etc/permd/permd.conf")
        let told = "Main.messageTray.getSources().flatMap(source => source.notifications)"
        try await stage.until("the notification") { try await stage.isTrue("\(told).length") }
        let texts = try await stage.read("\(told).flatMap(({title, body}) => [title, body])", as: [String].self)
        #expect(texts == ["Taken back, because nobody used it", "org.example.Video: Camera"])
        #expect(try await stage.decisions() == [])
        try await stage.eval("\(told)[0].actions[0].activate()")
        try await stage.until("the grant") { try await stage.decisions() == ["camera grant always person"] }
        await stage.end()
    }
}

extension GnomeStage {
    /// All decisions, each as `permission decision duration by`.
    fileprivate func decisions() async throws -> [String] {
        let rows = try await call(BusNames.policy, "ListDecisions", [.properties([:])]).first?.rows ?? []
        return rows.map { row in
            ["permission", "decision", "duration", "by"].map { row[$0]?.stringValue ?? "?" }.joined(separator: " ")
        }
    }
}
