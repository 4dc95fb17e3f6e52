// Status streams, settings events and agents continue when the daemon restarts.

import DBus
import Glibc
import PermissionClient
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
struct StreamTests {
    @Test func statusesStartWithTheCurrentOne() async throws {
        let stage = try await ClientStage()
        let app = try await stage.app.description
        let log = EventLog<Status>()
        let task = follow(stage.center.statuses(of: .camera), into: log)
        #expect(try await log.wait(for: 1) == [.undetermined])
        try await stage.settings.set(.grant, app: app, permission: .camera)
        #expect(try await log.wait(for: 2) == [.undetermined, .granted])
        // A change of another permission does not appear in this stream.
        try await stage.settings.set(.deny, app: app, permission: .microphone)
        try await stage.devices.remove(.camera, 0)
        #expect(try await log.wait(for: 3).last == .unavailable)
        try await stage.devices.add(.camera, 1)
        #expect(try await log.wait(for: 4).last == .granted)
        task.cancel()
        await stage.end()
    }

    @Test(arguments: [SIGKILL, SIGTERM])
    func statusesContinueAfterARestart(_ signal: Int32) async throws {
        let stage = try await ClientStage()
        let app = try await stage.app.description
        let log = EventLog<Status>()
        let task = follow(stage.center.statuses(of: .camera), into: log)
        try await log.wait(for: 1)
        try await stage.permd.restart(signal)
        try await stage.settings.set(.deny, app: app, permission: .camera)
        #expect(try await log.first { $0 == .denied } == .denied)
        let statuses = await log.all
        #expect(statuses == [.undetermined, .denied])
        task.cancel()
        await stage.end()
    }

    /// A reply and a change that arrive together are delivered in that order: the change is newer.
    @Test func aChangeIsNewerThanTheReplyBeforeIt() async throws {
        let bus = try await PrivateBus()
        let daemon = try await FakeAccess(bus)
        let log = EventLog<Status>()
        let task = follow(PermissionCenter(bus: .address(bus.address)).statuses(of: .camera), into: log)
        try await log.first { $0 == .denied }
        await daemon.notify(.restricted)
        try await log.first { $0 == .restricted }
        let statuses = await log.all
        #expect(statuses.suffix(2) == [.denied, .restricted])
        task.cancel()
        await daemon.end()
        await bus.end()
    }

    @Test func withoutABusStreamsThrow() async throws {
        let center = PermissionCenter(bus: .address("unix:path=/nonexistent/bus"))
        await #expect(throws: ClientError.self) { for try await _ in center.statuses(of: .camera) {} }
        await #expect(throws: ClientError.self) { for try await _ in center.phases(of: [.camera]) {} }
    }

    @Test func settingsEvents() async throws {
        let stage = try await ClientStage()
        let log = EventLog<SettingsEvent>()
        let task = follow(try await stage.settings.events(), into: log)
        let app = AppID("exe:/usr/bin/a")!
        try await stage.settings.set(.grant, app: app.description, permission: .camera)
        try await log.first { $0 == .decisionChanged(app: app, .camera, .grant) }
        try await stage.settings.reset(app: app.description)
        try await log.first { $0 == .decisionChanged(app: app, .camera, nil) }
        let other = try await TestApp("other", on: stage.permd)
        try await other.request("t", [.camera])
        try await log.first { $0 == .queueChanged(length: 1) }
        try await stage.devices.remove(.microphone, 0)
        try await log.first { if case .deviceRemoved(.microphone, _) = $0 { true } else { false } }
        try await stage.permd.restart(SIGKILL)
        try await log.first { $0 == .daemonLost }
        try await log.first { $0 == .daemonBack }
        try await stage.devices.add(.microphone, 1)
        try await log.first { if case .deviceAdded(let row) = $0 { row.permission == .microphone } else { false } }
        task.cancel()
        await stage.end()
    }

