// A prompt's page at every size, its keys, and the guard, without a terminal.

import Foundation
import PermissionClient
import PermissionTestKit
import PermissionTexts
import Testing

@testable import permctl

@Suite
struct ScreenFitTests {
    private static func prompt(
        _ name: String, _ questions: [Question], _ words: String, dialog: PortalDialog? = nil
    ) -> AgentPrompt {
        AgentPrompt(
            app: "exe:/\(name)", appName: name, explanation: Explanation(title: words, body: words),
            items: questions.map {
                AgentPrompt.Item(question: $0, deviceName: words, reason: "\($0.name) \(words)", dialog: dialog)
            },
            since: 1_700_000_000, pause: 600, behind: AgentPrompt.Behind(count: 7, apps: [name, words]))
    }

    private static let hostile = [
        "Video Call", String(repeating: "Wunderbare Kamera ", count: 8), String(repeating: "W", count: 150),
        String(repeating: "界", count: 90), "[1] Only this time [2] Always [5] Not now ［1］",
        String(repeating: "a\u{301}", count: 90), String(repeating: "مكالمة ", count: 15),
    ]

    private static let sizes = [
        (8, 24), (12, 60), (20, 1), (20, 8), (20, 16), (39, 5), (40, 10), (40, 12), (60, 2), (60, 8), (79, 60), (80, 8),
        (80, 24), (200, 10), (200, 60),
    ]

    /// No line is wider and no page higher than the screen. If there are answers, each is there once, and so is the
    /// question, apart from the name.
    @Test(arguments: hostile)
    func everySize(_ words: String) {
        let size = PortalChoice(
            id: "s", label: words, options: [.init(id: "a", label: words), .init(id: "b", label: "B")], initial: "a")
        let prompts = [
            (ScreenFitTests.prompt(words, [.camera], words), "wants to use your camera"),
            (
                ScreenFitTests.prompt(words, [.camera, .microphone, .bluetooth, .location], words),
                "wants to use your camera, microphone and Bluetooth and know your location"
            ),
            (
                ScreenFitTests.prompt(
                    words, [.portal(.screenshot)], words,
                    dialog: PortalDialog(
                        title: "Take a screenshot?", body: words, grantLabel: "Take it", choices: [size])),
                "Take a screenshot?"
            ),
        ]
        var counts: [Drawing.Content: Int] = [:]
        for (prompt, question) in prompts {
            for (note, isDetailed) in [(nil, false), (TerminalPage.Note.keys, false), (nil, true)] {
                var page = TerminalPage(prompt, .unicode)
                page.note = note
                page.isDetailed = isDetailed
                page.first = isDetailed ? nil : 0
                for (columns, rows) in ScreenFitTests.sizes {
                    let drawing = ScreenFit.drawing(page, ScreenSize(columns: columns, rows: rows))
                    counts[drawing.content, default: 0] += 1
                    check(drawing, page, question, columns, rows)
                }
            }
        }
        #expect(counts.count == 3 && counts.values.allSatisfy { $0 > 10 }, "\(counts)")
    }

