// The prompt on KWin, the compositor of Plasma.

import DBus
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)), .serialized)
@LoopActor
struct KWinTests {
    @Test func aboveAFullScreenNoKeyGoesAstray() async throws {
        try await Situation.typingIntoAFullScreen(try await KWinStage())
    }

    @Test func aClickAndANewWindow() async throws {
        try await Situation.covered(try await KWinStage())
    }

    @Test func withOnlyAKeyboard() async throws {
        try await Situation.onlyAKeyboard(try await KWinStage())
    }

    @Test func onTheMonitorInUse() async throws {
        try await Situation.twoMonitors(try await KWinStage(monitors: 2))
    }

    @Test func withOnlyATouchScreen() async throws {
        try await Situation.onlyAPointer(try await KWinStage(isTouched: true))
    }
}
