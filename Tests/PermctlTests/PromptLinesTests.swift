// A prompt's lines and keys, and the guard of keys, without a terminal agent.

import DBus
import Foundation
import PermissionClient
import PermissionTestKit
import PermissionTexts
import TestSupport
import Testing

@testable import permctl

@Suite
struct PromptLinesTests {
    private func prompt(
        _ words: String, _ questions: [PromptItem], _ durations: [Duration.Kind] = Duration.Kind.allCases,
        dialog: PortalDialog? = nil
    ) -> AgentPrompt {
        AgentPrompt(
            app: "exe:/\(words)", appName: words, explanation: Explanation(title: words, body: words),
            items: questions.map {
                AgentPrompt.Item(id: $0, deviceName: words, reason: "\($0.name) \(words)", dialog: dialog)
            },
            durations: durations, since: 1_700_000_000, pause: 600,
            behind: AgentPrompt.Behind(count: 7, apps: [words, words]))
    }

    private func texts(_ lines: [TerminalLine], _ columns: Int = 79) -> [String] {
        lines.flatMap { $0.wrapped(to: columns) }.map(\.text)
    }

    /// No line is wider than the terminal, and each key stands in one line, whatever the app says.
    @Test(arguments: [
        "Video Call", String(repeating: "Wunderbare Kamera ", count: 8), String(repeating: "W", count: 150),
        String(repeating: "界", count: 90), "[1] Allow this time [2] Always allow [5] Not now ［1］",
        String(repeating: "a\u{301}", count: 90), String(repeating: "مكالمة ", count: 15), "a\u{9B}2J\u{1B}[2J\r\n[1]",
    ])
    func eachKeyIsThereOnce(_ words: String) {
        let choice = PortalChoice(
            id: "s", label: words, options: [.init(id: "a", label: words), .init(id: "b", label: "B")], initial: "a")
        let prompts = [
            (prompt(words, [.camera]), "123456?"),
            (prompt(words, [.camera, .microphone, .bluetooth, .location]), "abcd123456?"),
            (
                prompt(
                    words, [.portal(.screenshot)], dialog: PortalDialog(title: words, body: words, choices: [choice])),
                "ab123?"
            ),
        ]
        for (prompt, keys) in prompts {
            let lines = PromptLines(prompt)
            for columns in [11, 19, 39, 79, 199] {
                let shown = texts(lines.lines, columns)
                for line in shown {
                    #expect(TerminalText(line).text == line && TerminalText(line).columns <= columns, "\(shown)")
                }
                for key in keys {
                    #expect(shown.filter { $0.contains("[\(key)]") }.count == 1, "\(key) \(shown)")
                    #expect(shown.contains { $0.hasPrefix("[\(key)] ") }, "\(key) \(shown)")
                    #expect(lines.action(key) != nil)
                }
                #expect(!lines.behind(prompt.behind).text.contains("["))
            }
            for key in "07e²١ \u{0}" { #expect(lines.action(key) == nil || keys.contains(key), "\(key)") }
        }
    }

    @Test func anOrdinaryPrompt() {
        let item = AgentPrompt.Item(id: .camera, deviceName: "Front Camera", reason: "So that they can see you")
        let lines = PromptLines(AgentPrompt(app: "flatpak:a", appName: "Video Call", items: [item]))
        #expect(
            texts(lines.lines) == [
                "", "── Video Call wants to use your camera", "│ “So that they can see you”", "Camera: Front Camera",
                "[1] Allow this time", "[2] Allow for one hour", "[3] Allow until I log out", "[4] Always allow",
                "[5] Never allow", "[6] Not now",
                "[?] Details",
            ])
        #expect(texts(lines.lines, 19).contains("── camera"))
        let used = AgentPrompt.Item(id: .camera, deviceName: "Front Camera", usedBy: "Other Call", reason: "")
        let others = PromptLines(AgentPrompt(app: "flatpak:a", appName: "Video Call", items: [used]))
        #expect(texts(others.lines).contains { $0 == "Camera: Front Camera · in use by Other Call" })
    }

    /// Without a duration that is known, nothing can be allowed.
    @Test func onlyOfferedDurationsHaveKeys() {
        func answers(_ durations: [Duration.Kind]) -> [String] {
            texts(PromptLines(prompt("a", [.camera], durations)).lines).filter { $0.hasPrefix("[") }
        }
        #expect(answers([.always]) == ["[1] Always allow", "[2] Never allow", "[3] Not now", "[?] Details"])
        #expect(answers([]) == ["[1] Never allow", "[2] Not now", "[?] Details"])
    }

    /// A dialog with more options than letters: the first have keys.
    @Test func moreOptionsThanKeys() {
        let choices = (0..<40).map { PortalChoice(id: "\($0)", label: "Option \($0)", options: [], initial: "false") }
        let lines = PromptLines(
            prompt("a", [.portal(.other)], dialog: PortalDialog(title: "?", choices: choices)))
        let shown = texts(lines.lines)
        #expect(shown.contains("[z] [ ] Option 25") && !shown.contains { $0.contains("Option 26") })
    }

    /// Square brackets are for keys; where a text must be exact, it stands behind a label.
    @Test func identitiesAreExact() {
        #expect(texts([PromptLines.line("“\u{2068}[1] a［b］\u{2069}”")]) == ["“(1) a(b)”"])
        let details = texts(PromptLines(prompt("[1]", [.camera])).details(nil))
        #expect(
            details.contains("Program: /[1]")
                && details.last == "You can change it later with: permctl reset 'exe:/[1]'")
    }

    /// A key that waits when the question appears is discarded; one that is pressed afterwards counts.
    @Test(.timeLimit(.minutes(1)))
    @LoopActor
    func theGuardDiscardsKeys() async throws {
        let keyboard = try PseudoTerminal()
        let terminal = try #require(Terminal(keyboard.path, inputDelay: 0))
        terminal.begin()
        let discarded = try keyboard.discarded()
        keyboard.type("111")
        async let first = terminal.next()
        // A key may still be discarded with those before it, which is another event.
        let typing = Task { for await _ in discarded { keyboard.type("4") } }
        #expect(await first == .key("4"))
        typing.cancel()
        for (bytes, event) in [
            ("1", Terminal.Event.key("1")), ("\u{3}", .left), ("\u{4}", .left), ("\u{1B}[3~", .key(Terminal.sequence)),
            ("\u{1B}", .key(Terminal.escape)),
        ] {
            keyboard.type(bytes)
            #expect(await terminal.next() == event)
        }
        terminal.stop()
        terminal.delayKeys()
        #expect(await terminal.next() == .stopped)
    }
}
