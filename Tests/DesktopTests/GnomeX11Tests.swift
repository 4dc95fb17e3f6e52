// What is different in GNOME Shell with X11, which it has no more since GNOME 50: run_desktop_tests leaves this out there.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)), .serialized)
@LoopActor
struct GnomeX11Tests {
    /// On X11 an app can keep the keyboard and the pointer from the shell, which is asked again the next time.
    @Test func besideAnOpenMenu() async throws {
        let stage = try await GnomeStage(.x11)
        try stage.startAgent()
        let editor = try await Editor(on: stage)
        try await stage.until("the agents") { try await stage.agents() == 2 }
        for attempt in 1...Limits.agentFailures {
            let app = try await TestApp("app\(attempt)", on: stage.permd)
            try await stage.press(.menu)
            try await stage.until("the menu") { try await stage.titles().count == 2 }
            try await app.request("t", [.camera])
            try await stage.until("the window") { try await stage.titles().contains("Permission request") }
            await app.end()
            try await stage.press(.escape)
            try await stage.until("the editor alone") { try await stage.titles().count == 1 }
        }
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        try await stage.shows("Unknown program “app” wants to use your camera")
        editor.end()
        await app.end()
        try await stage.promptIsOver()
        await stage.end()
    }

    @Test func withOnlyAKeyboard() async throws {
        try await Situation.onlyAKeyboard(try await GnomeStage(.x11, asks: false))
    }
}
