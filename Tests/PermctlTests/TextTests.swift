// Times, tables, names and imported files as text.

import FoundationEssentials
import Glibc
import PermissionClient
import Testing

@testable import permctl

@Suite
struct TextTests {
    static let durations: [(String, Int64?)] = [
        ("30m", 1800), ("2h", 7200), ("1d", 86_400), ("1w", 604_800), ("90", 90), ("45s", 45), ("1h30m", 5400),
        ("", nil), ("0", nil), ("0m", nil), ("-5m", nil), ("m", nil), ("5x", nil), ("5m3", nil), ("1.5h", nil),
        ("99999999999999999999", nil), ("9999999999999999w", nil), ("9223372036854775807s1s", nil),
    ]

    @Test(arguments: durations.indices)
    func durationsAreRead(_ index: Int) {
        let (text, seconds) = TextTests.durations[index]
        #expect(TimeText.duration(text) == seconds, "\(text)")
    }

    /// Less than a second may be left of the current one, and nothing when permd reads a time that is only rounded down.
    @Test func durationsBeginWithAWholeSecond() throws {
        var options = DurationOptions()
        (options.span, options.until, options.session) = ("1s", nil, false)
        #expect(try options.duration(now: 1_800_000_000) == .until(1_800_000_002))
        options.span = "\(EpochSeconds.max - 1_800_000_001)"
        #expect(throws: (any Error).self) { try options.duration(now: 1_800_000_000) }
    }

    @Test func timesAreRead() throws {
        let now: EpochSeconds = 1_800_000_000
        #expect(TimeText.instant("@1800000060") == 1_800_000_060)
        let day = try #require(TimeText.instant("2030-06-01"))
        #expect(try #require(TimeText.instant("2030-06-01T01:00")) == day + 3600)
        #expect(try #require(TimeText.instant("2030-06-01 00:00:30")) == day + 30)
        // A time of day means its next occurrence.
        for text in ["00:00", "12:34", "23:59:59"] {
            let time = try #require(TimeText.instant(text, now: now))
            #expect(time > now && time <= now + 25 * 3600)
            // In the past it means the last one.
            let past = try #require(TimeText.past(text, now: now))
            #expect(past <= now && past >= now - 25 * 3600)
        }
        for text in ["", "@", "@x", "soon", "25:00", "12:60", "2030-13-01", "2030-06-01T", "12:00 tomorrow", "١٢:٠٠"] {
            #expect(TimeText.instant(text, now: now) == nil, "\(text)")
        }
        #expect(TimeText.past("2d", now: now) == now - 172_800)
        #expect(TimeText.past("99999w", now: 10) == 0)
    }

    @Test func numbersAgreeWithTheirNouns() {
        #expect([0, 1, 2].map { counted($0, "decision") } == ["0 decisions", "1 decision", "2 decisions"])
        #expect([0.3, 1, 2, 2.5].map(TimeText.seconds) == ["0.3 seconds", "1 second", "2 seconds", "2.5 seconds"])
    }

