// Times, tables, names and prompts as text.

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

    @Test func momentsAreRead() throws {
        let now: EpochSeconds = 1_800_000_000
        #expect(TimeText.moment("@1800000060") == 1_800_000_060)
        let day = try #require(TimeText.moment("2030-06-01"))
        #expect(try #require(TimeText.moment("2030-06-01T01:00")) == day + 3600)
        #expect(try #require(TimeText.moment("2030-06-01 00:00:30")) == day + 30)
        // A time of day is the next one.
        for text in ["00:00", "12:34", "23:59:59"] {
            let moment = try #require(TimeText.moment(text, now: now))
            #expect(moment > now && moment <= now + 25 * 3600)
        }
        for text in ["", "@", "@x", "soon", "25:00", "12:60", "2030-13-01", "2030-06-01T", "12:00 tomorrow", "١٢:٠٠"] {
            #expect(TimeText.moment(text, now: now) == nil, "\(text)")
        }
        #expect(TimeText.past("2d", now: now) == now - 172_800)
        #expect(TimeText.past("99999w", now: 10) == 0)
    }

    @Test func columnsAlign() {
        var table = Table("name", "thing")
        table.add("a", "x")
        table.add("日本", "y")
        table.add(Cell("tab\there"), Cell("z", .good))
        #expect(table.text(legend: true, colour: false) == "NAME      THING\na         x\n日本      y\ntab here  z")
        #expect(table.text(legend: false, colour: true).hasSuffix("tab here  \u{1B}[32mz\u{1B}[0m"))
        #expect(!table.text(legend: true, colour: false).contains("\u{1B}"))
    }

    @Test func escapesInNamesMoveNoColumn() {
        #expect(Cell("a\u{1B}[31mb").text == "a [31mb")
        #expect(Cell("a\nb").text == "a b")
    }

    @Test func namesAreChosen() throws {
        let apps = ["exe:/usr/bin/firefox", "exe:/opt/firefox-esr", "flatpak:org.gnome.Maps", "desktop:org.kde.maps"]
            .compactMap { AppID($0) }
        #expect(try AppName.choose("firefox", among: apps).name == "/usr/bin/firefox")
        #expect(try AppName.choose("/opt/firefox-esr", among: apps).name == "/opt/firefox-esr")
        #expect(try AppName.choose("Maps", among: apps).kind == .flatpak)
        #expect(try AppName.choose("gnome", among: apps).kind == .flatpak)
        #expect(throws: Failure.self) { try AppName.choose("fire", among: apps) }
        #expect(throws: Failure.self) { try AppName.choose("opera", among: apps) }
        #expect(throws: Failure.self) { try AppName.choose("org", among: apps) }
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
        // What is over by now is left out.
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
