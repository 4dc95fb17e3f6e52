// Actions run one after the other in the order added, from whatever task; a workflow is one action.

import DBus
import PermissionClient
import PermissionTestKit
import TestSupport
import Testing

/// Logs its beginning and its end, and suspends in between.
private struct Noting: PermissionAction {
    let name: String
    let log: EventLog<String>
    var body: @Sendable () async throws -> Void = {}

    func execute(in context: ActionContext) async throws -> String {
        await log.add("\(name) begins")
        await Task.yield()
        try await body()
        await log.add("\(name) ends")
        return name
    }
}

@Suite(.timeLimit(.minutes(3)))
struct ActionTests {
    /// Has no daemon: ordering actions needs none.
    private let center = PermissionCenter(bus: .address("unix:path=/nonexistent/bus"))

    @Test func inTheOrderAdded() async throws {
        let log = EventLog<String>()
        let tasks = (0..<50).map { center.submit(Noting(name: "\($0)", log: log)) }
        for (number, task) in tasks.enumerated() { #expect(try await task.value == "\(number)") }
        #expect(await log.all == (0..<50).flatMap { ["\($0) begins", "\($0) ends"] })
    }

    @Test func addedConcurrently() async throws {
        let log = EventLog<String>()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask { _ = try? await center.add(Noting(name: "\(number)", log: log)) }
            }
        }
        let all = await log.all
        #expect(all.count == 80)
        for index in stride(from: 0, to: all.count, by: 2) {
            #expect(all[index].hasSuffix("begins") && all[index + 1] == all[index].replacing("begins", with: "ends"))
        }
    }

    @Test func oneThatFailsLetsTheNextRun() async throws {
        struct Sad: Error {}
        let log = EventLog<String>()
        let sad = center.submit(Noting(name: "sad", log: log) { throw Sad() })
        let next = center.submit(Noting(name: "next", log: log))
        await #expect(throws: Sad.self) { try await sad.value }
        #expect(try await next.value == "next")
    }

    @Test func cancelledActionsAreSkipped() async throws {
        let log = EventLog<String>()
        let gate = EventLog<Int>()
        let first = center.submit(Noting(name: "first", log: log) { _ = try await gate.wait(for: 1) })
        let second = center.submit(Noting(name: "second", log: log))
        let third = center.submit(Noting(name: "third", log: log))
        try await log.first { $0 == "first begins" }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        await gate.add(1)
        _ = try await first.value
        _ = try await third.value
        #expect(await log.all == ["first begins", "first ends", "third begins", "third ends"])
    }

    /// Actions added by an action are part of it: they do not deadlock, and other actions do not run in between.
    @Test func actionsWithinActions() async throws {
        let log = EventLog<String>()
        let center = center
        let outer = center.submit(
            Workflow<String> { context in
                await log.add("outer begins")
                _ = try await center.add(Noting(name: "inner", log: log))
                _ = try await context.execute(
                    Workflow<Void> { inner in _ = try await inner.execute(Noting(name: "deep", log: log)) })
                // Nothing waits for this action, but it is part of the workflow all the same.
                center.submit(Noting(name: "left behind", log: log))
                return "done"
            })
        let after = center.submit(Noting(name: "after", log: log))
        #expect(try await outer.value == "done")
        _ = try await after.value
        #expect(
            await log.all == [
                "outer begins", "inner begins", "inner ends", "deep begins", "deep ends", "left behind begins",
                "left behind ends", "after begins", "after ends",
            ])
    }

    /// Requests through the context of an ended action fail: they would come between those of the next action.
    @Test func aContextEndsWithItsAction() async throws {
        let log = EventLog<String>()
        let gate = EventLog<Int>()
        let left = EventLog<ActionContext>()
        let center = center
        _ = try await center.add(Workflow<Void> { context in await left.add(context) })
        let next = center.submit(Noting(name: "next", log: log) { _ = try await gate.wait(for: 1) })
        try await log.first { $0 == "next begins" }
        let context = await left.all[0]
        func expectOver(_ body: () async throws -> Void) async {
            do {
                try await body()
                Issue.record("a context was used after its action")
            } catch {
                #expect((error as? ClientError)?.kind == .actionOver, "\(error)")
            }
        }
        await expectOver { _ = try await context.request(.camera) }
        await expectOver { _ = try await context.execute(Noting(name: "inner", log: log)) }
        await gate.add(1)
        _ = try await next.value
        #expect(await log.all == ["next begins", "next ends"])
    }

    /// Actions added by a Task that outlives its action wait for their turn.
    @Test func actionsOfALeftoverTaskWaitForTheirTurn() async throws {
        let log = EventLog<String>()
        let gate = EventLog<Int>()
        let center = center
        let tasks = EventLog<Task<String, any Error>>()
        _ = try await center.add(
            Workflow<Void> { context in
                // This Task outlives an action within the action.
                _ = try await context.execute(
                    Workflow<Void> { _ in
                        await tasks.add(
                            Task {
                                _ = try await gate.wait(for: 1)
                                return try await center.add(Noting(name: "left behind", log: log))
                            })
                    })
            })
        let next = center.submit(
            Noting(name: "next", log: log) {
                await gate.add(1)
                _ = try await gate.wait(for: 2)
            })
        try await gate.wait(for: 1)
        let third = center.submit(Noting(name: "third", log: log))
        await gate.add(2)
        _ = try await next.value
        _ = try await third.value
        #expect(try await tasks.all[0].value == "left behind")
        let all = await log.all
        for index in stride(from: 0, to: all.count, by: 2) {
            #expect(all[index + 1] == all[index].replacing("begins", with: "ends"), "\(all)")
        }
    }

    /// An action ends once its requests are answered, whether it waits for them or not.
    @Test func anActionEndsAfterItsRequests() async throws {
        let stage = try await ClientStage()
        let agent = try await stage.agent()
        let asking = EventLog<Task<Status, any Error>>()
        let first = stage.center.submit(
            Workflow<Void> { context in
                await asking.add(Task { try await context.request(.camera) })
                _ = try await agent.prompts.wait(for: 1)
            })
        let log = EventLog<String>()
        let next = stage.center.submit(Noting(name: "next", log: log))
        let prompt = try await agent.prompts.wait(for: 1)[0]
        // After this later call is answered, an action that did not wait would have ended.
        _ = try await stage.center.statuses()
        #expect(await log.all.isEmpty)
        await agent.answer(prompt, with: .deny(.once))
        _ = try await first.value
        _ = try await next.value
        #expect(try await asking.all[0].value == .denied)
        await stage.end()
    }

    /// The prompts of a workflow follow each other, even if another app made a request in between.
    @Test func aWorkflowKeepsItsSlot() async throws {
        let stage = try await ClientStage()
        let agent = try await stage.agent()
        let other = try await TestApp("other", on: stage.permd)
        let asked = EventLog<String>()
        let workflow = Workflow<[Status]> { context in
            let camera = try await context.request(.camera, reason: "first")
            await asked.add("camera")
            // The other app's request is queued before the second request is made.
            _ = try await asked.wait(for: 2)
            return [camera, try await context.request(.microphone, reason: "second")]
        }
        let task = stage.center.submit(workflow)
        let first = try await agent.prompts.wait(for: 1)[0]
        await agent.answer(first, with: .grant(.once))
        try await asked.wait(for: 1)
        try await other.request("t", [.location])
        await asked.add("other")
        let second = try await agent.prompts.wait(for: 2)[1]
        #expect(second.questions == [.microphone])
        await agent.answer(second, with: .deny(.once))
        #expect(try await task.value == [.granted, .denied])
        // The hold is released as soon as the workflow ends.
        #expect(try await agent.prompts.wait(for: 3)[2].app == other.id.description)
        await stage.end()
    }

    @Test func theFirstMissingPermission() async throws {
        let stage = try await ClientStage()
        let app = try await stage.app.description
        try await stage.settings.set(.grant, app: app, permission: .camera)
        let missing = Workflow<[Permission?]> { context in
            [
                try await context.check([.camera, .microphone, .location]), try await context.check([.camera]),
                try await context.check([]),
            ]
        }
        #expect(try await stage.center.add(missing) == [.microphone, nil, nil])
        #expect(try await stage.center.firstMissing([.location, .camera]) == .location)
        await stage.end()
    }

    @Test func aRequestIsAValue() async throws {
        struct CameraRequest: PermissionRequest {
            let permission = Permission.camera
            let reason = "For the call"
        }
        let stage = try await ClientStage()
        let agent = try await stage.agent([.grant(.always)])
        #expect(try await CameraRequest().request(on: stage.center) == .granted)
        #expect(try await CameraRequest().request(on: stage.center) == .granted)
        let prompts = await agent.prompts.all
        #expect(prompts.count == 1 && prompts[0].items[0]["reason"] == .string("For the call"))
        await stage.end()
    }
}
