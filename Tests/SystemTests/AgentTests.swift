// Agents over D-Bus: working agents, faulty agents, and no agent.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct AgentTests {
    /// Replies that are not valid answers, with the reason.
    nonisolated static let nonsense: [(String, ScriptedAgent.Reply)] = [
        ("an error", .error("org.example.Error.Broken")),
        ("no values", .values([])),
        ("a wrong type", .values([.uint32(0)])),
        ("an unknown outcome", .values([.string("perhaps"), .dictionary(key: "s", value: "a{sv}", [])])),
        ("the daemon's own table", .values([.string("answered"), .properties([:])])),
        ("an unknown decision", decision(["decision": .string("maybe"), "duration": .string("always")])),
        ("an unknown duration", decision(["decision": .string("grant"), "duration": .string("ever")])),
        ("no decision", decision(["duration": .string("always")])),
        ("no duration", decision(["decision": .string("grant")])),
        ("until without until", decision(["decision": .string("grant"), "duration": .string("until")])),
        ("a decision of a wrong type", decision(["decision": .uint32(1), "duration": .string("always")])),
        (
            "an until in the past",
            decision(["decision": .string("grant"), "duration": .string("until"), "until": .uint64(1)])
        ),
        (
            "an until of a wrong type",
            decision(["decision": .string("grant"), "duration": .string("until"), "until": .string("tomorrow")])
        ),
        ("leaving the bus", .die), ("unregistering", .unregister),
    ]

    nonisolated static func decision(_ values: [String: Value]) -> ScriptedAgent.Reply {
        .values([
            .string("answered"),
            .dictionary(key: "s", value: "a{sv}", [DictionaryEntry(.string("camera"), .properties(values))]),
        ])
    }

    /// Nothing is stored, and the prompt is passed to the next agent.
    @Test(arguments: nonsense.indices)
    func invalidAnswers(_ index: Int) async throws {
        let (why, reply) = AgentTests.nonsense[index]
        let stage = try await Stage()
        let good = try await stage.agent([.deny(.always)], level: .fallback)
        let bad = try await stage.agent([reply], level: .system)
        let app = try await stage.app()
        try await app.request("t", [.camera])
        #expect(try await app.response("t") == "0 refused=camera statuses=camera=denied", "\(why)")
        #expect(bad.prompts.all.count == 1 && good.prompts.all.count == 1)
        #expect(try await stage.decisions() == ["\(app.id) camera deny always"])
        await stage.end()
    }

    /// An app that may own the name keeps nobody from being asked.
    @Test func anAppThatTakesTheNameOfTheAgent() async throws {
        let stage = try await Stage()
        let usurper = try await TestApp.flatpak("org.example.App", on: stage.permd)
        #expect(try await usurper.ask("be-agent") == "ok")
        let systemd = try FakeService(on: stage.permd.bus)
        let started = EventLog<String>()
        systemd.add(
            "org.freedesktop.systemd1.Manager", at: "/org/freedesktop/systemd1",
            [
                Method(name: "StartUnit", inputs: ["name": "s", "mode": "s"], outputs: ["job": "o"]) { call in
                    started.add(call.arguments[0].stringValue ?? "")
                    call.reply(.objectPath("/org/freedesktop/systemd1/job/1"))
                }
            ])
        try systemd.own("org.freedesktop.systemd1")
        let app = try await stage.app()
        try await app.request("t", [.camera])
        try await started.first("the start") { $0 == "permd-agent.service" }
        let problem = try #require(
            try await stage.rows("ListProblems", nil).first { $0["code"] == .string("agent-name-taken") })
        #expect(problem["problem"]?.stringValue?.contains("flatpak:org.example.App is sandboxed") == true)
        _ = try await stage.agent([.deny(.always)])
        #expect(try await app.response("t") == "0 refused=camera statuses=camera=denied")
        await usurper.end()
        await systemd.end()
        await stage.end()
    }

    /// The handles that Wayland compositors export are any printable ASCII; mutter's have blanks.
    @Test(arguments: ["wayland: a~ {\"}", "x11:3a00007", "wayland:"])
    func theHandleOfTheAppsWindow(_ handle: String) async throws {
        let stage = try await Stage()
        let agent = try await stage.agent()
        let refusal = await stage.refusal(
            BusNames.access, "RequestAccess",
            [.strings(["camera"]), .properties(["parent_window": .string(handle)])])
        #expect(refusal == nil)
        #expect(try await agent.prompt(0).details["parent_window"] == .string(handle))
        await stage.end()
    }

    @Test func levelsDecideWhichAgentIsAsked() async throws {
        let stage = try await Stage()
        let terminal = try await stage.agent(level: .terminal)
        let older = try await stage.agent()
        let newer = try await stage.agent(level: .desktop)
        let app = try await stage.app()
        try await app.request("a", [.camera])
        let prompt = try await newer.prompts.wait(for: 1)[0]
        // An open prompt stays with its agent when one of a higher level registers.
        let shell = try await stage.agent(level: .system)
        newer.answer(prompt, with: .dismiss)
        _ = try await app.response("a")
        try await app.request("b", [.microphone])
        try await shell.prompts.wait(for: 1)
        #expect(older.prompts.all.isEmpty && terminal.prompts.all.isEmpty)
        let levels = try await stage.rows("ListAgents", nil, BusNames.agentManager).map { $0["level"]?.stringValue }
        #expect(levels == ["system", "desktop", "desktop", "terminal"])
        await stage.end()
    }

    @Test func threeFailuresInARowUnregister() async throws {
        let stage = try await Stage()
        let bad = try await stage.agent(otherwise: .error("org.example.Error.Broken"), level: .system)
        let good = try await stage.agent(otherwise: .dismiss)
        let app = try await stage.app()
        for (number, permission) in [Permission.camera, .microphone, .location].enumerated() {
            try await app.request("t\(number)", [permission])
            _ = try await app.response("t\(number)")
        }
        #expect(bad.prompts.all.count == 3 && good.prompts.all.count == 3)
        let agents = try await stage.rows("ListAgents", nil, BusNames.agentManager)
        #expect(agents.count == 1 && agents[0]["owner"] == .string(good.connection.uniqueName))
        await stage.end()
    }

    @Test func anAgentThatUnregistersLosesItsPrompt() async throws {
        let stage = try await Stage()
        let agent = try await stage.agent()
        let app = try await stage.app()
        try await app.request("t", [.camera])
        let prompt = try await agent.prompts.wait(for: 1)[0]
        try await agent.unregister()
        #expect(try await agent.withdrawals.wait(for: 1)[0].path == prompt.path)
        agent.answer(prompt, with: .grant(.always))
        let next = try await stage.agent([.deny(.always)])
        #expect(try await app.response("t") == "0 refused=camera statuses=camera=denied")
        #expect(next.prompts.all.count == 1)
        await stage.end()
    }

    @Test func anotherConnectionsAgentIsNotFound() async throws {
        let stage = try await Stage()
        let agent = try await stage.agent()
        let path = Value.objectPath(ScriptedAgent.defaultPath)
        #expect(await stage.refusal(BusNames.agentManager, "UnregisterAgent", [path]) == "NotFound final")
        try await agent.unregister()
        await #expect(throws: BusError.self) { try await agent.unregister() }
        await stage.end()
    }

    /// An answer is the reply to the call of `Prompt`: other connections cannot give one, and a late one is ignored.
    @Test func lateAnswersAreIgnored() async throws {
        let stage = try await Stage()
        let agent = try await stage.agent()
        let app = try await stage.app()
        try await app.request("t", [.camera])
        let prompt = try await agent.prompts.wait(for: 1)[0]
        _ = try await app.ask("close t")
        try await agent.withdrawals.wait(for: 1)
        agent.answer(prompt, with: .grant(.always))
        #expect(try await app.status(.camera) == "ok camera=undetermined")
        #expect(try await stage.decisions().isEmpty)
        await stage.end()
    }

    @Test func aDecisionMadeElsewhereWithdrawsThePrompt() async throws {
        let stage = try await Stage()
        let agent = try await stage.agent()
        let app = try await stage.app()
        try await app.request("t", [.camera])
        try await agent.prompts.wait(for: 1)
        try await stage.set("deny", app.id, .camera)
        #expect(try await app.response("t") == "0 refused=camera statuses=camera=denied")
        #expect(try await agent.withdrawals.wait(for: 1)[0].why.isEmpty == false)
        await stage.end()
    }

    @Test func withoutAnAgentAllRequestsFail() async throws {
        let stage = try await Stage(settings: "[Prompts]\nAgentWaitSec=1\n")
        let apps = [try await stage.app("one"), try await stage.app("two")]
        for app in apps { try await app.request("t", [.camera]) }
        for app in apps {
            let response = try await app.response("t")
            #expect(response.hasPrefix("2 error=org.permd.Error.NoAgent message="))
            #expect(response.hasSuffix("refused=camera retryable=yes statuses=camera=undetermined"))
        }
        #expect(try await stage.history(apps[0].id) == ["camera failed "])
        await stage.end()
    }

    @Test func unansweredPromptsTimeOut() async throws {
        let stage = try await Stage(settings: "[Prompts]\nTimeoutSec=1\nNagLimit=1\n")
        let agent = try await stage.agent()
        let app = try await stage.app()
        try await app.request("t", [.camera])
        #expect(try await app.response("t") == "1 refused=camera statuses=camera=undetermined")
        try await agent.withdrawals.wait(for: 1)
        #expect(try await stage.history(app.id) == ["camera dismissed timeout"])
        // A timeout is not a dismissal: the throttle, whose limit is one dismissal here, allows another prompt.
        try await app.request("u", [.camera])
        try await agent.prompts.wait(for: 2)
        await stage.end()
    }

    /// If no agent is registered, the bus starts org.permd.Agent.
    @Test func anAgentIsStarted() async throws {
        let services = try TemporaryFolder()
        try services.write(
            ServiceFile.text("org.permd.Agent", [BuiltProgram.path("permd-scripted-agent"), "deny"]),
            to: "org.permd.Agent.service")
        let stage = try await Stage(bus: try await PrivateBus(serviceDirectory: services.path))
        let app = try await stage.app()
        try await app.request("t", [.camera])
        #expect(try await app.response("t") == "0 refused=camera statuses=camera=denied")
        await stage.end()
    }
}
