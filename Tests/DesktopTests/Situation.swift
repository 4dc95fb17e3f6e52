// What people do while permd asks, on any desktop.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@LoopActor
enum Situation {
    /// The person has an editor that fills the screen, and an app asks for the camera.
    static func begin(_ stage: DesktopStage) async throws -> (editor: Editor, app: TestApp) {
        let (editor, app) = try await prepare(stage)
        try await app.request("t", [.camera])
        return (editor, app)
    }

    private static func prepare(_ stage: DesktopStage) async throws -> (editor: Editor, app: TestApp) {
        try stage.startAgent()
        let editor = try await Editor(on: stage)
        try await editor.fillScreen()
        return (editor, try await TestApp("app", on: stage.permd))
    }

    /// The same with an editor as large as a window is beside a panel.
    static func beginWithinDesktop(_ stage: DesktopStage) async throws -> (editor: Editor, app: TestApp) {
        try stage.startAgent()
        let editor = try await Editor(on: stage)
        if !stage.tiles { try await editor.maximize() }
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        return (editor, app)
    }

    /// An app asks while the person types into a window that fills the screen: the person sees it, and all that is typed
    /// goes where it was meant to go. A click answers, and the window has the keyboard as before.
    static func typingIntoAFullScreen(_ stage: DesktopStage) async throws {
        let (editor, app) = try await prepare(stage)
        let words = "the quick brown fox jumps over the lazy dog, again and again"
        async let typing: Void = stage.type(words)
        try await editor.events.first("some text") { $0.hasPrefix("text \"the") }
        try await app.request("t", [.camera])
        let area = try await stage.prompt()
        try await stage.picture("full-screen")
        #expect(abs(area.middle.x - (stage.part.left + stage.part.right) / 2) < 20)
        try await typing
        try await editor.text(words)
        try await clickNotNow(stage, app)
        try await stage.until("the editor's keyboard") { editor.hasKeyboard }
        try await stage.type("!")
        try await editor.text(words + "!")
        editor.end()
        await stage.end()
    }

    /// After a pause the prompt has the keyboard. Who goes on typing gets it back; who does not answers with it.
    static func onlyAKeyboard(_ stage: DesktopStage) async throws {
        let (editor, app) = try await begin(stage)
        _ = try await stage.prompt()
        try await stage.until("the prompt's keyboard") { !editor.hasKeyboard }
        try await stage.picture("keyboard")
        try await stage.key("z")
        try await stage.until("the editor's keyboard") { editor.hasKeyboard }
        try await stage.type("on")
        try await editor.text("on")
        try await stage.until("the prompt's keyboard") { !editor.hasKeyboard }
        try await stage.until("an answer that counts") {
            if try await stage.isAwake("Not now") { try await stage.key("Escape") }
            return app.events.all.contains { $0.hasPrefix("response t") }
        }
        #expect(try await app.response("t").hasPrefix("1 "))
        editor.end()
        await stage.end()
    }

    /// The prompt comes where the person works, and stays above a window that fills the screen later, which then has the
    /// keyboard. When that monitor is unplugged, it moves to the one that is left; that is no answer.
    static func twoMonitors(_ stage: DesktopStage) async throws {
        try stage.startAgent()
        let editor = try await Editor(on: stage)
        try await stage.moveToSecondMonitor()
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera, .microphone])
        try await stage.until("the prompt") { try await !stage.labels().isEmpty }
        try await editor.fillScreen()
        _ = try await stage.prompt()
        try await stage.picture("two-monitors")
        try await stage.until("the prompt's keyboard") { !editor.hasKeyboard }
        try await stage.unplugSecondMonitor()
        _ = try await stage.prompt()
        #expect(!app.events.all.contains { $0.hasPrefix("response") })
        try await clickNotNow(stage, app)
        editor.end()
        await stage.end()
    }

    static func onlyAPointer(_ stage: DesktopStage) async throws {
        let (editor, app) = try await begin(stage)
        try await clickNotNow(stage, app)
        editor.end()
        await stage.end()
    }

    /// The person clicks into the app's window, and another window opens: the prompt stays above both.
    static func covered(_ stage: DesktopStage) async throws {
        let (editor, app) = try await beginWithinDesktop(stage)
        _ = try await stage.prompt()
        // If the prompt had the keyboard, the first key returns it.
        try await stage.until("what is typed") {
            // Where the pointer may be in the picture.
            try await stage.click(stage.part.left + 300, stage.part.top + 75)
            try await stage.type("x")
            return editor.events.all.contains { $0.hasPrefix("text") }
        }
        let other = try await Editor(on: stage)
        try await stage.type("a new window")
        try await other.text("a new window")
        try await stage.picture("covered")
        try await other.fillScreen()
        _ = try await stage.prompt()
        try await clickNotNow(stage, app)
        other.end()
        editor.end()
        await stage.end()
    }

    /// Clicks until that counts: when the prompt takes the keyboard after a pause, it sleeps for a moment.
    static func clickNotNow(_ stage: DesktopStage, _ app: TestApp) async throws {
        try await stage.until("the answer") {
            if try await stage.isAwake("Not now") { try await stage.click(answer: "Not now") }
            return app.events.all.contains { $0.hasPrefix("response t") }
        }
        #expect(try await app.response("t").hasPrefix("1 "))
    }
}
