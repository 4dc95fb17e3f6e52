// An app that tries to flood the user with prompts, the history with rows and the disk with writes.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct HostileAppTests {
    /// Bytes that permd has handed to the kernel for writing, its log included.
    private func bytesWritten(_ stage: Stage) throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(stage.permd.pid)/io", encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("wchar:") })
        return try #require(Int(line.dropFirst("wchar: ".count)))
    }

    /// Two processes of the app take turns, and a third one is started later.
    @Test(arguments: PrivateBus.Kind.allCases)
    func promptsWithdrawnRepeatedly(_ kind: PrivateBus.Kind) async throws {
        let stage = try await Stage(bus: try await PrivateBus(kind))
        let agent = try await stage.agent()
        try await stage.set("deny", AppID("exe:/usr/bin/other")!, .camera)
        let app = try await stage.app("evil")
        let second = try await app.secondProcess(on: stage.permd)
        let written = try bytesWritten(stage)
        var refusals: Set<String> = []
        for number in 0..<300 {
            let process = number % 2 == 0 ? app : second
            let answer = try await process.request("t\(number)", [.camera])
            if answer.hasPrefix("ok ") {
                // The fifth is withdrawn when its prompt is gone, which stays for a moment: the sixth waits behind it.
                if number < 5 { _ = try await agent.prompt(number) }
                try await process.ask("close t\(number)")
            } else {
                refusals.insert(String(answer.prefix { $0 != ":" }))
            }
        }
        #expect(refusals == ["LimitExceeded retryable"])
        #expect(agent.prompts.all.count == 5)
        let third = try await app.secondProcess(on: stage.permd)
        #expect(try await third.request("t", [.microphone]).contains("LimitExceeded"))
        #expect(try bytesWritten(stage) - written < 100_000)
        // Decided permissions are still answered, and prompts of other apps are shown.
        try await stage.set("grant", app.id, .location)
        try await app.request("l", [.location])
        #expect(try await app.response("l") == "0 refused= statuses=location=granted")
        let other = try await stage.app("other")
        try await other.request("t", [.camera])
        _ = try await agent.prompt(5)
        let rows = try await stage.rows("ListHistory").map { row in
            [row["app"]?.stringValue ?? "", row["outcome"]?.stringValue ?? "", "\(row["count"]?.uint32Value ?? 0)"]
        }
        #expect(
            rows == [
                [app.id.description, "granted", "1"], [app.id.description, "granted", "1"],
                [app.id.description, "withdrawn", "6"], ["exe:/usr/bin/other", "denied", "1"],
            ])
        await stage.end()
    }

    /// A program that makes others has the places of four apps. Who was never shown is not answered.
    @Test func programsOfOneFolder() async throws {
        let stage = try await Stage(settings: "[Limits]\nWaitingPerApp=1\n")
        let agent = try await stage.agent()
        let first = try await stage.app("first")
        try await first.request("t", [.camera])
        let prompt = try await agent.prompt(0)
        var others: [TestApp] = []
        for name in ["second", "third", "fourth"] {
            let app = try await TestApp(name, on: stage.permd, sharing: first)
            #expect(try await app.request("t", [.camera]).hasPrefix("ok "))
            others.append(app)
        }
        let fifth = try await TestApp("fifth", on: stage.permd, sharing: first)
        #expect(try await fifth.request("t", [.camera]).hasPrefix("LimitExceeded retryable"))
        let elsewhere = try await stage.app("elsewhere")
        try await elsewhere.request("t", [.camera])
        agent.answer(prompt, with: .dismiss)
        for (number, app) in ([first] + others).enumerated() {
            #expect(try await app.response("t") == "1 refused=camera statuses=camera=undetermined")
            let next = try await agent.prompt(number + 1)
            #expect(next.app == (number < others.count ? others[number] : elsewhere).id.description)
            agent.answer(next, with: .dismiss)
        }
        await stage.end()
    }

    /// Requests that need no prompt cause few writes.
    @Test func requestsRepeatedWithoutAPrompt() async throws {
        let stage = try await Stage()
        let app = try await stage.app("evil")
        for permission in [Permission.camera, .microphone] { try await stage.set("deny", app.id, permission) }
        _ = try await app.request("first", [.camera])
        let written = try bytesWritten(stage)
        for number in 0..<200 {
            try await app.request("t\(number)", [.camera, .microphone], number % 2 == 0 ? "interactive=no" : "")
        }
        #expect(try bytesWritten(stage) - written < 100_000)
        let rows = try await stage.rows("ListHistory", ["app": .string(app.id.description)])
        let counts = rows.map { $0["count"]?.uint32Value ?? 0 }
        // Rows within a minute are counted as one; a slow machine takes some minutes.
        #expect(counts.reduce(0, +) == 403 && counts.count <= 10, "\(counts)")
        await stage.end()
    }
}
