// Notifications, where the panel shows no items.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct NotificationTests {
    @Test(arguments: PrivateBus.Kind.allCases)
    func aUseWithoutAGrant(_ kind: PrivateBus.Kind) async throws {
        let stage = try await IndicatorStage(
            kind: kind, names: ["org.example.Video": "Video Call", "org.example.Tape": "Recorder"])
        let notifications = try FakeNotifications(stage.permd.bus)
        // Of these, only the second has no grant.
        try await stage.set("grant")
        try await stage.use()
        let use = try await stage.use(.microphone, by: "flatpak:org.example.Tape")
        let shown = try await notifications.shown.wait(for: 1)[0]
        #expect(plain(shown.summary) == "Recorder is using your microphone")
        #expect(shown.body == "You were not asked." && shown.icon == "audio-input-microphone-symbolic")
        #expect(shown.actions == ["stop", "Stop", "permissions", "Permissions…"] && shown.replaces == 0)
        #expect(shown.hints["desktop-entry"] == .string("org.permd.Settings"))
        // A program that is not the server chooses nothing.
        let changes = try await stage.decisionChanges()
        notifications.choose("stop", of: shown.id, from: stage.desk)
        notifications.choose("undo", of: shown.id)
        notifications.choose("stop", of: shown.id + 1)
        notifications.choose("stop", of: shown.id)
        #expect(try await changes.wait(for: 1) == ["flatpak:org.example.Tape microphone deny"])
        #expect(try await stage.decisions().contains("flatpak:org.example.Tape microphone deny session"))
        let refused = try await notifications.shown.wait(for: 2)[1]
        #expect(refused.replaces == shown.id && refused.body == "You have refused it.")
        #expect(refused.actions == ["permissions", "Permissions…"])
        try await stage.end(use: use)
        let over = try await notifications.shown.wait(for: 3)[2]
        #expect(plain(over.summary) == "Recorder has used your microphone" && over.actions == [])
        #expect(over.replaces == shown.id)
        await stage.end()
    }

    @Test func anAnswerForEver() async throws {
        let stage = try await IndicatorStage()
        let notifications = try FakeNotifications(stage.permd.bus)
        let agent = ScriptedAgent(
            try stage.permd.bus.connect(), [.grant(.session), .deny(.always)], otherwise: .grant(.always))
        try await agent.register()
        let changes = try await stage.decisionChanges()
        // None of these is one: a grant for the session, a refusal, and a decision of a settings program.
        try await stage.request(.microphone)
        try await changes.wait(for: 1)
        try await stage.request(.location)
        try await changes.wait(for: 2)
        try await stage.set("grant", .bluetooth)
        try await changes.wait(for: 3)
        try await stage.request(.camera)
        let shown = try await notifications.shown.wait(for: 1)[0]
        #expect(plain(shown.summary) == "Video Call may always use your camera" && shown.actions == ["undo", "Undo"])
        #expect(try await stage.decisions().contains("flatpak:org.example.Video camera grant always"))
        notifications.choose("undo", of: shown.id)
        try await changes.first { $0 == "flatpak:org.example.Video camera " }
        #expect(try await notifications.closed.wait(for: 1) == [shown.id])
        #expect(try await stage.decisions().count == 3)
        // With nothing to undo and nothing in use, it ends.
        #expect(try await stage.owners.wait(for: 2)[1] == "")
        #expect(notifications.shown.all.count == 1)
        await stage.end()
    }

    /// Undo removes only the decision that it is about.
    @Test func aDecisionThatHasChangedSince() async throws {
        let stage = try await IndicatorStage()
        let notifications = try FakeNotifications(stage.permd.bus)
        let agent = ScriptedAgent(try stage.permd.bus.connect(), otherwise: .grant(.always))
        try await agent.register()
        try await stage.request(.camera)
        let shown = try await notifications.shown.wait(for: 1)[0]
        try await stage.set("grant", duration: "session")
        try await stage.set("deny")
        // The notification goes, since there is nothing to undo any more; a late click does nothing.
        #expect(try await notifications.closed.wait(for: 1) == [shown.id])
        notifications.choose("undo", of: shown.id)
        #expect(try await stage.owners.wait(for: 2)[1] == "")
        #expect(try await stage.decisions() == ["flatpak:org.example.Video camera deny always"])
        await stage.end()
    }

    /// An app that uses a device again and again is told of once a minute; and a server without buttons and markup.
    @Test func repeatedUses() async throws {
        let stage = try await IndicatorStage()
        let notifications = try FakeNotifications(stage.permd.bus, capabilities: ["body"])
        let start = ContinuousClock.now
        let use = try await stage.use()
        let shown = try await notifications.shown.wait(for: 1)[0]
        #expect(shown.actions == [] && plain(shown.summary) == "Video Call is using your camera")
        try await stage.end(use: use)
        #expect(try await plain(notifications.shown.wait(for: 2)[1].summary) == "Video Call has used your camera")
        for _ in 0..<20 { try await stage.end(use: try await stage.use()) }
        try await stage.use(.microphone)
        let next = try await notifications.shown.first { plain($0.summary) == "Video Call is using your microphone" }
        #expect(next.id != shown.id)
        let minutes = Int((ContinuousClock.now - start) / .seconds(60))
        let again = notifications.shown.all.count { plain($0.summary) == "Video Call is using your camera" } - 1
        #expect(again <= minutes)
        await stage.end()
    }

    /// Programs that only ask what a camera can do are not told of.
    @Test func probes() async throws {
        let devices = try await MockDevices()
        let terminal = try PseudoTerminal()
        _ = try await devices.add(.camera, 0, backedBy: terminal)
        let stage = try await IndicatorStage(devices: devices)
        let notifications = try FakeNotifications(stage.permd.bus)
        let prober = try await TestApp("prober", on: stage.permd)
        #expect(try await prober.ask("probe \(terminal.path)") == "ok")
        let app = try await TestApp("app", on: stage.permd)
        try await app.ask("hold \(terminal.path)")
        let shown = try await notifications.shown.wait(for: 1)[0]
        #expect(plain(shown.summary) == "app is using your camera")
        #expect(shown.body == "You were not asked. It has opened the device itself. Only quitting it ends that.")
        // Stop cannot cut it off, which is told of even if the server closes the notification with the click.
        notifications.choose("stop", of: shown.id)
        notifications.close(shown.id)
        let quit = "You have refused it. It has opened the device itself. Only quitting it ends that."
        try await notifications.shown.first { $0.body == quit && $0.actions == ["permissions", "Permissions…"] }
        #expect(try await stage.decisions() == ["\(app.id) camera deny session"])
        await app.end()
        try await notifications.shown.first { plain($0.summary) == "app has used your camera" }
        await prober.end()
        await stage.end()
        await devices.end()
    }
}
