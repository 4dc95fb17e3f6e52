// The queue over D-Bus: several apps, one prompt at a time, and what each app can observe.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct QueueTests {
    @Test func threeAppsOneAfterTheOther() async throws {
        let stage = try await Stage()
        let apps = [try await stage.app("one"), try await stage.app("two"), try await stage.app("three")]
        let permissions: [Permission] = [.camera, .microphone, .location]
        for (app, permission) in zip(apps, permissions) { try await app.request("t", [permission], "reason=because") }
        let agent = try await stage.agent([.grant(.always), .deny(.always), .grant(.session)])
        #expect(try await apps[0].response("t") == "0 refused= statuses=camera=granted")
        #expect(try await apps[1].response("t") == "0 refused=microphone statuses=microphone=denied")
        #expect(try await apps[2].response("t") == "0 refused= statuses=location=granted")
        let prompts = agent.prompts.all
        #expect(prompts.map(\.app) == apps.map(\.id.description))
        #expect(prompts.map(\.questions) == permissions.map { [.permission($0)] })
        #expect(prompts.map { $0.details["waiting"] } == [.uint32(2), .uint32(1), .uint32(0)])
        #expect(
            try await stage.decisions().sorted()
                == [
                    "\(apps[0].id) camera grant always", "\(apps[1].id) microphone deny always",
                    "\(apps[2].id) location grant session",
                ].sorted())
        await stage.end()
    }

    @Test func onePromptForSeveralPermissions() async throws {
        let stage = try await Stage()
        let agent = try await stage.agent([
            .decisions([
                .camera: ItemDecision(verdict: .grant, duration: .once),
                .microphone: ItemDecision(verdict: .deny, duration: .always),
                .bluetooth: ItemDecision(verdict: .grant, duration: .always),
            ])
        ])
        let app = try await stage.app()
        try await app.request("t", [.microphone, .camera, .location], "explain")
        #expect(
            try await app.response("t")
                == "0 refused=microphone statuses=camera=granted location=undetermined microphone=denied")
        let prompt = try #require(agent.prompts.all.first)
        #expect(prompt.questions == [.microphone, .camera, .location])
        #expect(prompt.details["explanation"]?.elements == [.string("A title"), .string("A body")])
        #expect(prompt.details["durations"]?.strings == ["once", "session", "until", "always"])
        #expect(prompt.details["sandboxed"] == .bool(false))
        #expect(prompt.details["app_name"] == .string("app"))
        #expect(prompt.items.map { $0["device_name"]?.stringValue?.isEmpty } == [false, false, false])
        #expect(try await stage.decisions().count == 2, "a decision that was not asked for is ignored")
        await stage.end()
    }

    @Test func theOwnerSeesItsPositionChange() async throws {
        let stage = try await Stage()
        let first = try await stage.app("first")
        let second = try await stage.app("second")
        try await first.request("t", [.camera])
        try await second.request("t", [.camera])
        #expect(try await second.ask("properties t") == "ok Position=1 State=queued")
        try await second.events.first { $0 == "state t Position=1" }
        let agent = try await stage.agent([.dismiss])
        #expect(try await first.response("t") == "1 refused=camera statuses=camera=undetermined")
        try await second.events.first { $0 == "state t Position=0 State=showing" }
        try await agent.prompts.wait(for: 2)
        #expect(try await second.ask("properties t") == "ok Position=0 State=showing")
        // Only the owner of a request receives its state.
        #expect(!first.events.all.contains { $0.contains("Position=1") })
        await stage.end()
    }

    @Test func toAnyoneElseTheRequestDoesNotExist() async throws {
        let stage = try await Stage()
        let app = try await stage.app()
        let path = try await app.request("t", [.camera]).split(separator: " ").last.map(String.init) ?? ""
        #expect(path.hasPrefix("/org/permd/request/1_") && path.hasSuffix("/t"))
        let unknown = "org.freedesktop.DBus.Error.UnknownObject"
        let introspectable = "org.freedesktop.DBus.Introspectable"
        #expect(await stage.refusal(BusNames.request, "Close", path: path) == unknown)
        #expect(
            await stage.refusal("org.freedesktop.DBus.Properties", "GetAll", [.string(BusNames.request)], path: path)
                == unknown)
        // Neither the object nor the paths above it reveal the request.
        var above = path
        while above != "/org/permd" {
            let xml = try? await stage.call(introspectable, "Introspect", path: above).first?.stringValue
            #expect(xml?.contains("Request1") != true && xml?.contains("name=\"t\"") != true, "\(above)")
            above = String(above[..<(above.lastIndex(of: "/") ?? above.startIndex)])
        }
        let root = try await stage.call(introspectable, "Introspect").first?.stringValue ?? ""
        #expect(root.contains("Access1") && !root.contains("<node name=\"request\""))
        await stage.end()
    }

    @Test func knownStatusesNeedNoPrompt() async throws {
        let stage = try await Stage()
        let agent = try await stage.agent()
        let busy = try await stage.app("busy")
        try await busy.request("t", [.camera])
        try await agent.prompts.wait(for: 1)
        let app = try await stage.app()
        try await stage.set("grant", app.id, .camera)
        try await app.request("a", [.camera, .bluetooth])
        #expect(try await app.response("a") == "0 refused=bluetooth statuses=bluetooth=unavailable camera=granted")
        try await app.request("b", [.microphone], "interactive=no")
        #expect(try await app.response("b") == "0 refused=microphone statuses=microphone=undetermined")
        #expect(agent.prompts.all.count == 1)
        await stage.end()
    }

    @Test func closedRequestsAreForgotten() async throws {
        let stage = try await Stage()
        let agent = try await stage.agent()
        let app = try await stage.app()
        try await app.request("shown", [.camera])
        try await app.request("queued", [.microphone])
        try await agent.prompts.wait(for: 1)
        #expect(try await app.ask("close queued") == "ok")
        #expect(try await app.ask("close queued").hasPrefix("UnknownObject"))
        #expect(try await app.ask("close shown") == "ok")
        try await agent.withdrawals.wait(for: 1)
        // The token can be used again, and the closed requests received no Response.
        try await app.request("shown", [.location])
        agent.answer(try await agent.prompts.wait(for: 2)[1], with: .dismiss)
        #expect(try await app.response("shown").hasPrefix("1 "))
        #expect(app.events.all.filter { $0.hasPrefix("response") }.count == 1)
        #expect(try await stage.history().filter { $0.contains("withdrawn") }.count == 2)
        await stage.end()
    }

    @Test func requestsEndWithTheirApp() async throws {
        let stage = try await Stage()
        let agent = try await stage.agent()
        let shown = try await stage.app("shown")
        let queued = try await stage.app("queued")
        let last = try await stage.app("last")
        try await shown.request("t", [.camera])
        try await queued.request("t", [.camera])
        try await last.request("t", [.camera])
        try await agent.prompts.wait(for: 1)
        await queued.end()
        try await last.events.first { $0 == "state t Position=1" }
        await shown.end()
        #expect(try await agent.withdrawals.wait(for: 1)[0].path == agent.prompts.all[0].path)
        #expect(try await agent.prompts.wait(for: 2)[1].app == last.id.description)
        #expect(try await stage.rows("ListRequests", nil).count == 1)
        await stage.end()
    }

    /// The callers disconnect before permd can reply.
    @Test func aCallerThatLeavesAtOnce() async throws {
        let stage = try await Stage()
        let agent = try await stage.agent()
        for _ in 0..<20 {
            let hasty = try stage.permd.bus.connect()
            hasty.send(
                .call(
                    destination: BusNames.service, path: BusNames.root, interface: BusNames.access,
                    member: "RequestAccess", [.strings(["camera"]), .properties([:])]))
            hasty.flush()
            hasty.close()
        }
        let app = try await stage.app()
        try await app.request("t", [.microphone])
        let prompt = try await agent.prompts.first { $0.app == app.id.description }
        agent.answer(prompt, with: .grant(.once))
        #expect(try await app.response("t") == "0 refused= statuses=microphone=granted")
        #expect(try await stage.rows("ListRequests", nil).isEmpty)
        await stage.end()
    }

    @Test func aHoldGoesFirst() async throws {
        let stage = try await Stage()
        let agent = try await stage.agent([.grant(.always)])
        let app = try await stage.app()
        let other = try await stage.app("other")
        try await app.request("a", [.camera], "hold=15")
        #expect(try await app.response("a") == "0 hold=15 refused= statuses=camera=granted")
        try await other.request("t", [.camera])
        try await app.request("b", [.microphone])
        #expect(try await agent.prompts.wait(for: 2)[1].app == app.id.description)
        agent.answer(agent.prompts.all[1], with: .grant(.always))
        #expect(try await agent.prompts.wait(for: 3)[2].app == other.id.description)
        await stage.end()
    }

    @Test func aHoldIsReleased() async throws {
        let stage = try await Stage()
        let agent = try await stage.agent([.grant(.always)])
        let app = try await stage.app()
        let other = try await stage.app("other")
        try await app.request("a", [.camera], "hold=15")
        _ = try await app.response("a")
        try await other.request("t", [.camera])
        #expect(agent.prompts.all.count == 1)
        #expect(try await app.ask("release") == "ok")
        #expect(try await agent.prompts.wait(for: 2)[1].app == other.id.description)
        await stage.end()
    }

    @Test func aDismissalIsNotADecision() async throws {
        let stage = try await Stage()
        _ = try await stage.agent(otherwise: .dismiss)
        let app = try await stage.app()
        for number in 1...3 {
            try await app.request("t\(number)", [.camera])
            let pause = number == 3 ? "paused " : ""
            #expect(try await app.response("t\(number)") == "1 \(pause)refused=camera statuses=camera=undetermined")
        }
        // The dismissal throttle pauses this app and permission only, and is named in the history.
        try await app.request("t4", [.camera])
        #expect(try await app.response("t4") == "1 paused refused=camera statuses=camera=undetermined")
        #expect(try await stage.history().first == "camera dismissed throttle")
        let pause = try #require(try await stage.rows("ListDecisions").first)
        #expect(pause["decision"] == .string("pause") && pause["by"] == .string("throttle"))
        #expect(pause["until"]?.uint64Value != nil)
        // The pause survives a restart; a reset lifts it but does not count it as a decision.
        try await stage.permd.restart()
        #expect(try await stage.rows("ListDecisions").count == 1)
        #expect(try await stage.reset(app.id.description) == 0)
        #expect(try await stage.rows("ListDecisions").isEmpty)
        await stage.end()
    }
}
