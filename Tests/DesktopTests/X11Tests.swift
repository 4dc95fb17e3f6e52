// The prompt on X11, with the window managers of Xfce and Plasma.

import DBus
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)), .serialized)
@LoopActor
struct X11Tests {
    @Test(arguments: ["xfwm4", "kwin_x11"])
    func aboveAFullScreenNoKeyGoesAstray(_ manager: String) async throws {
        try await Situation.typingIntoAFullScreen(try await X11Stage(manager))
    }

    @Test(arguments: ["xfwm4", "kwin_x11"])
    func aClickAndANewWindow(_ manager: String) async throws {
        try await Situation.covered(try await X11Stage(manager))
    }

    @Test(arguments: ["xfwm4", "kwin_x11"])
    func withOnlyAKeyboard(_ manager: String) async throws {
        try await Situation.onlyAKeyboard(try await X11Stage(manager))
    }
}
