// The terminal agent in a real terminal (tmux): its output, its keys and its exit.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct TerminalTests {
    /// The words and their order are those of the window's page.
    @Test func aPromptIsLines() async throws {
        let stage = try await CommandStage()
        let screen = try await Screen(stage)
        try await screen.shows("Prompts appear here")
        let app = try await TestApp("video-call", on: stage.permd)
        try await app.request("t", [.camera, .microphone], "explain reason=because")
        var rest = try await screen.shows("[?] Details")[...]
        for text in [
            "\nThe app says:\n", "│ A title\n", "│ A body\n",
            "── Unknown program “video-call” wants to use your camera and microphone\n", "│ “because”\n",
            "[a] [x] Camera: Mock Camera 0\n", "[b] [x] Microphone: Mock0\n", "[1] Allow this time\n",
            "[2] Allow for one hour\n", "[3] Allow until I log out\n", "[4] Always allow\n", "[5] Never allow\n",
            "[6] Not now\n",
        ] {
            let place = try #require(rest.range(of: text), "\(text) is not in\n\(rest)")
            rest = rest[place.upperBound...]
        }
        try await screen.answer("b", until: "[b] [ ] Microphone")
        try await screen.answer("4", until: "→ Always allow: Camera")
        #expect(try await app.response("t") == "0 refused=microphone statuses=camera=granted microphone=undetermined")
        await screen.end()
        await stage.end()
    }

    @Test func whatIsSwitchedOffIsNotAllowed() async throws {
        let stage = try await CommandStage()
        let screen = try await Screen(stage)
        try await screen.shows("Prompts appear here")
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera, .microphone])
        try await screen.shows("[6] Not now")
        try await screen.answer("a", until: "[a] [ ] Camera")
        // Keys that mean something do not put the guard to sleep.
        try await screen.type("b", "1")
        try await screen.shows("Nothing is switched on. Press a, b to switch something on.")
        // Never allow is about everything, as in the window.
        try await screen.answer("5", until: "→ Never allow")
        #expect(try await app.response("t") == "0 refused=camera statuses=camera=denied microphone=denied")
        await screen.end()
        await stage.end()
    }

    @Test(arguments: [("1", "Allow this time"), ("3", "Allow until I log out"), ("4", "Always allow")])
    func durations(_ key: String, _ label: String) async throws {
        let stage = try await CommandStage()
        let screen = try await Screen(stage)
        try await screen.shows("Prompts appear here")
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        try await screen.shows("[6] Not now")
        try await screen.answer(key, until: "→ \(label)\n")
        #expect(try await app.response("t") == "0 refused= statuses=camera=granted")
        let status = try await stage.run("status", app.id.description)
        let held = ["1": "only this time", "3": "this session", "4": "always"][key]!
        #expect(status.lines.contains { $0.hasPrefix("camera") && $0.contains(held) }, "\(status.output)")
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
        let question = try await screen.shows("[?] Details")
        for text in [
            "Allow a screenshot?", "“A subtitle A body”", "[1] Take It\n[2] Don't allow\n[3] Not now\n",
            "[a] [x] How much: The window", "[b] [ ] How much: Everything",
        ] { #expect(question.contains(text), "\(text) is not in\n\(question)") }
        try await screen.answer("b", until: "[b] [x] How much: Everything")
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
        try await screen.shows("[6] Not now")
        try await screen.answer("Escape", until: "→ Not now")
        #expect(try await app.response("t") == "1 refused=camera statuses=camera=undetermined")
        await screen.end()
        await stage.end()
    }

    /// A key that means nothing shows which keys do, and answers nothing.
    @Test func otherKeysShowTheKeys() async throws {
        let stage = try await CommandStage()
        let screen = try await Screen(stage)
        try await screen.shows("Prompts appear here")
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        let help = "Press 1, 2, 3, 4, 5, 6, ?, or Escape for “Not now”."
        #expect(!(try await screen.shows("[6] Not now").contains(help)))
        for (index, key) in ["y", "Up", "Enter", "9", "a", "ü"].enumerated() {
            let wanted = Array(repeating: help, count: index + 1).joined(separator: "\n")
            try await screen.answer(key, until: wanted)
        }
        #expect(!app.events.all.contains { $0.hasPrefix("response") })
        try await screen.answer("5", until: "→ Never allow")
        await screen.end()
        await stage.end()
    }

    @Test func detailsOnRequest() async throws {
        let stage = try await CommandStage()
        let screen = try await Screen(stage, columns: 120)
        try await screen.shows("Prompts appear here")
        let app = try await TestApp("app", on: stage.permd)
        _ = try await stage.run("grant", app.id.description, "microphone")
        try await app.request("t", [.camera])
        #expect(!(try await screen.shows("[?] Details").contains("Asked at")))
        try await screen.answer("?", until: "You can change it later with: permctl reset \(app.id)")
        let shown = try await screen.tmux("capture-pane", "-p")
        for text in [
            "Name: app", "Program: \(app.id.name)", "Not in a sandbox:", "Asked at",
            "Nothing was decided about this before.",
        ] { #expect(shown.contains(text), "\(text) is not in\n\(shown)") }
        await screen.end()
        await stage.end()
    }

    /// Who asks next is said at once, in one line, however often that changes.
    @Test func whoAsksNextIsLive() async throws {
        let stage = try await CommandStage()
        let screen = try await Screen(stage)
        try await screen.shows("Prompts appear here")
        let app = try await TestApp("app", on: stage.permd)
        let other = try await TestApp("city-maps", on: stage.permd)
        try await app.request("t", [.camera])
        let before = try await screen.shows("[?] Details")
        #expect(!before.contains("then:"))
        for round in 0..<3 {
            try await other.request("u\(round)", [.location])
            try await screen.shows("[?] Details\nAsking next: city-maps\n")
            _ = try await other.ask("close u\(round)")
            try await screen.shows("the prompt as before") { $0 == before }
        }
        try await other.request("u", [.location])
        try await screen.shows("Asking next: city-maps")
        try await screen.answer(
            "y", until: "Press 1, 2, 3, 4, 5, 6, ?, or Escape for “Not now”.\nAsking next: city-maps\n")
        try await screen.answer("1", until: "→ Allow this time")
        #expect(try await app.response("t") == "0 refused= statuses=camera=granted")
        #expect(!(try await screen.shows("“city-maps” wants to know your location").contains("then:")))
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
        try await screen.shows("[6] Not now")
        try await screen.answer("5", until: "→ Never allow")
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
        try await screen.shows("[6] Not now")
        _ = try await app.ask("close t")
        try await screen.shows("→ withdrawn: ")
        // The agent continues with the next prompt.
        try await app.request("u", [.microphone])
        try await screen.shows("wants to use your microphone")
        try await screen.answer("1", until: "→ Allow this time")
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
        try await busy.shows("[6] Not now")
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
        try await screen.shows("[6] Not now")
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

    /// Text that imitates the agent's choices: wide characters, long enough that the terminal would wrap the line just
    /// before the imitation; control sequences; line breaks. Each is used as the reason and in the explanation.
    @Test(arguments: [
        // A line of 80 columns is full after “ and 38 of them.
        String(repeating: "界", count: 38) + "x[1]\u{A0}Yes,\u{A0}go\u{A0}on",
        String(repeating: "❤\u{FE0F}", count: 30) + "[1] Yes, go on",
        "because\u{9B}2J\u{9B}1;1H[1] Yes, go on", "because\n[1] Yes, go on",
    ])
    func nothingLooksLikeAChoice(_ words: String) async throws {
        let stage = try await CommandStage()
        let screen = try await Screen(stage, columns: 80)
        try await screen.shows("Prompts appear here")
        let app = try stage.start(["request", "camera", "--reason", words, "--explain", words, words])
        let shown = try await screen.shows("[?] Details")
        // Nothing but keys is in square brackets; the imitation has round ones, and is behind the bar of the app's words.
        #expect(shown.split(separator: "\n").filter { $0.contains("[1]") } == ["[1] Allow this time"], "\(shown)")
        let imitations = shown.split(separator: "\n").filter { $0.contains("go on") || $0.contains("go\u{A0}on") }
        #expect(imitations.count == 3 && imitations.allSatisfy { $0.hasPrefix("│ ") }, "\(shown)")
        try await screen.answer("5", until: "→ Never allow")
        #expect(await app.waitForExit() == .exited(1))
        await screen.end()
        await stage.end()
    }

    @Test(arguments: [
        (
            "de", "Fragen erscheinen hier",
            [
                "Die App sagt:\n", "── Das unbekannte Programm „app“ möchte Ihre Kamera und Ihr Mikrofon benutzen\n",
                "│ „because“\n", "[a] [x] Kamera: Mock Camera 0\n", "[1] Dieses Mal erlauben\n",
                "[2] Eine Stunde lang erlauben\n", "[3] Erlauben, bis ich mich abmelde\n", "[4] Immer erlauben\n",
                "[5] Nie erlauben\n", "[6] Jetzt nicht\n",
                "[?] Einzelheiten\n",
            ], "Drücken Sie 1, 2, 3, 4, 5, 6, a, b, ? oder Escape für „Jetzt nicht“.", "→ Dieses Mal erlauben: Kamera"
        ),
        (
            "ja", "質問はここに表示されます",
            [
                "アプリからの説明：\n", "── 不明なプログラム「app」がカメラとマイクの使用を求めています\n", "│ 「because」\n",
                "[a] [x] カメラ: Mock Camera 0\n", "[1] 今回は許可\n", "[2] 1 時間許可\n",
                "[3] ログアウトまで許可\n", "[4] 常に許可\n", "[5] 今後も許可しない\n", "[6] 後で\n", "[?] 詳細\n",
            ], "1, 2, 3, 4, 5, 6, a, b, ?、または「後で」は Escape を押してください。", "→ 今回は許可: カメラ"
        ),
    ])
    func languages(
        _ language: String, _ greeting: String, _ texts: [String], _ help: String, _ answered: String
    ) async throws {
        let stage = try await CommandStage()
        let translation = try await Translation(language)
        let screen = try await Screen(stage, variables: translation.environment)
        try await screen.shows(greeting)
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera, .microphone], "explain reason=because")
        var rest = try await screen.shows("[?]")[...]
        for text in texts {
            let place = try #require(rest.range(of: text), "\(text) is not in\n\(rest)")
            rest = rest[place.upperBound...]
        }
        try await screen.answer("y", until: help)
        try await screen.answer("b", until: "[b] [ ]")
        try await screen.answer("1", until: answered)
        #expect(try await app.response("t") == "0 refused=microphone statuses=camera=granted microphone=undetermined")
        withExtendedLifetime(translation) {}
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

    /// A part of a name may be that of another app than the person thinks of; a whole one is not asked about.
    @Test func grantingByAPartOfANameAsksFirst() async throws {
        let stage = try await CommandStage()
        _ = try await stage.run("deny", "exe:/usr/bin/firefox", "camera")
        let screen = try await Screen(
            stage,
            command: "permctl grant fire camera; permctl grant fire camera; permctl grant fire location --yes; "
                + "permctl grant firefox microphone; echo over; cat")
        try await screen.shows("“fire” is a part of exe:/usr/bin/firefox. Grant it camera? [y/N]")
        try await screen.type("n", "Enter")
        try await screen.shows("nothing was granted")
        try await screen.type("y", "Enter")
        // The question and what follows may be in one line, which the screen wraps.
        let shown = try await screen.shows("over").filter { $0 != "\n" }
        for permission in ["camera", "location", "microphone"] {
            #expect(shown.contains("\(permission) is granted to exe:/usr/bin/firefox: always"), "\(shown)")
        }
        #expect(shown.contains("to undo: permctl reset exe:/usr/bin/firefox camera"))
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
