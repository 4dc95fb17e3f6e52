// The examples of a browser: pages ask through permd. What it answers is what the page gets.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15)), .serialized)
@LoopActor
struct WebKitExampleTests {
    enum Language: CaseIterable { case c, python }

    private nonisolated static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    private nonisolated static let examples = folder.deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Examples/webkit")
    private nonisolated static func file(_ name: String) -> String { folder.appending(path: name).path }

    /// Compiles the example as its comment says.
    private func browser(_ language: Language, on stage: AgentStage) async throws -> [String] {
        let source = Self.examples.appending(path: language == .c ? "browser.c" : "browser.py").path
        guard language == .c else { return ["/usr/bin/python3", source] }
        let program = stage.folder.file("browser")
        let flags = "-Wall -Wextra -Wno-unused-parameter -Werror $(pkg-config --cflags --libs webkit2gtk-4.1)"
        let compiler = try ChildProcess("sh", ["-c", "cc -o \"$0\" \"$1\" \(flags)", program, source])
        #expect(await compiler.waitForExit() == .exited(0))
        return [program]
    }

    private func start(_ command: [String], on stage: AgentStage) throws -> (ChildProcess, EventLog<String>) {
        let child = try ChildProcess(
            command[0], Array(command.dropFirst()), environment: stage.environment, standardError: .null)
        let said = EventLog<String>()
        Task { for await line in child.lines { said.add(line) } }
        return (child, said)
    }

    @Test(arguments: Language.allCases)
    func theLocation(_ language: Language) async throws {
        let stage = try await AgentStage()
        try await stage.devices.add(.gnss, 0)
        let command = try await browser(language, on: stage)
        let agent = ScriptedAgent(try stage.permd.bus.connect(), [.grant(.once), .deny(.once)])
        try await agent.register()
        let (server, told) = try start(["/usr/bin/python3", Self.file("page.py")], on: stage)
        let port = try await told.wait(for: 1)[0]
        for (number, answer) in ["allowed", "denied"].enumerated() {
            let (browser, _) = try start(command + ["http://127.0.0.1:\(port)/"], on: stage)
            try await told.first("the answer") { _ in told.all.count == number + 2 }
            #expect(told.all.last == answer)
            browser.terminate()
            _ = await browser.waitForExit()
        }
        #expect(agent.prompts.all.map(\.questions) == [[.location], [.location]])
        #expect(agent.prompts.all[0].items[0]["reason"] == .string("For 127.0.0.1"))
        server.terminate()
        await stage.end()
    }

    @Test func cameraAndMicrophone() async throws {
        let stage = try await AgentStage()
        let agent = ScriptedAgent(try stage.permd.bus.connect(), [.grant(.once), .deny(.once)])
        try await agent.register()
        let path = Self.examples.appending(path: "browser.py").path
        for answer in ["audio,video", "NotAllowedError"] {
            let (browser, said) = try start(["/usr/bin/python3", Self.file("mock_capture.py"), path], on: stage)
            try await said.first { $0 == answer }
            browser.terminate()
            _ = await browser.waitForExit()
        }
        #expect(agent.prompts.all.map(\.questions) == [[.camera, .microphone], [.camera, .microphone]])
        await stage.end()
    }
}
