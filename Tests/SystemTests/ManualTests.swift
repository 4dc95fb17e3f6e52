// Manual pages and example files agree with the programs.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct ManualTests {
    private nonisolated static let pages = [
        "permd.8", "permd-gate.8", "permd-guard.8", "permctl.1", "permd-agent.1", "permd-indicator.1",
        "permd-pipewire.1",
        "permd-settings.1", "permd.conf.5", "permd.policy.5", "org.permd.5",
    ]

    private static func text(_ name: String) throws -> String {
        try String(contentsOfFile: "\(Installer.project)/\(name)", encoding: .utf8)
    }

    /// The text of a page as a terminal shows it, without hyphenation and formatting.
    private static func shown(_ page: String) async throws -> String {
        let child = try ChildProcess(
            "man", ["--local-file", "\(Installer.project)/docs/man/\(page)"],
            environment: ["MANWIDTH": "100", "MANPAGER": "cat", "LC_ALL": "C.UTF-8", "MANROFFOPT": "-rHY=0"])
        return await child.output().split { $0.isWhitespace }.joined(separator: " ")
    }

    @Test(arguments: pages)
    func everyPageIsWellFormed(_ page: String) async throws {
        let file = "\(Installer.project)/docs/man/\(page)"
        for command in [
            ["man", "--warnings", "--encoding=UTF-8", "--local-file", file],
            ["mandoc", "-T", "lint", "-W", "warning", file],
        ] {
            let child = try ChildProcess(
                "sh", ["-c", "exec \"$0\" \"$@\" 2>&1 >/dev/null"] + command,
                environment: ["MANPAGER": "cat", "LC_ALL": "C.UTF-8"])
            #expect(await child.output() == "", "\(command[0])")
        }
    }

    @Test func everyPageIsTested() throws {
        let found = try FileManager.default.contentsOfDirectory(atPath: "\(Installer.project)/docs/man")
        #expect(Set(found) == Set(ManualTests.pages))
    }

    /// permctl(1) documents every subcommand and option that --help lists.
    @Test func permctlsPageListsEveryOption() async throws {
        let page = try await ManualTests.shown("permctl.1")
        let help = await (try ChildProcess(BuiltProgram.path("permctl"), ["--help"])).output()
        let verbs = help.split(separator: "\n").drop { !$0.hasPrefix("SUBCOMMANDS:") }.dropFirst()
            .filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }
            .compactMap { $0.split(separator: " ").first.map(String.init) }.filter { $0.allSatisfy(\.isLowercase) }
        #expect(verbs.count >= 14)
        for verb in verbs {
            let hasVerb = page.contains(" \(verb) ")
            #expect(hasVerb, "\(verb)")
            let details = await (try ChildProcess(BuiltProgram.path("permctl"), [verb, "--help"])).output()
            for word in details.split(whereSeparator: { " \n,[]".contains($0) })
            where word.hasPrefix("--") && word.count > 2 {
                let hasOption = page.contains(word)
                #expect(hasOption, "\(verb) \(word)")
            }
        }
    }

    /// org.permd(5) names every member and every error, and says for each error whether it is retryable.
    @Test func theInterfacesPageIsComplete() async throws {
        let page = try await ManualTests.shown("org.permd.5")
        for name in try FileManager.default.contentsOfDirectory(atPath: "\(Installer.project)/dbus")
        where name.hasSuffix(".xml") {
            for line in try ManualTests.text("dbus/\(name)").split(separator: "\n") {
                guard ["<method ", "<signal ", "<property "].contains(where: { line.contains($0) }),
                    let member = line.split(separator: "\"").dropFirst().first
                else { continue }
                let hasMember = page.contains(member)
                #expect(hasMember, "\(name) \(member)")
            }
        }
        for kind in ErrorKind.allCases {
            let row = try #require(page.firstRange(of: kind.rawValue + " " + kind.pageText), "\(kind.rawValue)")
            #expect(page[row.upperBound...].hasPrefix(kind.isRetryable ? " yes" : " no"), "\(kind.rawValue)")
        }
    }

    /// The example files are valid, and their rules are in force.
    @Test func theExampleFilesAreValid() async throws {
        let settings = try ManualTests.text("Examples/policy/permd.conf")
        let rules = ["50-office.conf": try ManualTests.text("Examples/policy/50-office.conf")]
        let stage = try await Stage(settings: settings, rules: rules)
        #expect(try await stage.rows("ListProblems", nil).filter { $0["about"]?.stringValue != "devices" } == [])
        let found = try await stage.rows("ListRestrictions", nil).compactMap { $0["rule"]?.stringValue }
        #expect(Set(found) == ["no-camera-in-browsers", "maps-know-the-way"])
        // permd.conf(5) documents every key of the example, with the same default.
        let page = try await ManualTests.shown("permd.conf.5")
        for line in settings.split(separator: "\n") where line.contains("=") && !line.hasPrefix("#") {
            let parts = line.split(separator: "=")
            let isThere = page.contains("\(parts[0])= (\(parts[1]))")
            #expect(isThere, "\(line)")
        }
        for key in page.matches(of: /(\w+)= \(\w+\)/) {
            let isThere = settings.contains("\n\(key.output.1)=")
            #expect(isThere, "\(key.output.1)")
        }
        await stage.end()
    }
}

extension ErrorKind {
    /// The page's description, which is shorter for errors whose text speaks of the present.
    fileprivate var pageText: String {
        switch self {
        case .deviceUnavailable: "no usable device now"
        case .failed: "a bug; details are in the journal only"
        default: text
        }
    }
}
