// Rule and settings files: their contents, and the first error with its line.

import PermissionModel
import System
import Testing

@testable import PolicyFiles

@Suite
struct RuleFileTests {
    @Test func rulesAreRead() throws {
        let rules = try Rule.read(
            """
            # office
            ; and more
            [Rule no-camera in browsers]
            Apps = flatpak:org.mozilla.*  exe:/usr/bin/firefox
            Permissions=camera microphone camera
            Action=restrict

            [Rule kiosk]
            Apps=*
            Permissions=location
            Action=grant
            """, file: "/f")
        #expect(rules.map(\.name) == ["no-camera in browsers", "kiosk"])
        #expect(rules[0].apps.map(\.text) == ["flatpak:org.mozilla.*", "exe:/usr/bin/firefox"])
        #expect(rules[0].permissions == [.camera, .microphone] && rules[0].action == .restrict)
        #expect(rules.map(\.line) == [3, 8] && rules.map(\.file) == ["/f", "/f"])
        #expect(try Rule.read("", file: "/f").isEmpty)
        #expect(try Rule.read("# nothing\n\n", file: "/f").isEmpty)
    }

    @Test func spacesMarksAndCommentsAreIgnored() throws {
        let name = String(repeating: "n", count: 60)
        let text =
            "\u{FEFF} [Rule \(name)] \r\n ; c\r\n  Apps =\texe:/a=b;c#d \t\r\n # d\nPermissions=camera\n\t\nAction=grant \n"
        let rule = try #require(try Rule.read(text, file: "/f").first)
        #expect(rule.name == name && rule.line == 1 && rule.action == .grant)
        #expect(rule.apps.map(\.text) == ["exe:/a=b;c#d"] && rule.apps.map(\.line) == [3])
        let longest = "Apps=" + String(repeating: "* ", count: 2045) + "*"
        #expect(longest.utf8.count == 4096)
        let rules = try Rule.read("[Rule a]\n\(longest)\r\nPermissions=camera\nAction=grant", file: "/f")
        #expect(rules.first?.apps.count == 2046)
    }

    nonisolated static let good = "Apps=*\nPermissions=camera\nAction=grant\n"

    /// text, line, part of the message
    nonisolated static let wrong: [(String, Int, String)] = [
        ("[Rule a]\nApps=*\nPermissions=camera\n", 1, "Action"), ("[Rule a]\nApps=*\nAction=grant\n", 1, "Permissions"),
        ("[Rule a]\nPermissions=camera\nAction=grant\n", 1, "Apps"), ("[Rule]\n" + good, 1, "[Rule]"),
        ("[Rules a]\n" + good, 1, "[Rules a]"), ("[rule a]\n" + good, 1, "[rule a]"),
        ("[Rule a]\n\(good)Colour=red\n", 5, "Colour"), ("[Rule a]\n\(good)Action=grant\n", 5, "twice"),
        ("[Rule a]\n\(good)[Rule a]\n\(good)", 5, "twice"), ("Apps=*\n", 1, "before any section"),
        ("[Rule a]\nApps=*\nPermissions=screen\nAction=grant\n", 3, "screen"),
        ("[Rule a]\nApps=*\nPermissions=camera\nAction=allow\n", 4, "allow"),
        ("[Rule a]\nApps=\nPermissions=camera\nAction=grant\n", 2, "no value"), ("[Rule a\n" + good, 1, ""),
        ("nonsense\n", 1, ""), ("[Rule a]\nApps=\(String(repeating: "x", count: 4092))\n", 2, "longer than 4096"),
        ("[Rule a]\nApps=a\0b\n", 2, "character 0"), ("[Rule a]\nApps=*\u{0B}\n", 2, "character 11"),
        ("# \r \n", 1, "character 13"), ("[Rule a]\nApps\n", 2, "neither"), ("[Rule a]\nApps: *\n", 2, "neither"),
        ("[Rule a]\nApps=*\n  snap:a\n", 3, "neither"), ("[Rule a] ; it\n" + good, 1, "neither"),
        ("[Rule a]\nApps=* ; all\n", 2, "; matches no app"), ("[Rule a]\nApps=\t \n", 2, "no value"),
        ("[Rule a\tb]\n" + good, 1, "section is invalid"), ("[Rule a]\nApps[de]=*\n", 2, "Apps[de]"),
        ("[Rule a]\nEncoding=latin1\n", 2, "UTF-8"), ("[]\n", 1, "section is invalid"),
    ]

    @Test(arguments: wrong.indices)
    func theFirstProblemIsReported(_ index: Int) {
        let (text, line, word) = RuleFileTests.wrong[index]
        do {
            _ = try Rule.read(text, file: "/f")
            Issue.record("\(text) was read")
        } catch {
            #expect(error.line == line, "\(text): \(error.message)")
            #expect(error.message.contains(word), "\(error.message)")
        }
    }

    nonisolated static let matches: [(String, String, Bool)] = [
        ("*", "exe:/a/b", true), ("exe:/usr/bin/firefox", "exe:/usr/bin/firefox", true),
        ("exe:/usr/bin/firefox", "exe:/usr/bin/firefox-esr", false), ("exe:/usr/*", "exe:/usr/a/b/c", true),
        ("flatpak:org.mozilla.*", "flatpak:org.mozilla.firefox", true),
        ("flatpak:org.mozilla.*", "snap:org.mozilla.firefox", false), ("snap:fire???", "snap:firefox", true),
        ("exe:/[ab]", "exe:/b", true), ("exe:/.*", "exe:/.hidden", true),
        ("exe:*.py", "exe:/bin/python3:/home/a.py", true),
    ]

