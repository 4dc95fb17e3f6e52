// permd beside permd-guard: what the guard asks is answered once, and what changes is told. The test program is the guard.

import CLinux
import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct GuardTests {
    // MARK: Answers

    @Test(arguments: [true, false])
    func whatIsDecidedNeedsNobody(_ waits: Bool) async throws {
        let bench = try await GuardBench(rules: ["a.conf": PolicyTests.rule("*", "location", "restrict")])
        let (stage, deviceGuard) = (bench.stage, bench.deviceGuard)
        let (app, agent) = (try await stage.app(), try await stage.agent())
        let process = try await GuardBench.pidfd(app)
        try await stage.set("grant", app.id, .camera)
        try await stage.set("deny", app.id, .microphone)
        for (number, permission) in [Permission.camera, .microphone, .location].enumerated() {
            deviceGuard.ask(UInt64(number), about: process, permission, waits: waits)
        }
        #expect(try await deviceGuard.answer(0) == "granted")
        #expect(try await deviceGuard.answer(1) == "denied")
        #expect(try await deviceGuard.answer(2) == "denied")
        _ = try await stage.call(BusNames.policy, "SetSwitch", [.string("camera"), .bool(false)])
        deviceGuard.ask(3, about: process, waits: waits)
        #expect(try await deviceGuard.answer(3) == "denied")
        #expect(agent.prompts.all.isEmpty)
        await app.end()
        await bench.end()
    }

    nonisolated static let outcomes: [(ScriptedAgent.Reply, String)] = [
        (.grant(.once), "granted"), (.grant(.always), "granted"), (.deny(.once), "denied"),
        (.deny(.always), "denied"), (.dismiss, "undecided"), (.decisions([:]), "undecided"),
    ]

    @Test(arguments: outcomes)
    func whatIsUndecidedIsAskedAbout(_ reply: ScriptedAgent.Reply, _ answer: String) async throws {
        let bench = try await GuardBench([.camera])
        let (app, agent) = (try await bench.stage.app(), try await bench.stage.agent([reply]))
        let cameras = try await bench.stage.call(BusNames.devices, "ListDevices", [.string("camera")])
        let node = cameras.first?.rows?.first?["node"]?.stringValue ?? ""
        let unit = try #require(UInt64(node.dropFirst("/dev/video".count)))
        bench.deviceGuard.ask(1, about: try await GuardBench.pidfd(app), device: 81 << 8 | unit)
        #expect(try await bench.deviceGuard.answer(1) == answer)
        let prompt = agent.prompts.all[0]
        #expect(prompt.app == app.id.description && prompt.questions == [.camera])
        #expect(prompt.items.first?["device_name"] == .string("Mock Camera 0"))
        try await bench.settle(2)
        #expect(bench.deviceGuard.answers == ["1 \(answer)", "2 undecided"])
        await app.end()
        await bench.end()
    }

    /// The device that is asked about, not another one.
    @Test func anUnknownDeviceHasNoName() async throws {
        let bench = try await GuardBench([.camera])
        let (app, agent) = (try await bench.stage.app(), try await bench.stage.agent())
        bench.deviceGuard.ask(1, about: try await GuardBench.pidfd(app), device: 1)
        #expect(try await agent.prompt(0).items.first?["device_name"] == .string(""))
        await app.end()
        await bench.end()
    }

    /// There is nobody who could be asked, or nothing waits for the answer.
    @Test func whatCannotBeAskedIsRefused() async throws {
        let bench = try await GuardBench(settings: "[Enforcement]\nAsk=all\n[Prompts]\nAgentWaitSec=1\nTimeoutSec=1\n")
        let app = try await bench.stage.app()
        let process = try await GuardBench.pidfd(app)
        bench.deviceGuard.ask(1, about: process)
        #expect(try await bench.deviceGuard.answer(1) == "undecided")
        let agent = try await bench.stage.agent()
        bench.deviceGuard.ask(2, about: process, waits: false)
        #expect(try await bench.deviceGuard.answer(2) == "undecided")
        #expect(agent.prompts.all.isEmpty)
        bench.deviceGuard.ask(3, about: process)
        #expect(try await bench.deviceGuard.answer(3) == "undecided")
        #expect(try await agent.withdrawals.wait(for: 1).map(\.why) == ["timeout"])
        // A decision that is made meanwhile is the answer.
        bench.deviceGuard.ask(4, about: process)
        _ = try await agent.prompt(1)
        try await bench.stage.set("grant", app.id, .camera)
        #expect(try await bench.deviceGuard.answer(4) == "granted")
        await app.end()
        await bench.end()
    }

    @Test func whomToAskIsASetting() async throws {
        let bench = try await GuardBench(settings: "")
        let (stage, deviceGuard) = (bench.stage, bench.deviceGuard)
        let (app, agent) = (try await stage.app(), try await stage.agent([.deny(.always)]))
        let process = try await GuardBench.pidfd(app)
        deviceGuard.ask(1, about: process)
        #expect(try await deviceGuard.answer(1) == "granted")
        try await stage.set("deny", app.id, .camera)
        deviceGuard.ask(2, about: process)
        #expect(try await deviceGuard.answer(2) == "denied")
        let sandboxed = try await TestApp.flatpak("org.example.App", on: stage.permd)
        let other = try await GuardBench.pidfd(sandboxed)
        deviceGuard.ask(3, about: other)
        #expect(try await deviceGuard.answer(3) == "denied")
        #expect(agent.prompts.all.map(\.app) == ["flatpak:org.example.App"])
        let told = deviceGuard.rechecks.count
        try stage.permd.root.write("[Enforcement]\nAsk=none\n", to: "etc/permd/permd.conf")
        try await deviceGuard.calls.first("the setting") { _ in deviceGuard.rechecks.count > told }
        deviceGuard.ask(4, about: process)
        deviceGuard.ask(5, about: other)
        #expect(try await deviceGuard.answer(4) == "granted")
        #expect(try await deviceGuard.answer(5) == "granted")
        await sandboxed.end()
        await app.end()
        await bench.end()
    }

    /// The limits of the queue hold for the processes of a program together.
    @Test func fortyProcessesAtOnce() async throws {
        let bench = try await GuardBench()
        let agent = try await bench.stage.agent()
        let children = try (0..<40).map { _ in try ChildProcess("sleep", ["3600"]) }
        for (number, child) in children.enumerated() {
            bench.deviceGuard.ask(UInt64(number), about: try GuardBench.pidfd(child.pid))
        }
        func answers(_ count: Int, _ answer: String) async throws {
            let own = { @LoopActor in bench.deviceGuard.answers.filter { $0.hasSuffix(answer) } }
            try await bench.deviceGuard.calls.first("\(count) × \(answer)") { _ in own().count == count }
        }
        try await answers(40 - Configuration().waitingPerApp, "undecided")
        agent.answer(try await agent.prompt(0), with: .grant(.always))
        try await answers(Configuration().waitingPerApp, "granted")
        #expect(agent.prompts.all.count == 1)
        #expect(Set(bench.deviceGuard.answers.map { $0.prefix { $0 != " " } }).count == 40)
        for child in children { child.terminate(SIGKILL) }
        await bench.end()
    }

    // MARK: Ends

    @Test func aQuestionThatIsWithdrawnHasNoAnswer() async throws {
        let bench = try await GuardBench()
        let (app, agent) = (try await bench.stage.app(), try await bench.stage.agent())
        bench.deviceGuard.ask(1, about: try await GuardBench.pidfd(app))
        _ = try await agent.prompt(0)
        bench.deviceGuard.withdraw(1)
        bench.deviceGuard.withdraw(7)
        #expect(try await agent.withdrawals.wait(for: 1).map(\.why) == ["closed"])
        #expect(try await bench.stage.history().first == "camera withdrawn ")
        try await bench.settle(2)
        #expect(bench.deviceGuard.answers == ["2 undecided"])
        await app.end()
        await bench.end()
    }

    @Test func aQuestionEndsWithItsProcess() async throws {
        let bench = try await GuardBench()
        let (app, agent) = (try await bench.stage.app(), try await bench.stage.agent())
        bench.deviceGuard.ask(1, about: try await GuardBench.pidfd(app))
        _ = try await agent.prompt(0)
        await app.end()
        try await agent.withdrawals.wait(for: 1)
        #expect(try await bench.deviceGuard.answer(1) == "undecided")
        #expect(try await bench.stage.history().first == "camera withdrawn ")
        await bench.end()
    }

    /// The end of a guard does not count against the programs that it asked for.
    @Test func aGuardThatStartsAgainAsksAgain() async throws {
        let bench = try await GuardBench()
        let (app, agent) = (try await bench.stage.app(), try await bench.stage.agent())
        let process = try await GuardBench.pidfd(app)
        for number in 1...Limits.withdrawals {
            bench.deviceGuard.ask(1, about: process)
            _ = try await agent.prompt(number - 1)
            try await bench.deviceGuard.restart()
            try await agent.withdrawals.wait(for: number)
            try await bench.deviceGuard.registered.wait(for: number + 1)
        }
        #expect(bench.deviceGuard.answers.isEmpty)
        bench.deviceGuard.ask(1, about: process)
        agent.answer(try await agent.prompt(Limits.withdrawals), with: .grant(.once))
        #expect(try await bench.deviceGuard.answer(1) == "granted")
        await app.end()
        await bench.end()
    }

    @Test func withoutTheSystemBusNothingElseChanges() async throws {
        let bench = try await GuardBench()
        let (app, agent) = (try await bench.stage.app(), try await bench.stage.agent())
        bench.deviceGuard.ask(1, about: try await GuardBench.pidfd(app))
        _ = try await agent.prompt(0)
        await bench.deviceGuard.stop()
        try await agent.withdrawals.wait(for: 1)
        #expect(try await app.ask("status camera") == "ok camera=unavailable")
        #expect(bench.deviceGuard.answers.isEmpty)
        await app.end()
        await bench.stage.end()
    }

    /// The guard knows nothing of the session bus: what it has asked is asked again when that is back.
    @Test func theSessionBusIsLost() async throws {
        let bench = try await GuardBench(bus: try await PrivateBus(.broker))
        let (app, agent) = (try await bench.stage.app(), try await bench.stage.agent())
        let process = try await GuardBench.pidfd(app)
        bench.deviceGuard.ask(1, about: process)
        _ = try await agent.prompt(0)
        let address = bench.stage.permd.bus.address
        try await RawBusClient.offLoop {
            var call = RawMessage.call(BusNames.service, BusNames.root, "org.example.A", "B")
            call.furtherFields = [(10, "no path")]
            let client = try RawBusClient(address)
            try client.send(call)
            try client.settle()
        }
        try await bench.stage.permd.log.first { $0.contains("serves org.permd again") }
        try await agent.register()
        agent.answer(try await agent.prompt(1), with: .grant(.once))
        #expect(try await bench.deviceGuard.answer(1) == "granted")
        #expect(bench.deviceGuard.registered.all.count == 1)
        await app.end()
        await bench.end()
    }

    /// The guard asks the next one: a restart refuses nothing.
    @Test func permdIsRestarted() async throws {
        let bench = try await GuardBench()
        let (app, agent) = (try await bench.stage.app(), try await bench.stage.agent())
        let process = try await GuardBench.pidfd(app)
        bench.deviceGuard.ask(1, about: process)
        _ = try await agent.prompt(0)
        try await bench.stage.permd.restart()
        try await bench.deviceGuard.registered.wait(for: 2)
        #expect(bench.deviceGuard.answers.isEmpty)
        try await agent.register()
        bench.deviceGuard.ask(1, about: process)
        agent.answer(try await agent.prompt(1), with: .deny(.once))
        #expect(try await bench.deviceGuard.answer(1) == "denied")
        await app.end()
        await bench.end()
    }

    // MARK: Changes

    @Test func changesAreTold() async throws {
        let bench = try await GuardBench()
        let (stage, deviceGuard) = (bench.stage, bench.deviceGuard)
        func told(_ text: String, _ body: () async throws -> Void) async throws {
            let before = deviceGuard.rechecks.count
            try await body()
            try await deviceGuard.calls.first("Recheck") { _ in deviceGuard.rechecks.count > before }
            try await bench.settle(UInt64(before + 100))
            #expect(Array(deviceGuard.rechecks.dropFirst(before)) == [text])
        }
        let app = try await stage.app()
        try await told("camera") { try await stage.set("grant", app.id, .camera) }
        try await told("camera") { _ = try await stage.reset(app.id.description, "camera") }
        try await told("microphone") {
            _ = try await stage.call(BusNames.policy, "SetSwitch", [.string("microphone"), .bool(false)])
        }
        try await told("") {
            try stage.permd.root.write(
                PolicyTests.rule("*", "camera", "restrict"), to: "etc/permd/policy.d/a.conf")
        }
        await app.end()
        await bench.end()
    }

    /// The guard hears of a change before the answer that follows from it, and once of each permission at a time.
    @Test func changesComeBeforeAnswers() async throws {
        let bench = try await GuardBench([.camera, .microphone])
        let (app, agent) = (try await bench.stage.app(), try await bench.stage.agent())
        try await app.request("t", [.camera, .microphone])
        let prompt = try await agent.prompt(0)
        bench.deviceGuard.ask(1, about: try await GuardBench.pidfd(app))
        try await bench.settle(2)
        let before = bench.deviceGuard.calls.all.count
        agent.answer(prompt, with: .grant(.always))
        #expect(try await bench.deviceGuard.answer(1) == "granted")
        try await bench.settle(3)
        #expect(
            Array(bench.deviceGuard.calls.all.dropFirst(before)) == [
                "Recheck camera", "Recheck microphone", "Answer 1 granted",
                "Answer 3 undecided",
            ])
        await app.end()
        await bench.end()
    }
}
