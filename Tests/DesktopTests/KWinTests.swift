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

    @Test func withOnlyAKeyboard() async throws {
        try await Situation.onlyAKeyboard(try await KWinStage())
    }
}
