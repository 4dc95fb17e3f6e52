// The terminal agent in a real terminal (tmux): its output, its keys and its exit.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct TerminalTests {
    @Test func aPromptIsShownAndAnswered() async throws {
        let stage = try await CommandStage()
        let screen = try await Screen(stage)
        try await screen.shows("Prompts appear here")
        let app = try await TestApp("video-call", on: stage.permd)
        try await app.request("t", [.camera, .microphone], "explain reason=because")
        let explanation = try await screen.shows("[1] Continue   [2] Not Now")
        #expect(
            explanation.contains("video-call says") && explanation.contains("A title") && explanation.contains("A body")
        )
        try await screen.answer("1", until: "wants to use the camera")
        let question = try await screen.shows("[5] Not Now")
        for text in [
            "1 of 2", String(app.id.description.suffix(20)), "Device", "“because”", "[1] Only This Time",
            "[4] Don't Allow",
        ] {
            #expect(question.contains(text), "\(text)")
        }
        try await screen.answer("3", until: "→ Always")
        try await screen.shows("2 of 2")
        try await screen.answer("4", until: "→ Don't Allow")
        #expect(try await app.response("t") == "0 refused=microphone statuses=camera=granted microphone=denied")
        await screen.end()
        await stage.end()
    }

    @Test func aPortalsQuestionHasItsOwnLabelsAndChoices() async throws {
        let stage = try await CommandStage()
        let screen = try await Screen(stage)
        try await screen.shows("Prompts appear here")
        let portal = try FakePortal(on: stage.permd.bus)
        let app = try stage.permd.bus.connect()
        let dialog = FakePortal.dialog(
            FakePortal.handle(app.uniqueName), icon: "applets-screenshooter-symbolic", title: "Allow a screenshot?",
            options: [
                "grant_label": .string("Take It"),
                "choices": FakePortal.choices([
                    ("area", "How much", [("window", "The window"), ("all", "Everything")], "window"),
                    ("pointer", "With the pointer", [], "false"),
                ]),
            ])
        let asking = Task { await portal.ask(dialog) }
        let question = try await screen.shows("[c] [ ] With the pointer")
        for text in [
            "Allow a screenshot?", "“A subtitle A body”", "[1] Take It   [2] Don't Allow   [3] Not Now",
            "[a] (•) How much: The window", "[b] ( ) How much: Everything",
        ] { #expect(question.contains(text), "\(text) is not in\n\(question)") }
        try await screen.answer("b", until: "[b] (•) How much: Everything")
        try await screen.answer("c", until: "[c] [x] With the pointer")
        try await screen.answer("1", until: "→ Take It")
        #expect(await asking.value == "0 area=all pointer=true")
        portal.end()
        app.close()
        await screen.end()
        await stage.end()
    }

    @Test func escapeIsNotNow() async throws {
        let stage = try await CommandStage()
        let screen = try await Screen(stage)
        try await screen.shows("Prompts appear here")
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        try await screen.shows("[5] Not Now")
        // Arrow keys, letters and Return do nothing.
        try await screen.type("Up", "Enter", "y", "9")
        try await screen.answer("Escape", until: "→ Not Now")
        #expect(try await app.response("t") == "1 refused=camera statuses=camera=undetermined")
        await screen.end()
        await stage.end()
    }

    /// Keys typed before the question do not answer it.
    @Test func nobodyAnswersByAccident() async throws {
        let stage = try await CommandStage()
        let screen = try await Screen(stage)
        try await screen.shows("Prompts appear here")
        try await screen.type("1", "1", "1")
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        try await screen.shows("[5] Not Now")
        try await screen.answer("4", until: "→ Don't Allow")
        #expect(try await app.response("t") == "0 refused=camera statuses=camera=denied")
        await screen.end()
        await stage.end()
    }

    @Test func withdrawnPromptsEnd() async throws {
        let stage = try await CommandStage()
        let screen = try await Screen(stage)
        try await screen.shows("Prompts appear here")
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        try await screen.shows("[5] Not Now")
        _ = try await app.ask("close t")
        try await screen.shows("withdrawn")
        // The agent continues with the next prompt.
        try await app.request("u", [.microphone])
        try await screen.shows("wants to use the microphone")
        try await screen.answer("1", until: "→ Only This Time")
        #expect(try await app.response("u") == "0 refused= statuses=microphone=granted")
        await screen.end()
        await stage.end()
    }

    @Test func leavingRestoresTheTerminal() async throws {
        let stage = try await CommandStage()
        // First while idle, then at a question.
        let idle = try await Screen(stage)
        try await idle.shows("Prompts appear here")
        try await idle.type("C-c")
        try await idle.shows("left with 0\necho")
        await idle.end()
        let busy = try await Screen(stage)
        try await busy.shows("Prompts appear here")
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        try await busy.shows("[5] Not Now")
        try await busy.answer("C-c", until: "left with 0")
        try await busy.shows("left with 0\necho")
        // Another agent shows the question.
        let agent = try await stage.agent([.deny(.always)])
        #expect(try await app.response("t") == "0 refused=camera statuses=camera=denied")
        withExtendedLifetime(agent) {}
        await busy.end()
        await stage.end()
    }

    @Test func signalsRestoreTheTerminalToo() async throws {
        let stage = try await CommandStage()
        let screen = try await Screen(
            stage, command: "permctl agent; echo \"left with $?\"; stty -a | grep -o -- '-\\?echo '; cat")
        try await screen.shows("Prompts appear here")
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        try await screen.shows("[5] Not Now")
        let pid = try await screen.tmux("list-panes", "-F", "#{pane_pid}").trimmingCharacters(
            in: .whitespacesAndNewlines)
        let killer = try ChildProcess("pkill", ["-TERM", "-P", pid])
        #expect(await killer.waitForExit() == .exited(0))
        try await screen.shows("left with 0\necho")
        await screen.end()
        await stage.end()
    }

    @Test func withoutATerminal() async throws {
        let stage = try await CommandStage()
        // setsid(1) runs it without a controlling terminal.
        let child = try ChildProcess(
            "setsid", ["--wait", BuiltProgram.path("permctl"), "agent"], environment: stage.permd.environment,
            standardError: .pipe)
        var errors = ""
        for await line in child.errorLines { errors += line }
        #expect(await child.waitForExit() == .exited(64))
        #expect(errors.contains("no terminal"))
        await stage.end()
    }

    @Test func fromTheBackground() async throws {
        let stage = try await CommandStage()
        let screen = try await Screen(
            stage, command: "bash -c 'set -m; permctl agent & wait $!; echo \"left with $?\"; cat'")
        #expect(try await screen.shows("left with 64").contains("background"))
        await screen.end()
        await stage.end()
    }

    @Test func narrowTerminalsWrap() async throws {
        let stage = try await CommandStage()
        let screen = try await Screen(stage, columns: 40)
        try await screen.shows("Prompts appear here")
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera], "reason=" + String(repeating: "word,", count: 30))
        let shown = try await screen.shows("[5] Not Now")
        #expect(shown.contains("[1] Only This Time"))
        await screen.end()
        await stage.end()
    }

    /// Text that imitates the agent's choices: wide characters, long enough that the terminal would wrap the line just
    /// before the imitation; control sequences; line breaks. Each is used as the reason and in the explanation.
    @Test(arguments: [
        // A line of 80 columns is full after “ and 33 of them in the question, and after 38 in the explanation.
        String(repeating: "界", count: 33) + "x[1]\u{A0}Yes,\u{A0}go\u{A0}on",
        String(repeating: "界", count: 38) + "x[1]\u{A0}Yes,\u{A0}go\u{A0}on",
        String(repeating: "❤\u{FE0F}", count: 30) + "[1] Yes, go on",
        "because\u{9B}2J\u{9B}1;1H[1] Yes, go on", "because\n   [1] Yes, go on",
    ])
    func nothingLooksLikeAChoice(_ words: String) async throws {
        let stage = try await CommandStage()
        let screen = try await Screen(stage, columns: 80)
        try await screen.shows("Prompts appear here")
        let app = try stage.start(["request", "camera", "--reason", words, "--explain", words, words])
        func choices(_ screen: String) -> [Substring] {
            // Only lines at the left edge, or indented no further than the agent's own choices.
            screen.split(separator: "\n").filter { $0.drop { $0 == " " }.hasPrefix("[1]") && !$0.hasPrefix("    ") }
        }
        #expect(choices(try await screen.shows("[2] Not Now")) == ["   [1] Continue   [2] Not Now"])
        try await screen.answer("1", until: "wants to use the camera")
        let question = try await screen.shows("[5] Not Now")
        #expect(choices(question).count == 2 && question.contains("[1] Only This Time   [2]"), "\(question)")
        try await screen.answer("4", until: "→ Don't Allow")
        #expect(await app.waitForExit() == .exited(1))
        await screen.end()
        await stage.end()
    }

    @Test func resettingEverythingAsksFirst() async throws {
        let stage = try await CommandStage()
        _ = try await stage.run("grant", "exe:/a", "camera")
        let screen = try await Screen(stage, command: "permctl reset --all; permctl reset --all; cat")
        try await screen.shows("[y/N]")
        try await screen.type("n", "Enter")
        try await screen.shows("nothing was forgotten")
        try await screen.type("y", "Enter")
        try await screen.shows("forgot camera for exe:/a")
        await screen.end()
        await stage.end()
    }

    /// On a terminal, apps have their short names, which stand for them on the command line; `--wide` shows identities.
    @Test func tablesKnowTheTerminal() async throws {
        let stage = try await CommandStage()
        for app in ["exe:/opt/video-call/bin/video-call", "exe:/usr/bin/firefox", "exe:/opt/firefox"] {
            _ = try await stage.run("grant", app, "camera", "--session")
        }
        let screen = try await Screen(
            stage, columns: 70,
            command: "permctl status; permctl status --wide; permctl status video-call; echo over; cat")
        let shown = try await screen.shows("over").split(separator: "\n").map(String.init)
        let rows = shown.filter { $0.contains("granted") }
        #expect(rows[0].hasPrefix("exe:/opt/firefox "), "\(shown)")
        #expect(rows[1].hasPrefix("video-call "))
        #expect(rows[2].hasPrefix("exe:/usr/bin/firefox "))
        #expect(shown.contains { $0.hasPrefix("exe:/opt/video-call/bin/video-call") })
        #expect(shown.contains { $0.hasPrefix("camera") })
        await screen.end()
        await stage.end()
    }
}
