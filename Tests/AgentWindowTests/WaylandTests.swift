// The window under Wayland, on a headless compositor.

import DBus
import PermissionModel
import PermissionTestKit
import Testing

@Suite(.timeLimit(.minutes(5)))
@LoopActor
struct WaylandTests {
    @Test func theWindowComesAndGoes() async throws {
        let bench = try await WindowBench()
        try await bench.startCompositor()
        try await bench.startAgent()
        let app = try await TestApp("app", on: bench.permd)
        try await app.request("t", [.camera], "explain")
        try await bench.until("the window") { try await bench.labels().contains("A body") }
        _ = try await app.ask("close t")
        try await bench.until("the window's end") { try await bench.labels().isEmpty }
        // A second window on the same connection to the compositor.
        try await app.request("u", [.microphone])
        try await bench.until("the window") {
            try await bench.labels().contains("Unknown program “app” wants to use your microphone")
        }
        await bench.end()
    }
}
