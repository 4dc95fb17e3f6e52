// The name and the icon that a desktop entry gives a program outside sandboxes.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct ProgramNameTests {
    /// Programs, and the entries that are installed for them.
    private struct Bench {
        let stage: Stage
        let folder: TemporaryFolder
        let path: String

        init() async throws {
            stage = try await Stage()
            folder = try TemporaryFolder(["call", "shared", "store"])
            path = URL(filePath: folder.path).resolvingSymlinksInPath().path
        }

        func program(_ name: String) throws -> String {
            let file = try folder.write("", to: name)
            try #require(chmod(file, 0o755) == 0)
            return "\(path)/\(name)"
        }

        func entry(_ name: String, _ exec: String, _ lines: String...) throws {
            let applications = "\(stage.permd.bus.directory)/data/applications"
            try FileManager.default.createDirectory(atPath: applications, withIntermediateDirectories: true)
            let text = (["[Desktop Entry]", "Type=Application", "Name=\(name)", "Exec=\(exec)"] + lines)
                .joined(separator: "\n")
            try (text + "\n").write(toFile: "\(applications)/\(name).desktop", atomically: true, encoding: .utf8)
        }

        /// Waits until a program has this name. On a machine that reads its entries slowly it has that of its file first.
        func isNamed(_ identity: String, _ name: String) async throws {
            try await waitUntil("the name \(name)") {
                let row = try await stage.rows("ListStatuses", ["app": .string(identity)]).first
                return row?["app_name"] == .string(name)
            }
        }
    }

    @Test func theEntryThatStartsIt() async throws {
        let bench = try await Bench()
        let (call, helper) = (try bench.program("call/call"), try bench.program("call/helper"))
        let (one, two) = (try bench.program("shared/one"), try bench.program("shared/two"))
        let other = try bench.program("shared/other")
        try await bench.isNamed("exe:\(call)", "call")
        try bench.entry("Call", "env A=b \(call) %U")
        try bench.entry("Call in a new window", "\(call) --new-window")
        try bench.entry("One", one)
        try bench.entry("Two", "\"\(two)\"")
        // Of several, the one with the fewest arguments.
        try await bench.isNamed("exe:\(call)", "Call")
        try await bench.isNamed("exe:\(helper)", "Call")
        try await bench.isNamed("exe:\(two)", "Two")
        // Two programs share its folder.
        try await bench.isNamed("exe:\(other)", "other")
        await bench.stage.end()
    }

    /// An entry that starts a file by a runtime is about this file, not about everything else that the runtime runs.
    @Test func theEntryOfAFile() async throws {
        let bench = try await Bench()
        let python = try bench.program("store/python3")
        try bench.entry("Tool", "\(python) -s \(bench.path)/tool.py %F")
        try bench.entry("Module", "\(python) -m module")
        try await bench.isNamed("exe:\(python):\(bench.path)/tool.py", "Tool")
        try await bench.isNamed("exe:\(python)", "python3")
        await bench.stage.end()
    }

    @Test func aProgramOfNix() async throws {
        let stage = try await Stage()
        let rows = try await stage.rows("ListStatuses", ["app": .string("exe:/nix/store/cheese/bin/.cheese-wrapped")])
        #expect(rows.first?["app_name"] == .string("cheese"))
        await stage.end()
    }

    /// Its icon tells agents that it is known.
    @Test func thePromptHasIt() async throws {
        let bench = try await Bench()
        let agent = try await bench.stage.agent()
        let app = try await bench.stage.app("call")
        try bench.entry("A Call", app.id.name, "Icon=call")
        try await bench.isNamed(app.id.description, "A Call")
        try await app.request("t", [.camera])
        let prompt = try await agent.prompt(0)
        #expect(prompt.details["app_name"] == .string("A Call") && prompt.details["app_icon"] == .string("call"))
        await app.end()
        await bench.stage.end()
    }
}
