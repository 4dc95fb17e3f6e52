// The window under Wayland, on a headless compositor.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15)))
@LoopActor
struct WaylandTests {
    @Test func theWindowComesAndGoes() async throws {
        let stage = try await AgentStage()
        try await stage.startCompositor()
        try await stage.startAgent()
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera], "explain")
        try await stage.until("the window") { try await stage.labels().contains("A body") }
        _ = try await app.ask("close t")
        try await stage.until("the window's end") { try await stage.labels().isEmpty }
        // A second window on the same connection to the compositor.
        try await app.request("u", [.microphone])
        try await stage.until("the window") {
            try await stage.labels().contains("Unknown program “app” wants to use your microphone")
        }
        await stage.end()
    }

    /// Nobody has a keyboard or pointer there, so the window never has the focus.
    @Test func aPromptThatIsNotSeenIsInANotification() async throws {
        let stage = try await AgentStage()
        let notifications = try FakeNotifications(stage.permd.bus)
        try await stage.startCompositor()
        try await stage.startAgent()
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        try await stage.until("the window") { try await !stage.labels().isEmpty }
        #expect(try await stage.labels().contains("Click here to answer."))
        let shown = try await notifications.shown.wait(for: 1)[0]
        #expect(shown.summary.contains("app") && shown.summary.contains("camera"))
        #expect(shown.actions == ["default", "Show", "show", "Show"])
        notifications.choose("show", of: shown.id)
        _ = try await app.ask("close t")
        #expect(try await notifications.closed.wait(for: 1) == [shown.id])
        await stage.end()
    }

    /// Compositors that tile windows let one float whose size cannot change.
    @Test func itsSizeCannotChange() async throws {
        let stage = try await AgentStage()
        try await stage.startCompositor()
        stage.environment["WAYLAND_DEBUG"] = "client"
        try await stage.startAgent()
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        try await stage.until("the window") { try await !stage.labels().isEmpty }
        let sizes = await stage.complaints().compactMap { $0.split(separator: ".set_", maxSplits: 1).last }
        let least = sizes.last { $0.hasPrefix("min_size(") }
        #expect(least?.hasPrefix("min_size(440, ") == true)
        #expect(sizes.last { $0.hasPrefix("max_size(") }?.dropFirst(3) == least?.dropFirst(3))
        await stage.end()
    }
}
