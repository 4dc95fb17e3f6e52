// A real terminal (tmux), its screen and its keyboard.

import DBus
import Foundation
import PermissionTestKit

/// A terminal that runs a command, in which `permctl` stands for the built program; the agent by default.
@LoopActor
final class Screen {
    private let stage: CommandStage
    private let folder: TemporaryFolder

    private let variables: [String: String]

    init(
        _ stage: CommandStage, columns: Int = 90, rows: Int = 60, variables: [String: String] = [:],
        command: String = "permctl agent; echo \"left with $?\"; stty -a | grep -o -- '-\\?echo '; cat"
    ) async throws {
        self.stage = stage
        self.variables = variables
        folder = try TemporaryFolder()
        try await tmux(
            "new-session", "-d", "-x", "\(columns)", "-y", "\(rows)",
            command.replacing("permctl", with: "\"$PERMCTL\""))
    }

    @discardableResult
    func tmux(_ arguments: String...) async throws -> String { try await tmux(arguments) }

    private func tmux(_ arguments: [String]) async throws -> String {
        var environment = stage.permd.environment.merging(variables) { $1 }
        environment["TERM"] = "xterm-256color"
        environment["PERMCTL"] = BuiltProgram.path("permctl")
        let child = try ChildProcess(
            "tmux", ["-S", folder.file("s"), "-f", "/dev/null"] + arguments, environment: environment)
        let output = await child.output()
        guard await child.waitForExit() == .exited(0) else { throw TestKitError("tmux \(arguments): \(output)") }
        return output
    }

    func type(_ keys: String...) async throws {
        for key in keys { try await tmux("send-keys", key) }
    }

    /// Waits until the screen shows the text; returns the screen.
    @discardableResult
    func shows(_ text: String) async throws -> String {
        try await shows("“\(text)”") { $0.contains(text) }
    }

    /// Waits until the screen is as wanted; returns the screen.
    @discardableResult
    func shows(_ what: String, _ isWanted: (String) -> Bool) async throws -> String {
        var screen = ""
        for _ in 0..<1000 {
            screen = try await tmux("capture-pane", "-p")
            if isWanted(screen) { return screen }
        }
        throw TestKitError("\(what) never appeared; the screen is\n\(screen)")
    }

    /// Types the key again and again until the screen shows the text: a key that comes too early is ignored, and
    /// restarts the delay.
    func answer(_ key: String, until text: String) async throws {
        for attempt in 0..<60 {
            await withCheckedContinuation { done in Loop.shared.after(milliseconds: 600) { done.resume() } }
            // A switch that is typed twice is as it was.
            if attempt > 0, try await tmux("capture-pane", "-p").contains(text) { return }
            try await type(key)
            for _ in 0..<20 {
                if try await tmux("capture-pane", "-p").contains(text) { return }
            }
        }
        try await shows(text)
    }

    func end() async { _ = try? await tmux("kill-server") }
}
