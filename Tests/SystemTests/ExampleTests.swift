// The example programs work as documented, with the documented output.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct ExampleTests {
    private nonisolated static let python = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Examples/python/video_call.py").path
    private nonisolated static let agent = URL(filePath: python).deletingLastPathComponent()
        .appending(path: "agent.py").path

    /// Each program with its arguments, and the end of the identity that permd gives it.
    nonisolated static let examples: [([String], String)] = [
        ([BuiltProgram.path("video-call")], "exe:\(BuiltProgram.path("video-call"))"), ([python], ":\(python)"),
    ]

    private func run(_ command: [String], on stage: Stage) async throws -> (String, ChildProcess.Exit) {
        let child = try ChildProcess(
            command[0], Array(command.dropFirst()), environment: stage.permd.environment, standardError: .null)
        return (await child.output(), await child.waitForExit())
    }

    @Test(arguments: examples.indices)
    func bothGranted(_ index: Int) async throws {
        let (command, identity) = ExampleTests.examples[index]
        let stage = try await Stage()
        let agent = try await stage.agent(otherwise: .grant(.once))
        let (output, exit) = try await run(command, on: stage)
        #expect(output.hasPrefix("camera: granted\nmicrophone: granted\nThe call runs"))
        #expect(exit == .exited(0))
        let prompts = agent.prompts.all
        #expect(prompts.map(\.questions) == [[.camera], [.microphone]])
        #expect(prompts[0].app.hasSuffix(identity), "\(prompts[0].app)")
        #expect(prompts[0].details["explanation"]?.elements?.first == .string("Before your call"))
        #expect(prompts[0].items[0]["reason"] == .string("So that the others can see you"))
        await stage.end()
    }

    @Test(arguments: examples.indices)
    func microphoneDenied(_ index: Int) async throws {
        let stage = try await Stage()
        let agent = try await stage.agent([.grant(.once), .deny(.always)])
        let (output, exit) = try await run(ExampleTests.examples[index].0, on: stage)
        #expect(output.hasPrefix("camera: granted\nmicrophone: denied\n"))
        #expect(exit == .exited(1))
        withExtendedLifetime(agent) {}
        await stage.end()
    }

    @Test(arguments: examples.indices)
    func withoutACamera(_ index: Int) async throws {
        let stage = try await Stage([.microphone])
        let agent = try await stage.agent([.grant(.once)])
        let (output, exit) = try await run(ExampleTests.examples[index].0, on: stage)
        #expect(output == "camera: unavailable\nmicrophone: granted\nThe call runs without a picture.\n")
        #expect(exit == .exited(0))
        withExtendedLifetime(agent) {}
        await stage.end()
    }

    @Test(arguments: examples.indices)
    func withoutPermd(_ index: Int) async throws {
        let stage = try await Stage()
        await stage.permd.stop()
        let (output, exit) = try await run(ExampleTests.examples[index].0, on: stage)
        #expect(exit != .exited(0) && !output.contains("The call runs"))
        await stage.end()
    }

    @Test func theAgentInPython() async throws {
        let stage = try await Stage()
        let agent = try ChildProcess(
            "/usr/bin/python3", [ExampleTests.agent], environment: stage.permd.environment, standardInput: .pipe)
        let said = EventLog<String>()
        Task { [lines = agent.lines] in for await line in lines { said.add(line) } }
        try await said.first("that it is registered") { $0 == "prompts are shown here" }
        let app = try await stage.app()
        try await app.request("a", [.camera, .microphone], "explain reason=why")
        try await said.first("the explanation") { $0.hasSuffix("says: A title A body") }
        try await said.first("the question") { $0.contains("wants to use: microphone ") }
        // An answer that comes before the person is asked for it does not count.
        agent.write("always\n")
        try await said.first("that it does not count") { $0.hasPrefix("nothing is asked") }
        try await said.first("that an answer counts") { $0.hasPrefix("once, always") }
        agent.write("once\n")
        #expect(try await app.response("a") == "0 refused= statuses=camera=granted microphone=granted")
        #expect(try await stage.decisions().allSatisfy { $0.contains("once") })
        try await app.request("b", [.bluetooth, .location])
        try await said.first("the question") { $0.contains("wants to use: location") }
        _ = try await app.ask("close b")
        try await said.first("the withdrawal") { $0 == "withdrawn: closed" }
        // Nothing but permd may show anything.
        let agents = try await stage.rows("ListAgents", nil, BusNames.agentManager)
        let owner = agents[0]["owner"]?.stringValue ?? ""
        let forged = Message.call(
            destination: owner, path: "/org/example/agent",
            interface: BusNames.agent, member: "Prompt", [.objectPath("/a"), .properties(["app_name": .string("x")])])
        await #expect(throws: BusError.self) { try await stage.desk.call(forged) }
        try await stage.permd.restart()
        try await said.first("two registrations") { _ in
            said.all.filter { $0 == "prompts are shown here" }.count == 2
        }
        agent.terminate()
        await stage.end()
    }

    /// Without blank lines, comments and the description.
    @Test(arguments: [python, agent])
    func thePythonExamplesAreShort(_ path: String) throws {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let lines = text.split(separator: "\n").drop { !$0.hasPrefix("import") }
        #expect(lines.filter { !$0.allSatisfy(\.isWhitespace) && !$0.hasPrefix("#") }.count <= 51)
    }
}