    @Test func rowsAreRead() async throws {
        let stage = try await ClientStage()
        let app = AppID("exe:/usr/bin/a")!
        try await stage.settings.set(.grant, app: app.description, permission: .camera, duration: .until(4_000_000_000))
        let decision = try #require(try await stage.settings.decisions().first)
        #expect(decision.app == app && decision.decision == .grant && decision.duration == .until)
        #expect(decision.until == 4_000_000_000 && decision.by == .permctl && decision.decided > 1_700_000_000)
        let statuses = try await stage.settings.statuses(app: app.description)
        #expect(statuses.map(\.status) == [.granted, .undetermined, .unavailable, .undetermined])
        #expect(statuses[0].decision == decision && statuses[2].problem == "no bluetooth device was found")
        #expect(try await stage.settings.history().map(\.outcome) == [.granted])
        #expect(try await stage.settings.devices(of: .camera).map(\.node) == ["/dev/video0"])
        #expect(try await stage.settings.agents().isEmpty)
        #expect(try await stage.settings.restrictions().isEmpty)
        #expect(try await stage.settings.programVersion().hasPrefix("0."))
        #expect(try await stage.settings.reset() == 1)
        await stage.end()
    }
}

@Suite(.timeLimit(.minutes(3)))
struct AgentHostTests {
    /// Gives a fixed answer or waits for the withdrawal, and records the prompts.
    private struct Presenter: PromptPresenter {
        let shown = EventLog<AgentPrompt>()
        let withdrawn = EventLog<String>()
        var answer: AgentAnswer?

        func present(_ prompt: AgentPrompt) async -> AgentAnswer {
            await shown.add(prompt)
            if let answer { return answer }
            // Waits until the prompt is withdrawn.
            let cancelled = EventLog<Bool>()
            await withTaskCancellationHandler {
                _ = try? await cancelled.wait(for: 1)
            } onCancel: {
                Loop.shared.post { cancelled.add(true) }
            }
            await withdrawn.add(await prompt.withdrawnWhy()?.rawValue ?? "?")
            return .dismissed
        }
    }

    /// A daemon that comes back refuses the first calls: who follows it asks again.
    @Test @LoopActor func aDaemonThatRefusesForNow() async throws {
        let bus = try await PrivateBus()
        let first = try FakeDaemon(bus)
        let statuses = EventLog<Status>()
        let following = follow(PermissionCenter(bus: .address(bus.address)).statuses(of: .camera), into: statuses)
        try await first.questions.wait(for: 1)
        let events = EventLog<SettingsEvent>()
        let reading = follow(try await PermissionSettings(bus: .address(bus.address)).events(), into: events)
        let host = AgentHost(bus: .address(bus.address), presenter: Presenter())
        let agent = Task { try await host.run() }
        try await first.agents.wait(for: 1)
        await first.end()
        let second = try FakeDaemon(bus, refusals: 6)
        try await second.refused.wait(for: 6)
        try await second.agents.wait(for: 1)
        try await second.questions.wait(for: 1)
        try await second.subscribers.wait(for: 3)
        try await events.first { $0 == .daemonBack }
        for task in [following, reading] { task.cancel() }
        agent.cancel()
        await second.end()
        await bus.end()
    }