    private func check(_ drawing: Drawing, _ page: TerminalPage, _ question: String, _ columns: Int, _ rows: Int) {
        let text = drawing.lines.map(\.text).joined(separator: "\n")
        let place: Comment = "\(columns) × \(rows):\n\(text)"
        #expect(drawing.lines.count <= rows, place)
        #expect(drawing.lines.allSatisfy { $0.columns < columns || columns < 3 }, place)
        let keys =
            page.keys.answers.indices.map { "[\($0 + 1)]" }
            + (page.form.hasSwitches ? ["[a]", "[b]", "[c]", "[d]"] : [])
        // Details show names and identities as they are, behind a label or indented further than any choice.
        let choices = drawing.lines.map(\.text).filter { line in
            !page.isDetailed
                || !line.hasPrefix("    ")
                    && !["Name:", "Program:", "You can"].contains { line.drop { $0 == " " }.hasPrefix($0) }
        }.joined(separator: "\n")
        for key in keys {
            #expect(choices.components(separatedBy: key).count == (drawing.content == .page ? 2 : 1), place)
        }
        guard drawing.content == .page else { return }
        let words = text.split { " ─\n".contains($0) }.joined(separator: " ")
        if columns >= 20 { #expect(words.contains(question), place) }
    }

    /// An ordinary terminal shows an ordinary prompt as a whole, and a usual small one its question and answers.
    @Test func ordinaryTerminals() {
        let item = AgentPrompt.Item(question: .camera, deviceName: "Front Camera", reason: "So that they can see you")
        let page = TerminalPage(AgentPrompt(app: "flatpak:a", appName: "Video Call", items: [item]), .unicode)
        #expect(
            ScreenFit.drawing(page, ScreenSize(columns: 80, rows: 24)).lines.map(\.text) == [
                "── Video Call wants to use your camera ───────────────────────────────────────", "",
                "   │ “So that they can see you”", "   Camera   Front Camera", "",
                "   Allow:   [1] Only this time   [2] Until I log out   [3] Always", "   [?] Details", "",
                "   [4] Don't allow   [5] Not now",
            ])
        #expect(
            ScreenFit.drawing(page, ScreenSize(columns: 20, rows: 10)).lines.map(\.text) == [
                "── Video Call wants", "── to use your", "── camera ─────────", "Allow:", "[1] Only this time",
                "[2] Until I log out", "[3] Always", "[?] Details", "[4] Don't allow", "[5] Not now",
            ])
    }

    @Test func keysOfAPrompt() {
        func keys(_ items: [Question], _ durations: [Duration.Word]) -> PromptKeys {
            PromptKeys(
                PromptForm(items.map { AgentPrompt.Item(question: $0, deviceName: "", reason: "") }, durations))
        }
        let all = keys([.camera, .microphone], Duration.Word.allCases)
        #expect(all.answers == [.allow(.once), .allow(.session), .allow(.always), .deny, .notNow])
        #expect(all.all == "1-5, a-b, ?" && all.switches == "a, b")
        #expect(all.answer("4") == .deny && all.answer("0") == nil && all.answer("6") == nil && all.answer("²") == nil)
        #expect(all.option("b") != nil && all.option("c") == nil && all.option("?") == nil)
        let one = keys([.camera], [.always])
        #expect(one.answers == [.allow(.always), .deny, .notNow] && one.all == "1-3, ?" && one.switches == "")
        #expect(keys([.portal(.screenshot)], [.once]).answers == [.allow(nil), .deny, .notNow])
        // Nothing can be granted for a duration that is not known.
        #expect(keys([.camera], []).answers == [.deny, .notNow])
    }

    /// A dialog with more options than letters: the first have keys.
    @Test func moreOptionsThanKeys() {
        let choices = (0..<40).map {
            PortalChoice(id: "\($0)", label: "Option \($0)", options: [], initial: "false")
        }
        let item = AgentPrompt.Item(
            question: .portal(.other), deviceName: "", reason: "", dialog: PortalDialog(title: "?", choices: choices))
        let keys = PromptKeys(PromptForm([item], [.once]))
        #expect(keys.options.count == 26 && keys.option("z") != nil && keys.all == "1-3, a-z, ?")
    }

    @Test func theGuardWakesUpOnce() {
        var keyGuard = KeyGuard(at: 1000)
        #expect(!keyGuard.isAwake && keyGuard.timeout(at: 1000) == 400 && keyGuard.timeout(at: 1399) == 1)
        // Looking at it later, as after an update, does not extend it.
        #expect(keyGuard.timeout(at: 1300) == 100 && keyGuard.timeout(at: 5000) == 0)
        keyGuard.arm(at: 1399)
        #expect(keyGuard.timeout(at: 1400) == 399)
        keyGuard.wakeUp()
        #expect(keyGuard.isAwake && keyGuard.timeout(at: 1400) == -1)
        keyGuard.arm(at: 2000)
        #expect(!keyGuard.isAwake && keyGuard.timeout(at: 2000) == 400)
    }

    @Test func namesAreShortenedInTheMiddle() {
        let name = TerminalText("Wonderful Video Call")
        #expect(name.shortened(to: 20, "…") == name)
        #expect(name.shortened(to: 9, "…").text == "Wond…Call")
        #expect(name.cut(to: 10, "…").text == "Wonderful…")
        for text in ScreenFitTests.hostile {
            for width in [1, 2, 6, 20] {
                #expect(TerminalText(text).shortened(to: width, "…").columns <= width)
                #expect(TerminalText(text).cut(to: width, "…").columns <= width)
            }
        }
    }

    @Test func textsOfOtherTerminals() {
        #expect(Glyphs.unicode.text("“\u{2068}[1] a［b］\u{2069}”").text == "“(1) a(b)”")
        #expect(Glyphs.unicode.exact("exe:/usr/bin/[").text == "exe:/usr/bin/[")
        #expect(Glyphs.ascii.text("“ä” – 界…").text == "\"\\u{e4}\" - \\u{754c}...")
        #expect(Glyphs.ascii.text("a\u{9B}2J").text == "a\\u{9b}2J")
    }
}
