// The programs in docs/for-apps.md work, and are short. Tests/installed-library builds the one in Swift.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct ForAppsTests {
    /// The program in a language.
    private static func program(_ language: String) throws -> String {
        let page = try String(contentsOfFile: "\(Installer.project)/docs/for-apps.md", encoding: .utf8)
        let blocks = page.split(separator: "```\(language)\n").dropFirst()
        let program = try #require(blocks.first?.split(separator: "\n```").first)
        try #require(blocks.count == 1)
        return String(program) + "\n"
    }

    /// The command that runs the file of a program, and what has to be run before.
    private nonisolated static let languages: [(name: String, run: [String], build: String)] = [
        ("python", ["/usr/bin/python3", "app"], ""),
        ("c", ["./program"], "clang -x c -Wall -Werror -o program app $(pkg-config --cflags --libs libsystemd)"),
        ("js", ["gjs", "-m", "app"], ""),
        ("sh", ["sh", "app"], "ln -s \(BuiltProgram.path("permctl")) permctl"),
    ]

    @Test(arguments: languages.indices)
    func itAsksForTheCamera(_ index: Int) async throws {
        let (language, command, build) = ForAppsTests.languages[index]
        let text = try ForAppsTests.program(language)
        #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count <= 41)
        let stage = try await Stage()
        let agent = try await stage.agent([.grant(.once)])
        let folder = try TemporaryFolder()
        try folder.write(text, to: "app")
        let script = "cd \(folder.path) && PATH=.:$PATH && \(build.isEmpty ? ":" : build) && exec \"$@\""
        let child = try ChildProcess("sh", ["-c", script, "sh"] + command, environment: stage.permd.environment)
        #expect(await child.output() == "camera: granted\n")
        #expect(await child.waitForExit() == .exited(0))
        let item = try #require(agent.prompts.all.first?.items.first)
        #expect(item["reason"] == .string("So that the others can see you"))
        await stage.end()
    }

    @Test func theProgramInSwiftIsShort() throws {
        #expect(try ForAppsTests.program("swift").split(separator: "\n").count <= 40)
    }
}
