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

    @Test func aClickAndANewWindow() async throws {
        try await Situation.covered(try await SwayStage())
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

    @Test func inThePanel() async throws {
        try await Situation.panel(try await SwayStage()) { try Panel.waybar(on: $0) }
    }
}
