// The prompt on sway.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)), .serialized)
@LoopActor
struct SwayTests {
    @Test func thePromptIsThere() async throws {
        let stage = try await SwayStage()
        try stage.startAgent()
        let editor = try await Editor(on: stage)
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        try await stage.until("the prompt") {
            try await stage.labels().contains("Unknown program “app” wants to use your camera")
        }
        editor.end()
        await stage.end()
    }
}
