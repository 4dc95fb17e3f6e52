// permd as a backend of the real xdg-desktop-portal: requests of unmodified portal apps share permd's queue.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct PortalTests {
    @Test func requestsOfTwoAppsArePromptedInTurn() async throws {
        let bench = try await PortalStage()
        let agent = try await bench.stage.agent()
        let first = try await bench.flatpak("org.example.First")
        let second = try await bench.flatpak("org.example.Second")
        #expect(try await first.ask("camera a").hasPrefix("ok"))
        #expect(try await second.ask("camera b").hasPrefix("ok"))
        let one = try await agent.prompt(0)
        let apps = [first.id.description, second.id.description]
        #expect(apps.contains(one.app))
        #expect(one.questions == [.camera])
        #expect(one.items[0]["title"]?.stringValue?.isEmpty == false)
        #expect(one.details["sandboxed"] == .bool(true))
        #expect(agent.prompts.all.count == 1)
        agent.answer(one, with: .grant(.always))
        let two = try await agent.prompt(1)
        #expect(Set([one.app, two.app]) == Set(apps))
        agent.answer(two, with: .deny(.always))
        let granted = one.app == apps[0] ? (first, "a") : (second, "b")
        let denied = one.app == apps[0] ? (second, "b") : (first, "a")
        #expect(try await granted.0.response(granted.1) == "0 ")
        #expect(try await denied.0.response(denied.1) == "1 ")
        #expect(
            try await bench.stage.decisions()
                == ["\(one.app) camera grant always", "\(two.app) camera deny always"].sorted())
        let names = [one, two].map { $0.app.dropFirst("flatpak:".count) }
        try await bench.camera(becomes: ["\(names[0])=yes", "\(names[1])=no"].sorted().joined(separator: " "))
        await bench.end()
    }

    /// A process granted once can open the camera while it runs; the next process needs a prompt of its own.
    @Test func aGrantForOnceEndsWithItsProcess() async throws {
        let bench = try await PortalStage()
        let agent = try await bench.stage.agent([.grant(.once)])
        let app = try await bench.flatpak("org.example.Call")
        #expect(try await app.ask("camera a").hasPrefix("ok"))
        #expect(try await app.response("a") == "0 ")
        try await bench.camera(becomes: "org.example.Call=yes")
        // Without PipeWire the call fails, but not because of a missing permission.
        #expect(try await app.ask("open-camera").contains("Permission denied") == false)
        await app.end()
        try await bench.camera(becomes: "")

        let next = try await bench.flatpak("org.example.Call")
        #expect(try await next.ask("open-camera").contains("Permission denied"))
        #expect(try await next.ask("camera b").hasPrefix("ok"))
        let again = try await agent.prompt(1)
        #expect(again.app == "flatpak:org.example.Call")
        agent.answer(again, with: .deny(.once))
        #expect(try await next.response("b") == "1 ")
        // A denial for one process does not apply to others, so it is removed from the portals' store.
        try await bench.camera(becomes: "")
        await bench.end()
    }

    @Test func aDismissalIsNotADenial() async throws {
        let bench = try await PortalStage()
        let agent = try await bench.stage.agent([.dismiss])
        let app = try await bench.flatpak("org.example.Call")
        #expect(try await app.ask("camera a").hasPrefix("ok"))
        #expect(try await app.response("a") == "1 ")
        try await bench.changes.first("the portal's no") { $0 == "devices camera org.example.Call=no" }
        try await bench.camera(becomes: "")
        #expect(try await app.ask("camera b").hasPrefix("ok"))
        #expect(try await agent.prompt(1).app == "flatpak:org.example.Call")
        #expect(try await bench.stage.decisions() == [])
        await bench.end()
    }

    @Test func theAppWithdrawsItsRequest() async throws {
        let bench = try await PortalStage()
        let agent = try await bench.stage.agent()
        let app = try await bench.flatpak("org.example.Call")
        #expect(try await app.ask("camera a").hasPrefix("ok"))
        _ = try await agent.prompt(0)
        #expect(try await app.ask("close-camera a") == "ok")
        try await agent.withdrawals.first("the withdrawal") { $0.why == "closed" }
        try await bench.changes.first("the portal's no") { $0 == "devices camera org.example.Call=no" }
        try await bench.camera(becomes: "")
        #expect(try await app.ask("camera b").hasPrefix("ok"))
        _ = try await agent.prompt(1)
        await app.end()
        try await agent.withdrawals.first("the withdrawal") { $0.why == "left" }
        #expect(try await bench.stage.history() == ["camera withdrawn "])
        await bench.end()
    }

    @Test func dialogsEndWithThePortal() async throws {
        let bench = try await PortalStage()
        let agent = try await bench.stage.agent()
        let app = try await bench.flatpak("org.example.Call")
        #expect(try await app.ask("camera a").hasPrefix("ok"))
        _ = try await agent.prompt(0)
        await bench.portal.endPortal()
        try await agent.withdrawals.wait(for: 1)
        #expect(try await bench.stage.rows("ListRequests", nil).isEmpty)
        await bench.end()
    }

    @Test func knownStatusesNeedNoPrompt() async throws {
        let rule = "[Rule r]\nApps=flatpak:org.example.Never\nPermissions=camera\nAction=restrict\n"
        let bench = try await PortalStage(rules: ["10.conf": rule])
        let agent = try await bench.stage.agent()
        let app = try await bench.flatpak("org.example.Call")
        let never = try await bench.flatpak("org.example.Never")
        try await bench.stage.set("grant", app.id, .camera, ["duration": .string("session")])
        #expect(try await app.ask("camera a").hasPrefix("ok"))
        #expect(try await app.response("a") == "0 ")
        #expect(try await never.ask("camera b").hasPrefix("ok"))
        #expect(try await never.response("b") == "1 ")
        try await bench.camera(becomes: "org.example.Call=yes org.example.Never=no")
        #expect(agent.prompts.all.isEmpty)

        // A reset in permd removes the entry from the portals' store as well.
        #expect(try await bench.stage.reset(app.id.description) == 1)
        try await bench.camera(becomes: "org.example.Never=no")
        #expect(try await app.ask("camera c").hasPrefix("ok"))
        #expect(try await agent.prompt(0).app == app.id.description)
        await bench.end()
    }

    @Test func aChangedDecisionReachesThePortal() async throws {
        let bench = try await PortalStage()
        _ = try await bench.stage.agent([.grant(.always)])
        let app = try await bench.flatpak("org.example.Call")
        #expect(try await app.ask("camera a").hasPrefix("ok"))
        #expect(try await app.response("a") == "0 ")
        try await bench.camera(becomes: "org.example.Call=yes")
        try await bench.stage.set("deny", app.id, .camera)
        try await bench.camera(becomes: "")
        #expect(try await app.ask("camera b").hasPrefix("ok"))
        #expect(try await app.response("b") == "1 ")
        try await bench.camera(becomes: "org.example.Call=no")
        await bench.end()
    }

    @Test func aTimedGrantEndsInThePortalsStore() async throws {
        let bench = try await PortalStage()
        let agent = try await bench.stage.agent()
        let app = try await bench.flatpak("org.example.Call")
        #expect(try await app.ask("camera a").hasPrefix("ok"))
        let prompt = try await agent.prompt(0)
        let end = EpochSeconds(time(nil)) + 2
        agent.answer(prompt, with: .grant(.until(end)))
        #expect(try await app.response("a") == "0 ")
        try await bench.changes.first("the portal's yes") { $0 == "devices camera org.example.Call=yes" }
        try await bench.camera(becomes: "")
        #expect(EpochSeconds(time(nil)) >= end)
        await bench.end()
    }

    @Test func changesOfThePortalsStoreReachPermd() async throws {
        let bench = try await PortalStage()
        let decisions = try await bench.stage.signals(BusNames.policy)
        let app = "flatpak:org.example.Call"
        try await bench.stage.set("grant", AppID(app)!, .camera)
        let known = try await bench.flatpak("org.example.Call")
        #expect(try await known.ask("camera a").hasPrefix("ok"))
        #expect(try await known.response("a") == "0 ")
        try await bench.camera(becomes: "org.example.Call=yes")

        try await bench.setCamera("org.example.Call", "no")
        try await decisions.first("the decision") { $0 == "DecisionChanged \(app) camera deny" }
        #expect(try await bench.stage.decisions() == ["\(app) camera deny always"])
        try await bench.store(
            "DeletePermission", [.string("devices"), .string("camera"), .string("org.example.Call")])
        try await decisions.first("the reset") { $0 == "DecisionChanged \(app) camera " }
        #expect(try await bench.stage.decisions() == [])
        #expect(try await bench.stage.history().prefix(2) == ["camera reset person", "camera denied person"])
        await bench.end()
    }

    /// Before 1.20, a portal stores a no for a dialog that was lost, which nobody gave.
    @Test func aDialogThatWasOpenWhenPermdWasKilled() async throws {
        let bench = try await PortalStage()
        let agent = try await bench.stage.agent()
        let app = try await bench.flatpak("org.example.Call")
        #expect(try await app.ask("camera a").hasPrefix("ok"))
        _ = try await agent.prompt(0)
        await bench.stage.permd.stop(SIGKILL)
        _ = try await app.response("a")
        try await bench.stage.permd.start()
        try await bench.camera(becomes: "")
        #expect(try await bench.stage.decisions() == [])
        await bench.end()
    }

    /// A grant for one process must not become permanent because permd was not running when the process exited.
    @Test func grantsThatEndedWhilePermdWasStoppedAreRemoved() async throws {
        let bench = try await PortalStage()
        _ = try await bench.stage.agent([.grant(.once)])
        let app = try await bench.flatpak("org.example.Call")
        #expect(try await app.ask("camera a").hasPrefix("ok"))
        #expect(try await app.response("a") == "0 ")
        try await bench.camera(becomes: "org.example.Call=yes")
        await bench.stage.permd.stop(SIGKILL)
        await app.end()
        try await bench.stage.permd.start()
        try await bench.camera(becomes: "")
        #expect(try await bench.stage.decisions() == [])
        await bench.end()
    }

    /// Answers that the portals' store got before permd was installed become decisions.
    @Test func earlierPortalAnswersAreImported() async throws {
        let bench = try await PortalStage()
        await bench.stage.permd.stop()
        try await bench.setCamera("org.example.Old", "yes")
        try await bench.stage.permd.start()
        let decisions = try await bench.stage.signals(BusNames.policy)
        if try await bench.stage.decisions().isEmpty { try await decisions.wait(for: 1) }
        #expect(try await bench.stage.decisions() == ["flatpak:org.example.Old camera grant always"])
        #expect(try await bench.stage.reset("flatpak:org.example.Old") == 1)
        try await bench.camera(becomes: "")
        await bench.end()
    }
}
