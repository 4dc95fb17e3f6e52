// The prompt's window in GNOME Shell without permd's extension.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)), .serialized)
@LoopActor
struct GnomeWindowTests {
    private static let title = "Permission request"

    /// With Wayland the shell gives a new window the keyboard: it comes when the person pauses.
    @Test(arguments: try await GnomeStage.Kind.available())
    func noKeyGoesAstray(_ kind: GnomeStage.Kind) async throws {
        try await Situation.typingIntoAFullScreen(try await GnomeStage(kind, asks: false))
    }

    @Test func withOnlyAPointer() async throws {
        try await Situation.onlyAPointer(try await GnomeStage(asks: false, hasKeyboard: false))
    }

    /// With Wayland no window can be above a full-screen one. A notification is, and brings the prompt forward.
    @Test func coveredByAFullScreen() async throws {
        let stage = try await GnomeStage(asks: false)
        try stage.startAgent()
        let editor = try await Editor(on: stage)
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        try await stage.until("the prompt") { try await stage.top(GnomeWindowTests.title).count == 4 }
        // The shell gives a new window the keyboard after it is there, and would take it from the editor again.
        try await stage.until("the prompt's keyboard") { !editor.hasKeyboard }
        try await stage.click(at: 380, 590)
        try await stage.until("the editor's keyboard") { editor.hasKeyboard }
        try await editor.fillScreen()
        try await stage.until("the editor above it") { try await stage.top(GnomeWindowTests.title).isEmpty }
        try await stage.click("Show")
        try await stage.until("the prompt") { try await stage.top(GnomeWindowTests.title).count == 4 }
        try await stage.until("an answer that counts") {
            if try await stage.isAwake("Not now") { try await stage.press(.escape) }
            return app.events.all.contains { $0.hasPrefix("response t") }
        }
        editor.end()
        await app.end()
        await stage.end()
    }
}
