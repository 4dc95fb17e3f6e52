// Requests of an app: answers, phases, cancellation, errors, and restarts of the daemon.

import DBus
import Glibc
import PermissionClient
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
struct RequestTests {
    @Test func severalPermissionsInOneRequest() async throws {
        let stage = try await ClientStage()
        let agent = try await stage.agent([
            .decisions([
                .camera: ItemDecision(verdict: .grant, duration: .session),
                .microphone: ItemDecision(verdict: .deny, duration: .always),
            ])
        ])
        let result = try await stage.center.request(
            [.microphone, .camera, .bluetooth], reasons: [.camera: "for\nyou"],
            explanation: Explanation(title: "Title", body: "Body"))
        #expect(result.statuses == [.camera: .granted, .microphone: .denied, .bluetooth: .unavailable])
        #expect(result.firstRefused == .microphone)
        #expect(!result.isGranted && !result.isDismissed)
        #expect(result[.camera] == .granted)
        let prompt = await agent.prompts.all[0]
        #expect(prompt.items.map { $0["reason"]?.stringValue } == ["", "for you"])
        #expect(prompt.details["explanation"] == .structure([.string("Title"), .string("Body")]))
        await stage.end()
    }

    @Test func dismissedIsAnAnswer() async throws {
        let stage = try await ClientStage()
        let agent = try await stage.agent([.dismiss])
        let result = try await stage.center.request([.camera])
        #expect(result.isDismissed && result[.camera] == .undetermined && result.firstRefused == .camera)
        withExtendedLifetime(agent) {}
        await stage.end()
    }

    @Test func phasesInTheirOrder() async throws {
        let stage = try await ClientStage()
        let agent = try await stage.agent()
        let other = try await TestApp("other", on: stage.permd)
        try await other.request("t", [.camera])
        let first = try await agent.prompts.wait(for: 1)[0]
        let phases = EventLog<RequestPhase>()
        let task = follow(stage.center.phases(of: [.microphone]), into: phases)
        try await phases.first { $0 == .queued(position: 1) }
        await agent.answer(first, with: .dismiss)
        try await phases.first { $0 == .showing }
        await agent.answer(try await agent.prompts.wait(for: 2)[1], with: .grant(.once))
        try await task.value
        let all = await phases.all
        #expect(all.first == .queued(position: 1))
        guard case .settled(let result)? = all.last else {
            Issue.record("\(all)")
            return
        }
        // A single request asks for no hold.
        #expect(result.isGranted && result.heldSeconds == 0)
        await stage.end()
    }

    @Test func cancellingTheTaskWithdraws() async throws {
        let stage = try await ClientStage()
        let agent = try await stage.agent()
        let task = Task { try await stage.center.request([.camera]) }
        try await agent.prompts.wait(for: 1)
        task.cancel()
        try await agent.withdrawals.wait(for: 1)
        await #expect(throws: CancellationError.self) { try await task.value }
        // A request cancelled before it began is not sent.
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await stage.center.request([.microphone])
        }
        await #expect(throws: CancellationError.self) { try await early.value }
        #expect(try await stage.settings.requests().isEmpty)
        #expect(await agent.prompts.all.count == 1)
        await stage.end()
    }

    @Test func leavingThePhasesWithdraws() async throws {
        let stage = try await ClientStage()
        let agent = try await stage.agent()
        let task = Task {
            for try await phase in stage.center.phases(of: [.camera]) {
                if phase == .showing { break }
            }
        }
        try await task.value
        try await agent.withdrawals.wait(for: 1)
        await stage.end()
    }

    @Test func errorsSayWhetherTryingAgainHelps() async throws {
        let stage = try await ClientStage(settings: "[Prompts]\nAgentWaitSec=1\n")
        do {
            _ = try await stage.center.request([.camera])
            Issue.record("a request without an agent succeeded")
        } catch let error as ClientError {
            #expect(error.kind == .daemon(.noAgent) && error.isRetryable && !error.message.isEmpty)
        }
        do {
            _ = try await stage.center.request([.camera, .camera])
            Issue.record("a permission was requested twice")
        } catch let error as ClientError {
            #expect(error.kind == .daemon(.invalidArguments) && !error.isRetryable)
        }
        let nowhere = PermissionCenter(bus: .address("unix:path=/nonexistent/bus"))
        do {
            _ = try await nowhere.status(of: .camera)
            Issue.record("a call without a bus succeeded")
        } catch {
            #expect(error.kind == .noBus && error.isRetryable)
        }
        await stage.permd.stop()
        do {
            _ = try await stage.center.status(of: .camera)
            Issue.record("a call without a daemon succeeded")
        } catch {
            #expect(error.kind == .noDaemon && error.isRetryable)
        }
        await stage.end()
    }

    /// A waiting request is sent again with its token, whether the daemon crashed or was stopped.
    @Test(arguments: [SIGKILL, SIGTERM])
    func restartsAreSurvived(_ signal: Int32) async throws {
        let stage = try await ClientStage()
        let agent = try await stage.agent()
        var options = RequestOptions()
        options.token = "mine"
        let phases = EventLog<RequestPhase>()
        let task = follow(stage.center.phases(of: [.camera], options: options), into: phases)
        try await agent.prompts.wait(for: 1)
        try await stage.permd.restart(signal)
        let next = try await stage.agent([.grant(.always)])
        try await task.value
        guard case .settled(let result)? = await phases.all.last else {
            Issue.record("not settled")
            return
        }
        #expect(result.isGranted)
        #expect(try await next.prompts.wait(for: 1).count == 1)
        #expect(try await stage.settings.history().contains { $0.request.hasSuffix("/mine") && $0.outcome == .granted })
        await stage.end()
    }

    @Test func callbacksAreCalledOnce() async throws {
        let stage = try await ClientStage()
        let agent = try await stage.agent([.grant(.once)])
        let results = EventLog<Status?>()
        stage.center.submit(SingleRequest(.camera, reason: "r")) { result in
            let status = try? result.get()
            Loop.shared.post { results.add(status) }
        }
        #expect(try await results.wait(for: 1) == [.granted])
        // The callback of a cancelled request is called as well.
        let errors = EventLog<Bool>()
        let task = stage.center.submit(SingleRequest(.microphone)) { result in
            var isCancelled = false
            if case .failure(let error) = result { isCancelled = error is CancellationError }
            Loop.shared.post { [isCancelled] in errors.add(isCancelled) }
        }
        try await agent.prompts.wait(for: 2)
        task.cancel()
        #expect(try await errors.wait(for: 1) == [true])
        await stage.end()
    }

    @Test func devicesAreOpened() async throws {
        let stage = try await ClientStage()
        await #expect(throws: ClientError.self) { try await stage.center.openDevice(.camera) }
        try await stage.settings.set(.grant, app: try await stage.app.description, permission: .camera)
        let camera = try await stage.center.openDevice(.camera)
        #expect(camera.node == "/dev/video0" && camera.isWritable && !camera.id.isEmpty)
        #expect(fcntl(camera.descriptor.raw, F_GETFD) & FD_CLOEXEC != 0)
        let taken = camera.descriptor.take()
        #expect(taken >= 0 && camera.descriptor.raw == -1 && close(taken) == 0)
        do {
            _ = try await stage.center.openDevice(.camera, device: "nowhere", isWritable: false)
            Issue.record("an unknown device was opened")
        } catch {
            #expect(error.kind == .daemon(.notFound))
        }
        await stage.end()
    }
}
