// Grants that nobody has used are taken back, which one notification tells.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct TakenBackTests {
    /// Grants and a refusal of two apps, as old as that when permd starts again.
    private func stage(days: Int) async throws -> (IndicatorStage, FakeNotifications) {
        let stage = try await IndicatorStage(
            settings: TakenBackTests.never, names: ["org.example.Video": "Video Call", "org.example.Tape": "Recorder"])
        for permission in [Permission.camera, .microphone] { try await stage.set("grant", permission) }
        try await stage.set("grant", .microphone, "flatpak:org.example.Tape")
        try await stage.set("deny", .location)
        try await stage.set("grant", .bluetooth, duration: "session")
        let notifications = try FakeNotifications(stage.permd.bus)
        await stage.permd.stop()
        try await OldGrants.make(days: days, on: stage.permd.bus)
        try await stage.permd.start()
        try stage.permd.root.write("", to: "etc/permd/permd.conf")
        return (stage, notifications)
    }

    private static let never = "[Decisions]\nUnusedDays=0\n"

    private static let kept = [
        "flatpak:org.example.Video bluetooth grant session", "flatpak:org.example.Video location deny always",
    ]

    @Test func oneNotificationForAll() async throws {
        let (stage, notifications) = try await stage(days: 91)
        let shown = try await notifications.shown.wait(for: 1)[0]
        #expect(try await stage.decisions() == TakenBackTests.kept)
        #expect(shown.summary == "Taken back, because nobody used it")
        #expect(plain(shown.body) == "Recorder: Microphone\nVideo Call: Camera, Microphone")
        #expect(shown.hints["urgency"] == .byte(0))
        #expect(shown.actions == ["undo", "Undo", "permissions", "Permissions…"])
        let rows = try await stage.call(BusNames.policy, "ListHistory", [.properties([:])]).first?.rows ?? []
        let ends = rows.filter { $0["by"]?.stringValue == "unused" }
        #expect(ends.count == 3 && ends.allSatisfy { $0["outcome"]?.stringValue == "reset" })
        // What was decided meanwhile stays.
        try await stage.set("deny", .microphone, "flatpak:org.example.Tape")
        notifications.choose("undo", of: shown.id)
        #expect(try await notifications.closed.wait(for: 1) == [shown.id])
        #expect(
            try await stage.decisions() == [
                "flatpak:org.example.Tape microphone deny always", "flatpak:org.example.Video bluetooth grant session",
                "flatpak:org.example.Video camera grant always", "flatpak:org.example.Video location deny always",
                "flatpak:org.example.Video microphone grant always",
            ])
        // With nothing to undo and nothing in use, it ends.
        #expect(try await stage.owners.wait(for: 2)[1] == "")
        #expect(notifications.shown.all.count == 1)
        await stage.end()
    }

    /// A request and a use count: two days later, only the grant that had neither has been unused for too long.
    @Test func whatIsUsedStays() async throws {
        let (stage, notifications) = try await stage(days: 89)
        try await stage.request(.microphone)
        let use = try await stage.use(.camera)
        try await stage.end(use: use)
        #expect(try await stage.decisions().count == 5)
        await stage.permd.stop()
        try stage.permd.root.write(TakenBackTests.never, to: "etc/permd/permd.conf")
        try await OldGrants.make(days: 2, on: stage.permd.bus)
        try await stage.permd.start()
        try stage.permd.root.write("", to: "etc/permd/permd.conf")
        let shown = try await notifications.shown.wait(for: 1)[0]
        #expect(plain(shown.body) == "Recorder: Microphone")
        #expect(try await stage.decisions().count == 4)
        await stage.end()
    }
}
