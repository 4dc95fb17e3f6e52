// Prompts in the dialogs of the real portal-gtk.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import Testing

@Suite(.timeLimit(.minutes(5)), .serialized)
@LoopActor
struct BorrowedGtkTests {
    /// Clicks a button of the dialog late enough to count as a person.
    private func click(_ name: String, _ bench: WindowBench) async throws {
        _ = try await bench.awake(name)
        await bench.pause(700)
        try await bench.click(name)
    }

    @Test func allowDenyEscapeAndClose() async throws {
        let bench = try await WindowBench()
        try await bench.startBorrowing()
        let app = try await TestApp("app", on: bench.permd)
        // Text that portal-gtk would use as a printf format.
        try await app.request("a", [.camera], "reason=%n%n%s")
        try await click("Allow", bench)
        #expect(try await app.response("a") == "0 refused= statuses=camera=granted")
        try await bench.until("the dialog's end") { try await bench.window() == nil }

        try await app.request("b", [.microphone])
        _ = try await bench.awake("Allow")
        await bench.pause(700)
        try await bench.key("Escape")
        #expect(try await app.response("b") == "1 refused=microphone statuses=microphone=undetermined")

        try await app.request("c", [.microphone])
        _ = try await bench.awake("Allow")
        #expect(try await app.ask("close c") == "ok")
        try await bench.until("the dialog's end") { try await bench.window() == nil }

        try await app.request("d", [.microphone])
        try await click("Don't allow", bench)
        #expect(try await app.response("d") == "0 refused=microphone statuses=microphone=denied")
        await bench.end()
    }

    /// The dialog is closed when the agent exits.
    @Test func theDialogClosesWithTheAgent() async throws {
        let bench = try await WindowBench()
        try await bench.startBorrowing()
        let app = try await TestApp("app", on: bench.permd)
        try await app.request("t", [.camera])
        _ = try await bench.awake("Allow")
        #expect(await bench.endAgent(SIGTERM) == .exited(0))
        try await bench.until("the dialog's end") { try await bench.window() == nil }
        await bench.end()
    }

    @Test func theDialogHasAChoiceOfDurations() async throws {
        let bench = try await WindowBench()
        try await bench.startBorrowing()
        let app = try await TestApp("app", on: bench.permd)
        try await app.request("t", [.camera])
        try await bench.click("Always", role: "radio button")
        try await click("Allow", bench)
        #expect(try await app.response("t") == "0 refused= statuses=camera=granted")
        let other = try await app.secondProcess(on: bench.permd)
        #expect(try await other.status(.camera) == "ok camera=granted")
        await bench.end()
    }
}
