// permctl request says why it waits, and why nothing was asked.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct RequestReasonTests {
    private let permctl = "exe:\(BuiltProgram.path("permctl"))"

    /// Reads what a request says up to a line that contains the text.
    private func awaitLine(_ request: ChildProcess, _ text: String) async throws {
        var lines = ""
        for await line in request.errorLines {
            if line.contains(text) { return }
            lines += line + "\n"
        }
        throw TestKitError("“\(text)” is not among the lines:\n\(lines)")
    }

    /// Without an agent, the request waits for one; that is said before it fails.
    @Test func noAgent() async throws {
        let stage = try await CommandStage()
        let request = try stage.start(["request", "camera"])
        try await awaitLine(request, "no agent is running to show the prompt; run permctl agent in another terminal")
        let agent = try await stage.agent([.grant(.once)])
        #expect(await request.waitForExit() == .exited(0))
        #expect(try await !stage.run("request", "location", "--wait", "0.2").errors.contains("no agent"))
        withExtendedLifetime(agent) {}
        await stage.end()
    }

    @Test func aLockedSession() async throws {
        let logind = try await FakeLogind()
        logind.add("1", isLocked: true)
        let stage = try await CommandStage(environment: logind.environment)
        let agent = try await stage.agent([.grant(.once)])
        let request = try stage.start(["request", "camera"])
        try await awaitLine(request, "nothing is asked now: the session is locked or in the background")
        #expect(agent.prompts.all.isEmpty)
        logind.change("1", isLocked: false)
        #expect(await request.waitForExit() == .exited(0))
        await stage.end()
        await logind.stop()
    }

    @Test func aPause() async throws {
        let stage = try await CommandStage(settings: "[Prompts]\nNagLimit=2\n")
        let agent = try await stage.agent([.dismiss, .dismiss])
        for _ in 0..<2 {
            let shown = try await stage.run("request", "camera")
            #expect(shown.status == 1 && shown.errors.contains("dismissed") && !shown.errors.contains("paused"))
        }
        for _ in 0..<2 {
            let paused = try await stage.run("request", "camera")
            #expect(paused.status == 1)
            #expect(paused.errors.contains("camera: nothing was asked, because it is paused until "))
            #expect(paused.errors.contains("permctl reset \(permctl) camera lifts the pause"))
        }
        #expect(agent.prompts.all.count == 2)
        await stage.end()
    }

    @Test func missingDevicesRulesAndDecisions() async throws {
        let rule = "[Rule no-maps]\nApps=*\nPermissions=location\nAction=restrict\n"
        let stage = try await CommandStage(rules: ["10-a.conf": rule])
        let agent = try await stage.agent([.deny(.always)])
        let refused = try await stage.run("request", "microphone")
        #expect(refused.status == 1 && !refused.errors.contains("nothing was asked"))
        let result = try await stage.run("request", "bluetooth", "location", "microphone")
        #expect(result.status == 1)
        let lines = result.errors.split(separator: "\n").filter { $0.contains("nothing was asked") }
        #expect(lines.count == 3, "\(result.errors)")
        #expect(lines[0].hasPrefix("bluetooth: nothing was asked, because no ") && lines[0].contains("permctl devices"))
        #expect(lines[1].hasPrefix("location: nothing was asked, because the administrator's rule no-maps ("))
        #expect(lines[2].contains("denied (always); permctl reset \(permctl) microphone lets it ask again"))
        let json = try await stage.run("request", "bluetooth", "--json")
        #expect(json.status == 1 && json.errors.isEmpty)
        withExtendedLifetime(agent) {}
        await stage.end()
    }
}
