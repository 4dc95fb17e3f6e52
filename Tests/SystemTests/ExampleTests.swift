// The example programs work as documented, with the documented output.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct ExampleTests {
    private nonisolated static let python = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Examples/python/video_call.py").path

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

    @Test func thePythonExampleIsShort() throws {
        let text = try String(contentsOfFile: ExampleTests.python, encoding: .utf8)
        #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count <= 50)
    }
}
