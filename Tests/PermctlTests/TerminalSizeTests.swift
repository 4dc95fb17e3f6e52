// The terminal agent's page in terminals of all sizes, in several languages, and without UTF-8 or cursor movement.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct TerminalSizeTests {
    private static let answers = ["[1] ", "[2] ", "[3] ", "[4] ", "[5] ", "[a] ", "[b] ", "[?] "]

    /// The screen has each key once.
    private func isWhole(_ screen: String) -> Bool {
        TerminalSizeTests.answers.allSatisfy { screen.components(separatedBy: $0).count == 2 }
    }

    private func words(_ screen: String) -> String {
        screen.split { " \n─".contains($0) }.joined(separator: " ")
    }

    /// Nothing is cut, nothing of the larger or smaller page stays, and the question is open all the time.
    @Test func aPageFollowsTheSize() async throws {
        let stage = try await CommandStage()
        let screen = try await Screen(stage, columns: 90, rows: 30)
        try await screen.shows("Prompts appear here")
        let app = try await TestApp("app", on: stage.permd)
        let reason = (1...40).map { "word\($0)" }.joined(separator: ",")
        try await app.request("t", [.camera, .microphone], "explain reason=\(reason)")
        let wide = try await screen.shows("[5] Not now")
        for (columns, rows) in [(40, 12), (64, 20), (24, 16), (120, 40), (90, 10), (90, 30)] {
            try await screen.resize(columns: columns, rows: rows)
            let size = try await screen.tmux("display-message", "-p", "#{pane_width} #{pane_height}")
            #expect(size == "\(columns) \(rows)\n")
            let shown = try await screen.shows("the page with \(columns) columns") { shown in
                // The question's last line ends at the new edge.
                let rule = shown.split(separator: "\n").last { $0.hasPrefix("──") } ?? ""
                return isWhole(shown) && rule.hasSuffix("─") && rule.count == min(columns - 1, 78)
            }
            #expect(words(shown).contains("wants to use your camera and microphone"), "\(shown)")
            #expect(shown.components(separatedBy: "wants to").count == 2, "\(shown)")
        }
        try await screen.shows("the first page") { $0 == wide }
        // Where not even the question and its answers fit, nothing can be allowed or refused.
        try await screen.resize(columns: 30, rows: 4)
        #expect(!(try await screen.shows("too small").contains("[")))
        for key in ["1", "4", "a", "1"] { try await screen.type(key) }
        try await screen.resize(columns: 90, rows: 30)
        try await screen.shows("the page again") { isWhole($0) }
        #expect(!app.events.all.contains { $0.hasPrefix("response") })
        try await screen.answer("4", until: "→ Don't allow")
        #expect(try await app.response("t") == "0 refused=camera statuses=camera=denied microphone=denied")
        await screen.end()
        await stage.end()
    }

    /// The question and the answers are there from the start; the rest can be scrolled to.
    @Test(arguments: [(40, 10), (80, 8), (32, 12), (20, 16)])
    func smallTerminals(_ columns: Int, _ rows: Int) async throws {
        let stage = try await CommandStage()
        let screen = try await Screen(stage, columns: columns, rows: rows)
        try await screen.shows("Prompts")
        let name = "a-very-" + String(repeating: "long-", count: 20) + "name"
        let app = try await TestApp(name, on: stage.permd)
        let reason = (1...60).map { "word\($0)" }.joined(separator: ",")
        try await app.request("t", [.camera, .microphone], "explain reason=\(reason)")
        let shown = try await screen.shows("the whole page") { isWhole($0) }
        #expect(words(shown).contains("wants to use your camera and microphone"), "\(shown)")
        try await screen.answer("?", until: "Name")
        for (keys, text) in [(["NPage", "Down"], "permctl"), (["PPage", "Up"], "A title")] {
            for _ in 0..<60 where !(try await screen.tmux("capture-pane", "-p").contains(text)) {
                for key in keys { try await screen.type(key) }
            }
            try await screen.shows(text)
        }
        try await screen.answer("?", until: "Details")
        try await screen.answer("b", until: "[b] [ ]")
        try await screen.answer("1", until: "→ Only")
        #expect(try await app.response("t") == "0 refused=microphone statuses=camera=granted microphone=undetermined")
        await screen.end()
        await stage.end()
    }

    @Test(arguments: [
        (
            "de_DE", (80, 24),
            [
                "app sagt:", "── Das unbekannte Programm „app“ möchte Ihre Kamera und Ihr Mikrofon benutzen\n",
                "│ „because“", "[a] [x] Kamera     Mock Camera 0",
                "Erlauben:   [1] Nur dieses Mal   [2] Bis ich mich abmelde   [3] Immer", "[?] Einzelheiten",
                "[4] Nicht erlauben   [5] Jetzt nicht",
            ], "Drücken Sie 1-5, a-b, ? oder Escape für „Jetzt nicht“.", "→ Nur dieses Mal: Kamera"
        ),
        (
            "ja_JP", (80, 24),
            [
                "appからの説明：", "── 不明なプログラム「app」がカメラとマイクの使用を求めています ──", "│ 「because」",
                "[a] [x] カメラ   Mock Camera 0", "許可する期間：   [1] 今回のみ   [2] ログアウトするまで   [3] 常に",
                "[?] 詳細", "[4] 許可しない   [5] 後で",
            ], "1-5, a-b, ?、または「後で」は Escape を押してください。", "→ 今回のみ: カメラ"
        ),
        (
            "de_DE", (40, 12),
            [
                "── Das unbekannte Programm „app“ möchte", "── Ihre Kamera und Ihr Mikrofon\n", "── benutzen ──",
                "[1] Nur dieses Mal",
                "[2] Bis ich mich abmelde  [3] Immer", "[?] Einzelheiten", "[4] Nicht erlauben  [5] Jetzt nicht",
            ], "Drücken Sie 1-5, a-b, ?", "→ Nur dieses Mal: Kamera"
        ),
        (
            "ja_JP", (40, 12),
            [
                "── 不明なプログラム「app」がカメラとマ\n", "── イクの使用を求めています ──", "許可する期間：  [1] 今回のみ",
                "[2] ログアウトするまで  [3] 常に", "[4] 許可しない  [5] 後で",
            ], "1-5, a-b, ?、または「後で」は", "→ 今回のみ: カメラ"
        ),
    ])
    func languages(
        _ locale: String, _ size: (Int, Int), _ texts: [String], _ help: String, _ answered: String
    ) async throws {
        let stage = try await CommandStage()
        let folder = try TemporaryFolder()
        let screen = try await Screen(
            stage, columns: size.0, rows: size.1, variables: try await Translation.install(locale, in: folder))
        try await screen.shows(locale == "de_DE" ? "Fragen erscheinen hier" : "質問はここに表示されます")
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera, .microphone], "explain reason=because")
        var rest = try await screen.shows("the whole page") { isWhole($0) }[...]
        for text in texts {
            let place = try #require(rest.range(of: text), "\(text) is not in\n\(rest)")
            rest = rest[place.upperBound...]
        }
        try await screen.answer("y", until: help)
        try await screen.answer("b", until: "[b] [ ]")
        try await screen.answer("1", until: answered)
        #expect(try await app.response("t") == "0 refused=microphone statuses=camera=granted microphone=undetermined")
        await screen.end()
        await stage.end()
    }

    /// Without a UTF-8 locale, the page is English and ASCII, whatever the app says.
    @Test func withoutUTF8() async throws {
        let stage = try await CommandStage()
        let screen = try await Screen(
            stage, command: "LC_ALL=C LANGUAGE=de permctl agent; echo \"left with $?\"; cat")
        try await screen.shows("Prompts appear here")
        let app = try stage.start(["request", "camera", "--reason", "für „dich“ 界"])
        let shown = try await screen.shows("[5] Not now")
        #expect(shown.utf8.allSatisfy { $0 < 0x80 }, "\(shown)")
        #expect(shown.contains("-- ") && shown.contains("| \"f\\u{fc}r "), "\(shown)")
        try await screen.answer("4", until: "-> Don't allow")
        #expect(await app.waitForExit() == .exited(1))
        await screen.end()
        await stage.end()
    }

    /// A terminal without cursor movement gets the page again when a key changes it, and only then.
    @Test func withoutCursorMovement() async throws {
        let stage = try await CommandStage()
        let screen = try await Screen(stage, command: "TERM=dumb permctl agent; echo \"left with $?\"; cat")
        try await screen.shows("Prompts appear here")
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera, .microphone])
        try await screen.shows("[5] Not now")
        for _ in 0..<3 { try await screen.answer("y", until: "Press 1-5, a-b, ?, or Escape") }
        #expect(try await screen.tmux("capture-pane", "-p").components(separatedBy: "Press 1-5").count == 2)
        try await screen.answer("b", until: "[b] [ ] Microphone")
        try await screen.answer("1", until: "→ Only this time: Camera")
        #expect(try await app.response("t") == "0 refused=microphone statuses=camera=granted microphone=undetermined")
        await screen.end()
        await stage.end()
    }
}