    @Test(arguments: matches.indices)
    func patternsMatchTheWholeIdentity(_ index: Int) throws {
        let (pattern, app, expected) = RuleFileTests.matches[index]
        let rule = try #require(
            try Rule.read("[Rule a]\nApps=\(pattern)\nPermissions=camera\nAction=grant\n", file: "/f").first)
        #expect(rule.matches(AppID(app)!) == expected, "\(pattern) \(app)")
    }

    @Test func appsAddUp() throws {
        let text = "[Rule a]\nApps=snap:a\nPermissions=camera\nApps=snap:b flatpak:*\nAction=grant\n"
        let rule = try #require(try Rule.read(text, file: "/f").first)
        #expect(rule.apps.map(\.text) == ["snap:a", "snap:b", "flatpak:*"] && rule.apps.map(\.line) == [2, 4, 4])
        #expect(["snap:b", "flatpak:x"].allSatisfy { rule.matches(AppID($0)!) })
    }

    @Test(arguments: [
        "firefox", "fire*", "flatpack:org.x", "flatpack:*", "EXE:/a", "exe:usr/bin/a", "exe:usr/*", "exe:/a:b",
        "exe:/a:b*",
        "exe:/a%zz", "exe:/a%2", "snap:a/b", "snap:a/*", "flatpak:", "exe:", ":*", "x*",
    ])
    func aPatternThatMatchesNoAppIsAnError(_ pattern: String) {
        let text = "[Rule a]\nPermissions=camera\nAction=restrict\nApps=* \(pattern)\n"
        let error = #expect(throws: FileProblem.self) { try Rule.read(text, file: "/f") }
        #expect(error?.line == 4 && error?.message.contains("\(pattern) matches no app") == true)
    }

    @Test(arguments: [
        "*", "?*", "f*", "*:org.x", "[fs]*", "flatpak:*", "exe:*", "exe:/*", "exe:/a%*", "exe:/a%3*", "exe:/a:*",
        "exe:/usr/bin/python3*:/home/*", "snap:\\a", "exe:/usr/bin/{a,b}",
    ])
    func patternsThatMayMatch(_ pattern: String) throws {
        #expect(try Rule.read("[Rule a]\nPermissions=camera\nAction=grant\nApps=\(pattern)\n", file: "/f").count == 1)
    }

    @Test func whatLooksLikeAMistakeIsNoted() throws {
        let text = """
            [Rule a]
            Apps=exe:/usr/bin/{a,b} exe:/a%3Ab flatpak:*
            Apps=exe:/there:/not exe:/not* exe:/wrapper exe:/there:/wrapper
            Permissions=camera
            Action=restrict
            """
        let starts = ["/there": "\u{7F}E", "/wrapper": "#!"]
        let notes = try Rule.read(text, file: "/f").flatMap { $0.notes { starts[$0].map { Array($0.utf8) } } }
        #expect(notes.map(\.line) == [2, 2, 3, 3])
        let words = ["braces", "/a:b", "/not", "/wrapper is a script"]
        #expect(zip(notes, words).allSatisfy { $0.message.contains($1) })
    }

    @Test func settingsAreRead() throws {
        let configuration = try Configuration.read(
            "[Prompts]\nAgentWaitSec=1\nTimeoutSec=2\nNagLimit=3\nNagPauseSec=4\n[Limits]\nWaitingPerApp=5\nWaiting=6\n[History]\nMaxRows=7\nMaxDays=8\n[Enforcement]\nAsk=none\n",
            over: Configuration())
        #expect([configuration.agentWait, configuration.promptTimeout, configuration.nagPause] == [1, 2, 4])
        #expect([configuration.nagLimit, configuration.waitingPerApp, configuration.waiting] == [3, 5, 6])
        #expect([configuration.historyRows, configuration.historyDays] == [7, 8])
        #expect(configuration.ask == .none)
    }

    @Test(arguments: [
        "[Prompts]\nAgentWaitSec=0\n", "[Prompts]\nAgentWaitSec=-1\n", "[Prompts]\nAgentWaitSec=1.5\n",
        "[Prompts]\nAgentWaitSec=9999999999999999999999\n", "[Prompts]\nNagLimit=x\n", "[Nonsense]\n",
        "[Limits]\nWaiting=1\nWaiting=2\n", "[Prompts]\nWaiting=1\n",
        "[Enforcement]\nAsk=All\n", "[Enforcement]\nAsk=1\n",
    ])
    func invalidSettings(_ text: String) {
        #expect(throws: FileProblem.self) {
            try Configuration.read("[History]\nMaxRows=5\n" + text, over: Configuration())
        }
    }

    /// One name may be the beginning of another.
    @Test func aProblemIsOnTheLineOfItsKey() {
        let error = #expect(throws: FileProblem.self) {
            try Configuration.read("[Limits]\nWaitingPerApp=5\nWaiting = x\n", over: Configuration())
        }
        #expect(error?.line == 3)
    }

    @Test(arguments: [
        ("[Prompts]\nNagLimit=0\n", "NagLimit must be from 1 to 1000, not 0"),
        ("[Enforcement]\nAsk=everyone\n", "Ask must be sandboxed, all or none, not everyone"),
    ])
    func aProblemNamesTheValidValues(_ text: String, _ message: String) {
        let error = #expect(throws: FileProblem.self) { try Configuration.read(text, over: Configuration()) }
        #expect(error?.message == message)
    }
}
