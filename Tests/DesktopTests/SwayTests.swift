// The prompt on sway.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)), .serialized)
@LoopActor
struct SwayTests {
    @Test func aboveAFullScreenNoKeyGoesAstray() async throws {
        try await Situation.typingIntoAFullScreen(try await SwayStage())
    }

    @Test func withOnlyAKeyboard() async throws {
        try await Situation.onlyAKeyboard(try await SwayStage())
    }

    @Test func withOnlyAPointer() async throws {
        try await Situation.onlyAPointer(try await SwayStage(keyboard: false))
    }

    @Test func onTheMonitorInUse() async throws {
        try await Situation.twoMonitors(try await SwayStage(monitors: 2))
    }

    /// The prompt moves to the monitor that is left; that its monitor is gone is no answer.
    @Test func theMonitorIsUnplugged() async throws {
        let stage = try await SwayStage(monitors: 2)
        try stage.startAgent()
        let left = stage.part
        try await stage.goToSecondMonitor()
        let editor = try await Editor(["--fullscreen"], on: stage)
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        _ = try await stage.prompt()
        try await stage.command("output", "HEADLESS-2", "unplug")
        stage.part = left
        _ = try await stage.prompt()
        #expect(!app.events.all.contains { $0.hasPrefix("response") })
        editor.end()
        await stage.end()
    }
}
