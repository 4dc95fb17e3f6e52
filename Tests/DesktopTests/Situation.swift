// What people do while permd asks, on any desktop.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@LoopActor
enum Situation {
    /// An app asks while the person types into a window that fills the screen: the person sees it, and all that is typed
    /// goes where it was meant to go. A click answers, and the window has the keyboard as before.
    static func typingIntoAFullScreen(_ stage: DesktopStage) async throws {
        try stage.startAgent()
        let editor = try await Editor(["--fullscreen"], on: stage)
        let app = try await TestApp("app", on: stage.permd)
        let words = "the quick brown fox jumps over the lazy dog, again and again"
        async let typing: Void = stage.type(words)
        try await editor.events.first("some text") { $0.hasPrefix("text \"the") }
        try await app.request("t", [.camera])
        let area = try await stage.prompt()
        #expect(abs(area.middle.x - (stage.part.left + stage.part.right) / 2) < 20)
        try await typing
        try await editor.text(words)
        try await stage.click(answer: "Not now")
        #expect(try await app.response("t").hasPrefix("1 "))
        try await stage.until("the editor's keyboard") { editor.hasKeyboard }
        try await stage.type("!")
        try await editor.text(words + "!")
        editor.end()
        await stage.end()
    }

    /// After a pause the prompt has the keyboard. Who goes on typing gets it back; who does not answers with it.
    static func onlyAKeyboard(_ stage: DesktopStage) async throws {
        try stage.startAgent()
        let editor = try await Editor(["--fullscreen"], on: stage)
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        _ = try await stage.prompt()
        try await stage.until("the prompt's keyboard") { !editor.hasKeyboard }
        try await stage.key("z")
        try await stage.until("the editor's keyboard") { editor.hasKeyboard }
        try await stage.type("on")
        try await editor.text("on")
        try await stage.until("the prompt's keyboard") { !editor.hasKeyboard }
        try await stage.until("an answer that counts") {
            let button = try await stage.widgets().first { $0.name == "Not now" && $0.role == "button" }
            if button?.states.contains("sensitive") == true { try await stage.key("Escape") }
            return app.events.all.contains { $0.hasPrefix("response t") }
        }
        #expect(try await app.response("t").hasPrefix("1 "))
        editor.end()
        await stage.end()
    }

    static func onlyAPointer(_ stage: DesktopStage) async throws {
        try stage.startAgent()
        let editor = try await Editor(["--fullscreen"], on: stage)
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        try await stage.click(answer: "Not now")
        #expect(try await app.response("t").hasPrefix("1 "))
        editor.end()
        await stage.end()
    }
}
