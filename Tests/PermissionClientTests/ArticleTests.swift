// The examples in the documentation of PermissionClient compile, and do what the articles say.

import DBus
import Foundation
import Glibc
import PermissionClient
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
struct ArticleTests {
    private let shown = EventLog<String>()

    private func examples(_ center: PermissionCenter) -> AskingExamples {
        let shown = shown
        return AskingExamples(
            center: center, show: { await shown.add($0) },
            capture: { await shown.add(fcntl($0, F_GETFD) >= 0 ? "open" : "closed") })
    }

    /// Every Swift example is in ArticleExamples.swift, line by line.
    @Test func everyExampleIsCompiled() throws {
        let tests = URL(filePath: #filePath).deletingLastPathComponent()
        let sources = tests.appending(path: "../../Sources/PermissionClient").standardized
        let compiled = ArticleTests.lines(
            try String(contentsOf: tests.appending(path: "ArticleExamples.swift"), encoding: .utf8))
        var count = 0
        for name in try FileManager.default.subpathsOfDirectory(atPath: sources.path)
        where name.hasSuffix(".md") || name.hasSuffix(".swift") {
            let text = try String(contentsOf: sources.appending(path: name), encoding: .utf8)
            for example in ArticleTests.examples(in: ArticleTests.lines(text)) {
                count += 1
                let isCompiled = compiled.indices.contains { compiled[$0...].starts(with: example) }
                #expect(isCompiled, "\(name): \(example.first ?? "")")
            }
        }
        #expect(count >= 18)
    }

    /// Lines without their indentation and the mark of a doc comment.
    private static func lines(_ text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map {
            let line = $0.trimmingCharacters(in: .whitespaces)
            return line.hasPrefix("///") ? line.dropFirst(3).trimmingCharacters(in: .whitespaces) : line
        }
    }

    private static func examples(in lines: [String]) -> [[String]] {
        var examples: [[String]] = []
        var rest = lines[...]
        while let start = rest.firstIndex(of: "```swift") {
            let example = rest[(start + 1)...].prefix { $0 != "```" }
            examples.append(Array(example))
            rest = rest[example.endIndex...]
        }
        return examples
    }

    @Test func everyStatusIsAResult() async throws {
        let stage = try await ClientStage()
        let agent = try await stage.agent([.dismiss, .deny(.always)])
        let examples = examples(stage.center)
        try await examples.turnOnCamera()
        try await examples.turnOnCamera()
        let app = try await stage.app.description
        try await stage.settings.set(.grant, app: app, permission: .camera)
        try await examples.turnOnCamera()
        try await stage.devices.remove(.camera, 0)
        let statuses = EventLog<Status>()
        let following = follow(stage.center.statuses(of: .camera), into: statuses)
        try await statuses.first { $0 == .unavailable }
        following.cancel()
        try await examples.turnOnCamera()
        await stage.permd.stop()
        try await examples.turnOnCameraIfPossible()
        let all = await shown.all
        #expect(
            all.prefix(4) == [
                "The call goes on without a picture.", "You have denied this app the camera.",
                "The others can see you.", "There is no camera.",
            ])
        #expect(all.count == 5 && all.last?.hasSuffix("Try again later.") == true, "\(all)")
        withExtendedLifetime(agent) {}
        await stage.end()
    }

    @Test func oneRequestForTwoPermissions() async throws {
        let stage = try await ClientStage()
        let agent = try await stage.agent([.dismiss, .grant(.once)])
        let examples = examples(stage.center)
        try await examples.startCall()
        try await examples.startCall()
        #expect(await shown.all == ["Start the call when you are ready.", "The call begins."])
        #expect(await agent.prompts.all.map(\.questions) == [[.camera, .microphone], [.camera, .microphone]])
        await stage.end()
    }

    @Test func workflowPhasesAndDevices() async throws {
        let stage = try await ClientStage()
        let agent = try await stage.agent([.grant(.session), .deny(.always), .grant(.once)])
        let examples = examples(stage.center)
        try await examples.prepareCall()
        try await examples.waitForLocation()
        try await examples.record()
        let all = await shown.all
        #expect(all.first == "The call has no picture." && all.contains("Here you are."), "\(all)")
        #expect(all.last == "open", "\(all)")
        #expect(await agent.prompts.all.map(\.questions) == [[.microphone], [.camera], [.location]])
        let following = Task { try await examples.followCamera() }
        try await shown.first { $0 == "The camera is off: denied." }
        following.cancel()
        await stage.end()
    }

    @Test func theAgentAsksAndAnswers() async throws {
        let stage = try await ClientStage()
        let bus = await stage.bus
        let asked = EventLog<String>()
        let agent = Task {
            try await AgentExample(bus: bus).runAgent { text, buttons in
                await asked.add("\(text) | \(buttons.joined(separator: ", "))")
                // Continues, allows the camera once, and leaves the microphone undecided.
                if buttons.first == "Continue" { return 0 }
                return buttons.firstIndex(of: text.contains("camera") ? "Allow this time" : "Not now")
            }
        }
        try await examples(stage.center).startCall()
        #expect(await shown.all == ["The call needs the microphone: undetermined."])
        let texts = await asked.all
        #expect(texts.count == 3)
        #expect(
            texts[0].hasSuffix(
                "says: Before your call\nThe others see and hear you only while the call lasts. | Continue, Not now"))
        #expect(
            texts[1].hasSuffix(
                "It says: So that the others can see you | Never allow, Allow this time, Allow for one hour, Allow until I log out, Always allow, Not now"
            ))
        agent.cancel()
        _ = await agent.result
        await stage.end()
    }
}
