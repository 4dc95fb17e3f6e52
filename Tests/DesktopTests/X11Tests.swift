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

    @Test func onTheMonitorInUse() async throws {
        try await Situation.twoMonitors(try await X11Stage("kwin_x11", monitors: 2))
    }

    /// A window of the prompt's kind covers it: a notification says who waits, and brings the prompt forward.
    @Test func show() async throws {
        let stage = try await X11Stage("kwin_x11")
        let notifications = try FakeNotifications(stage.permd.bus)
        let (editor, app) = try await Situation.begin(stage)
        _ = try await stage.prompt()
        let cover = try await stage.cover()
        let shown = try await notifications.shown.wait(for: 1)[0]
        #expect(shown.summary.contains("app") && shown.summary.contains("camera"))
        notifications.choose("show", of: shown.id)
        _ = try await stage.prompt()
        #expect(try await notifications.closed.wait(for: 1) == [shown.id])
        try await Situation.clickNotNow(stage, app)
        cover.terminate()
        editor.end()
        await stage.end()
    }

    @Test func inThePanel() async throws {
        try await Situation.panel(try await X11Stage("xfwm4")) { try await Panel.xfce(on: $0) }
    }
}
