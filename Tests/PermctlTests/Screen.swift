// A real terminal (tmux), its screen and its keyboard.

import DBus
import Foundation
import PermissionTestKit

/// A terminal that runs a command, in which `permctl` stands for the built program; the agent by default.
@LoopActor
final class Screen {
    private let folder: TemporaryFolder
    /// A client in control mode (tmux(1)), with which the server and the command end.
    private let client: ChildProcess
    /// An event once the client has its session, without which it accepts no commands.
    private let sessions = EventLog<Void>()
    /// An event whenever the command has written.
    private let changes = EventLog<Void>()
    /// The answers to what the client was told, in order.
    private let answers = EventLog<(text: String, isError: Bool)>()
    private var told = 0

    init(
        _ stage: CommandStage, columns: Int = 90, rows: Int = 60, variables: [String: String] = [:],
        command: String = "permctl agent; echo \"left with $?\"; stty -a | grep -o -- '-\\?echo '; cat"
    ) async throws {
        folder = try TemporaryFolder()
        var environment = stage.permd.environment.merging(variables) { $1 }
        environment["TERM"] = "xterm-256color"
        environment["PERMCTL"] = BuiltProgram.path("permctl")
        client = try ChildProcess(
            "tmux",
            [
                "-u", "-C", "-S", folder.file("s"), "-f", "/dev/null", "new-session", "-x", "\(columns)", "-y",
                "\(rows)", command.replacing("permctl", with: "\"$PERMCTL\""), ";", "set-option", "-g",
                "exit-unattached", "on",
            ], environment: environment, standardInput: .pipe)
        Task { [sessions, changes, answers, lines = client.lines] in
            var answer: String?
            for await line in lines {
                switch line.prefix(while: { $0 != " " }) {
                // The number at the end tells the answers to this client from others.
                case "%begin": answer = line.hasSuffix(" 1") ? "" : nil
                case "%end", "%error":
                    if let text = answer { answers.add((text, line.hasPrefix("%error"))) }
                    answer = nil
                case "%output" where answer == nil: changes.add(())
                case "%session-changed" where answer == nil: sessions.add(())
                default: answer? += line + "\n"
                }
            }
        }
        try await sessions.wait(for: 1)
    }

    @discardableResult
    func tmux(_ words: String...) async throws -> String {
        let command = words.map { "'\($0.replacing("'", with: "'\\''"))'" }.joined(separator: " ")
        told += 1
        let number = told
        guard client.write(command + "\n") else { throw TestKitError("tmux has exited before \(command)") }
        let answer = try await answers.wait(for: number)[number - 1]
        guard !answer.isError else { throw TestKitError("tmux does not accept \(command): \(answer.text)") }
        return answer.text
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
        try await becomes(what, isWanted) { try await tmux("capture-pane", "-p") }
    }

    /// Looks whenever the command has written, until what is seen is as wanted.
    private func becomes(
        _ what: String, _ isWanted: (String) -> Bool, _ look: () async throws -> String
    ) async throws -> String {
        while true {
            let seen = changes.all.count
            let state = try await look()
            if isWanted(state) { return state }
            do { try await changes.wait(for: seen + 1) } catch {
                throw TestKitError("\(what) never appeared; the screen is\n\(try await tmux("capture-pane", "-p"))")
            }
        }
    }

    /// Types the key once keys count, and waits until the screen shows the text.
    func answer(_ key: String, until text: String) async throws {
        _ = try await becomes(
            "the cursor", { $0 == "1\n" }, { try await tmux("display-message", "-p", "#{cursor_flag}") })
        try await type(key)
        try await shows(text)
    }

    func end() async {
        _ = try? await tmux("kill-server")
        _ = await client.waitForExit()
    }
}