    @Test func columnsAlign() {
        let table = Table(
            ["name", "thing"],
            [["a", "x"], ["日本", "y"], ["e\u{301}\u{301}", "y"], [Cell("tab\there"), Cell("z", .good)]])
        #expect(
            table.text(legend: true, colour: false)
                == "NAME      THING\na         x\n日本      y\ne\u{301}\u{301}         y\ntab here  z")
        #expect(table.text(legend: false, colour: true).text.hasSuffix("tab here  \u{1B}[32mz\u{1B}[0m"))
        #expect(!table.text(legend: true, colour: false).text.contains("\u{1B}"))
    }

    /// A long name is wrapped within its column, so that no part of it looks like a row.
    @Test func longCellsStayInTheirColumn() {
        let fake = "exe:/a" + String(repeating: "\u{3000}", count: 40) + "exe:/usr/bin/firefox   granted"
        for width in [40, 60, 80] {
            let table = Table(["app", "camera"], [[Cell(fake), "denied"], ["exe:/b", "granted"]])
            let lines = table.text(legend: false, colour: false, columns: width).text.split(separator: "\n")
            #expect(lines.allSatisfy { Columns.width(of: $0.unicodeScalars) < width })
            #expect(lines.filter { !$0.hasPrefix(" ") }.map { $0.prefix(6) } == ["exe:/a", "exe:/b"], "\(lines)")
            #expect(lines.filter { $0.contains("denied") }.count == 1 && lines[0].hasSuffix("denied"))
        }
    }

    private static func history() -> Table {
        let apps = ["exe:/usr/bin/firefox", "flatpak:org.gnome.Maps", "exe:/opt/firefox"].compactMap { AppID($0) }
        let names = ShortNames(apps)
        return Table(
            ["time", "app", "outcome", Column("by", isDetail: true), Column("count", usual: "1"), "details"],
            apps.map { app in
                [
                    Cell("2026-11-22 14:05:10", brief: "14:05"), Cell(app, names), "granted", "permctl", "1",
                    "a use of several minutes",
                ]
            })
    }

    /// A terminal shows names, leaves out columns that say nothing and, if it is narrow, details; a pipe gets everything.
    @Test func tablesFitTheTerminal() {
        let table = TextTests.history()
        let piped = table.text(legend: true, colour: false).text.split(separator: "\n")
        #expect(piped[0].split(separator: " ") == ["TIME", "APP", "OUTCOME", "BY", "COUNT", "DETAILS"])
        #expect(piped[2].hasPrefix("2026-11-22 14:05:10  flatpak:org.gnome.Maps  granted  permctl  1      a use"))
        let wide = table.text(legend: true, colour: false, columns: 200, isWide: true).text
        #expect(wide == piped.joined(separator: "\n"))
        let normal = table.text(legend: true, colour: false, columns: 100).text.split(separator: "\n")
        #expect(normal[0].split(separator: " ") == ["TIME", "APP", "OUTCOME", "BY", "DETAILS"])
        #expect(normal[1].hasPrefix("14:05  exe:/usr/bin/firefox  granted"), "only one app may have a name")
        #expect(normal[2].hasPrefix("14:05  Maps                  granted"))
        let narrow = table.text(legend: true, colour: false, columns: 70).text.split(separator: "\n")
        #expect(narrow[0].split(separator: " ") == ["TIME", "APP", "OUTCOME", "DETAILS"])
    }

    /// Too narrow for whole words side by side, each row is a block, in which no value is missing.
    @Test func narrowTerminalsGetBlocks() {
        let text = TextTests.history().text(legend: true, colour: false, columns: 44).text
        #expect(
            text.hasPrefix(
                """
                14:05
                  app      exe:/usr/bin/firefox
                  outcome  granted
                  details  a use of several minutes
                14:05
                  app      Maps
                """), "\(text)")
    }

    @Test(arguments: [20, 24, 40, 60, 80, 120])
    func noWordIsBroken(_ columns: Int) {
        let text = TextTests.history().text(legend: true, colour: false, columns: columns).text
        let lines = text.split(separator: "\n")
        #expect(lines.allSatisfy { $0.count < columns }, "\(text)")
        guard columns > 24 else { return }
        let words = Set(text.split { $0.isWhitespace })
        for word in ["exe:/usr/bin/firefox", "exe:/opt/firefox", "Maps", "granted", "several", "minutes"] {
            #expect(words.contains(Substring(word)), "\(word) is not in\n\(text)")
        }
    }

    /// A character takes no, one or two columns.
    static let widths: [(String, Int)] = [
        ("a", 1), ("é", 1), ("e\u{301}", 1), ("日", 2), ("Ａ", 2), ("😀", 2), ("±", 1), ("한", 2), ("\u{200D}", 0),
        ("❤\u{FE0F}", 2), ("\u{FDFD}", 1),
    ]

    @Test(arguments: widths.indices)
    func widthsAreInColumns(_ index: Int) {
        let (text, columns) = TextTests.widths[index]
        #expect(TerminalText(text).columns == columns && TerminalText(text).text == text, "\(text)")
    }

    static let unsafe: [Unicode.Scalar] = [
        "\u{0}", "\u{7}", "\u{8}", "\u{1B}", "\u{7F}", "\u{80}", "\u{84}", "\u{90}", "\u{9B}", "\u{9D}", "\u{AD}",
        "\u{61C}",
        "\u{115F}", "\u{180E}", "\u{200B}", "\u{200E}", "\u{200F}", "\u{202A}", "\u{202E}", "\u{2060}", "\u{2066}",
        "\u{2069}", "\u{3164}", "\u{E000}", "\u{FEFF}", "\u{FFF9}", "\u{FFFF}", "\u{E0041}", "\u{10FFFF}",
    ]

    @Test(arguments: unsafe)
    func unsafeCharactersAreEscaped(_ scalar: Unicode.Scalar) throws {
        let text = "a\(scalar)b"
        let shown = "a\\u{\(String(scalar.value, radix: 16))}b"
        #expect(TerminalText(text).text == shown && Cell(text).text.text == shown)
        #expect(TerminalText("x \(text)").text == "x \(shown)")
        #expect(TerminalText(lines: "1\n\(text)\n").text == "1\n\(shown)\n")
        // JSON keeps the original value.
        let encoder = JSONEncoder()
        encoder.outputFormatting = .prettyPrinted
        let json = Output.escaped(String(decoding: try encoder.encode(["key": text]), as: UTF8.self))
        #expect(json.unicodeScalars.allSatisfy { $0 == "\n" || (0x20...0x7E).contains($0.value) })
        #expect(try JSONDecoder().decode([String: String].self, from: Data(json.utf8)) == ["key": text])
    }

    @Test func lineBreaksBecomeSpaces() {
        let lines = "a\nb\r\nc\u{2028}d\u{85}e"
        #expect(TerminalText(lines).text == "a b  c d e")
        let marks = String(repeating: "\u{301}", count: 500)
        #expect(TerminalText("e\(marks)").text.unicodeScalars.filter { $0 == "\u{301}" }.count == Columns.marks)
    }

    /// No line is wider than the limit, and no text is lost.
    @Test(arguments: [
        "word", "a long word that is none", String(repeating: "日", count: 100), String(repeating: "日本 ", count: 100),
        String(repeating: "👨\u{200D}👩\u{200D}👧", count: 40), String(repeating: "a\u{301}", count: 100),
        String(repeating: "W", count: 300), " leading and  double ", "", String(repeating: "❤\u{FE0F}", count: 60),
    ])
    func textsAreWrapped(_ text: String) {
        for width in [2, 5, 20, 79] {
            for indent in [0, 2, 12] {
                let lines = TerminalText(text).wrapped(to: width, indent: indent)
                #expect(lines.allSatisfy { $0.columns <= width }, "\(lines) is wider than \(width)")
                let letters = lines.map(\.text).joined().filter { $0 != " " }
                #expect(letters == TerminalText(text).text.filter { $0 != " " })
            }
        }
    }

    @Test(arguments: [
        "Wonderful Video Call", String(repeating: "界", count: 40), String(repeating: "a\u{301}", count: 40),
    ])
    func textsAreCut(_ text: String) {
        #expect(TerminalText(text).cut(to: 80, "…").text == text)
        for width in [1, 2, 6, 19] {
            let cut = TerminalText(text).cut(to: width, "…")
            #expect(cut.columns <= width && cut.columns >= width - 1 && cut.text.hasSuffix("…"), "\(cut)")
        }
    }

    /// Messages are wrapped between words, and what continues a line is not at its margin.
    @Test func messagesFitTheTerminal() {
        let text = TerminalText(
            lines: "permctl: a message of words\n  flatpak:org.gnome.Maps  a map of the world\n\nend")
        #expect(
            text.fitted(to: 20).text == """
                permctl: a message
                  of words
                  flatpak:org.gnome
                    .Maps  a map of
                    the world

                end
                """, "\(text.fitted(to: 20))")
        #expect(text.fitted(to: 100) == text)
    }

    @Test func appNamesAreResolved() throws {
        let apps = ["exe:/usr/bin/firefox", "exe:/opt/firefox-esr", "flatpak:org.gnome.Maps", "snap:org.kde.maps"]
            .compactMap { AppID($0) }
        #expect(try AppName.choose("firefox", among: apps).name == "/usr/bin/firefox")
        #expect(try AppName.choose("/opt/firefox-esr", among: apps).name == "/opt/firefox-esr")
        #expect(try AppName.choose("Maps", among: apps).kind == .flatpak)
        #expect(try AppName.choose("gnome", among: apps).kind == .flatpak)
        #expect(throws: Failure.self) { try AppName.choose("fire", among: apps) }
        #expect(throws: Failure.self) { try AppName.choose("opera", among: apps) }
        #expect(throws: Failure.self) { try AppName.choose("org", among: apps) }
    }

    @Test func shortNames() {
        let names = [
            "exe:/usr/bin/firefox": "firefox", "flatpak:org.gnome.Maps": "Maps", "snap:spotify": "spotify",
            "flatpak:org.telegram.desktop": "telegram.desktop", "snap:firefox-esr": "firefox-esr",
            "exe:/usr/bin/python3.11:/opt/app/call.py": "call.py", "exe:/": "/", "snap:.": ".",
            "flatpak:desktop": "desktop",
        ]
        for (app, name) in names { #expect(AppID(app)?.shortName == name, "\(app)") }
    }

    @Test func importedFilesAreChecked() throws {
        let text = #"""
            {"version": 1, "decisions": [
              {"app": "exe:/a", "permission": "camera", "decision": "grant", "duration": "until", "until": 50},
              {"app": "exe:/a", "permission": "location", "decision": "deny", "duration": "until", "until": 150},
              {"app": "exe:/b", "permission": "camera", "decision": "deny", "duration": "session", "by": "person"}
            ]}
            """#
        let decisions = try ImportVerb.check(Data(text.utf8), name: "f", now: 100)
        // Decisions that have ended are left out.
        #expect(decisions.map(\.duration) == [.until(150), .session])
    }

    @Test func errorsHaveTheirStatus() {
        func status(_ kind: ClientError.Kind, _ retryable: Bool) -> ExitReason {
            ExitReason(ClientError(kind: kind, message: "", isRetryable: retryable))
        }
        #expect(status(.noBus, true) == .unavailable && status(.noDaemon, true) == .unavailable)
        #expect(status(.daemon(.accessDenied), false) == .notAllowed)
        #expect(status(.daemon(.storeUnavailable), true) == .retry && status(.daemon(.noAgent), true) == .retry)
        #expect(status(.daemon(.notFound), false) == .no)
        #expect(status(.daemon(.invalidArguments), false) == .usage)
    }
}