    @Test func promptsAreShownAndAnswered() async throws {
        let stage = try await ClientStage()
        let presenter = Presenter(
            answer: .answered([.camera: ItemDecision(verdict: .grant, duration: .until(4_000_000_000))]))
        let events = EventLog<AgentEvent>()
        let bus = await stage.bus
        let task = Task {
            try await AgentHost(bus: bus, level: .terminal, presenter: presenter).run { event in
                Loop.shared.post { events.add(event) }
            }
        }
        try await events.first { $0 == .registered }
        let app = try await TestApp("asking", on: stage.permd)
        try await app.request("t", [.camera, .microphone], "explain reason=because")
        #expect(
            try await app.response("t") == "0 refused=microphone statuses=camera=granted microphone=undetermined")
        let prompt = await presenter.shown.all[0]
        #expect(prompt.app == app.id.description && prompt.appName == "asking" && !prompt.isSandboxed)
        #expect(prompt.items.map(\.id) == [.camera, .microphone])
        #expect(prompt.items.map(\.reason) == ["because", "because"])
        #expect(prompt.explanation == Explanation(title: "A title", body: "A body"))
        #expect(prompt.durations == [.once, .session, .until, .always] && prompt.behind.count == 0)
        #expect(try await stage.settings.decisions().first?.until == 4_000_000_000)
        #expect(try await stage.settings.agents().map(\.level) == [.terminal])
        // The agent registers again with a new daemon.
        try await stage.permd.restart(SIGKILL)
        try await events.first { $0 == .daemonLost }
        try await events.wait(for: 3)
        #expect(await events.all.last == .registered)
        task.cancel()
        _ = await task.result
        await stage.end()
    }

    @Test func whatWaitsBehindAPrompt() async throws {
        let stage = try await ClientStage()
        let presenter = Presenter()
        let bus = await stage.bus
        let task = Task { try await AgentHost(bus: bus, presenter: presenter).run() }
        let app = try await TestApp("asking", on: stage.permd)
        try await app.request("t", [.camera])
        let prompt = try await presenter.shown.wait(for: 1)[0]
        #expect(prompt.behind == AgentPrompt.Behind(count: 0, apps: []) && prompt.since != nil && prompt.pause == nil)
        let behind = EventLog<AgentPrompt.Behind>()
        let reading = Task { @LoopActor in for await change in prompt.changes { behind.add(change.behind) } }
        let other = try await TestApp("other", on: stage.permd)
        try await other.request("u", [.camera])
        try await behind.first { $0 == AgentPrompt.Behind(count: 1, apps: ["other"]) }
        _ = try await other.ask("close u")
        try await behind.first { $0 == AgentPrompt.Behind(count: 0, apps: []) }
        _ = try await app.ask("close t")
        // The stream ends with the prompt.
        await reading.value
        task.cancel()
        _ = await task.result
        await stage.end()
    }

    @Test func withdrawnPromptsAreCancelled() async throws {
        let stage = try await ClientStage()
        let presenter = Presenter()
        let bus = await stage.bus
        let task = Task { try await AgentHost(bus: bus, presenter: presenter).run() }
        let app = try await TestApp("asking", on: stage.permd)
        try await app.request("t", [.camera])
        try await presenter.shown.wait(for: 1)
        _ = try await app.ask("close t")
        #expect(try await presenter.withdrawn.wait(for: 1)[0].isEmpty == false)
        task.cancel()
        _ = await task.result
        #expect(try await stage.settings.agents().isEmpty)
        await stage.end()
    }

    @Test func aFailedPresenterPassesThePromptOn() async throws {
        let stage = try await ClientStage()
        let other = try await stage.agent([.deny(.always)], level: .fallback)
        let presenter = Presenter(answer: .failed("no screen"))
        let bus = await stage.bus
        let registered = EventLog<AgentEvent>()
        let task = Task {
            try await AgentHost(bus: bus, presenter: presenter).run { event in
                Loop.shared.post { registered.add(event) }
            }
        }
        try await registered.wait(for: 1)
        #expect(try await stage.center.request(.camera) == .denied)
        #expect(await other.prompts.all.count == 1)
        task.cancel()
        _ = await task.result
        await stage.end()
    }

    @Test func promptsOfOtherCallersAreNotShown() async throws {
        let stage = try await ClientStage()
        let presenter = Presenter(answer: .dismissed)
        let bus = await stage.bus
        let registered = EventLog<AgentEvent>()
        let task = Task {
            try await AgentHost(bus: bus, presenter: presenter).run { event in
                Loop.shared.post { registered.add(event) }
            }
        }
        try await registered.wait(for: 1)
        let agent = try #require(try await stage.settings.agents().first)
        let stranger = try await stage.permd.bus.connect()
        await #expect(throws: BusError.self) {
            _ = try await stranger.call(
                .call(
                    destination: agent.owner, path: agent.agent, interface: BusNames.agent, member: "Prompt",
                    [.objectPath("/x"), .properties([:])]))
        }
        #expect(await presenter.shown.all.isEmpty)
        task.cancel()
        _ = await task.result
        await stage.end()
    }

    @Test func withoutABusTheAgentThrows() async throws {
        let host = AgentHost(bus: .address("unix:path=/nonexistent/bus"), presenter: Presenter())
        await #expect(throws: ClientError.self) { try await host.run() }
    }
}

/// Stands in for the daemon: replies `undetermined`, and at once sends the change to `denied`.
@LoopActor
private final class FakeAccess {
    private let service: FakeService
    private var client = ""

    init(_ bus: PrivateBus) async throws {
        service = try FakeService(on: bus)
        service.add(
            BusNames.access, at: BusNames.root,
            [
                Method(
                    name: "GetStatus", inputs: ["permissions": "as"],
                    outputs: ["statuses": "a{ss}"]
                ) { [weak self] call in
                    self?.client = call.sender
                    call.reply(.stringTable(["camera": "undetermined"]))
                    self?.notify(.denied)
                }
            ])
        try service.own(BusNames.service)
    }

    func notify(_ status: Status) {
        service.connection.send(
            .signal(
                path: BusNames.root, interface: BusNames.access, member: "StatusChanged",
                [.string("camera"), .string(status.rawValue)], destination: client))
    }

    func end() async { await service.end() }
}
