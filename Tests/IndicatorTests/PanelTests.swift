// The item in the panel: its icon, tooltip and menu, and what the menu does.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct PanelTests {
    private static let settings = ["org.permd.Settings": ["/bin/false"]]

    @Test func whatIsInUseIsShown() async throws {
        let stage = try await IndicatorStage(
            names: ["org.example.Video": "Video Call", "org.example.Tape": "Recorder"], services: PanelTests.settings)
        let panel = try await FakePanel(stage.permd.bus)
        try await stage.set("grant")
        let camera = try await stage.use()
        let item = try await panel.item()
        #expect(try await panel.property("IconName", of: item) == .string("camera-web-symbolic"))
        #expect(try await panel.property("Status", of: item) == .string("Active"))
        #expect(try await panel.property("Category", of: item) == .string("Hardware"))
        #expect(try await panel.property("Menu", of: item) == .objectPath("/MenuBar"))
        #expect(try await panel.property("ItemIsMenu", of: item) == .bool(true))
        #expect(try await panel.property("Title", of: item) == .string("In Use Now"))
        #expect(try await panel.tooltip(of: item) == "Camera: Video Call")
        try await panel.waitForMenu(
            ["(Video Call: Camera)", "Stop Video Call", "-", "Switch off Camera for every app", "Permissions…"],
            of: item)
        // The camera stays the icon beside a microphone.
        let microphone = try await stage.use(.microphone, by: "flatpak:org.example.Tape")
        try await panel.signals.first { $0 == "NewToolTip" }
        #expect(try await panel.tooltip(of: item) == "Camera: Video Call\nMicrophone: Recorder")
        #expect(try await panel.property("IconName", of: item) == .string("camera-web-symbolic"))
        #expect(
            try await panel.texts(of: item) == [
                "(Video Call: Camera)", "Stop Video Call", "-", "(Recorder: Microphone · you were not asked)",
                "Stop Recorder", "-", "Switch off Camera for every app",
                "Switch off Microphone for every app", "Permissions…",
            ])
        try await stage.end(use: camera)
        try await panel.signals.first { $0 == "NewIcon" }
        #expect(try await panel.property("IconName", of: item) == .string("audio-input-microphone-symbolic"))
        // The icon goes at once with the last use, and the program some time later.
        let gone = EventLog<String>()
        let watch = panel.connection.whenNameVanishes(item) { gone.add(item) }
        try await stage.end(use: microphone)
        try await gone.wait(for: 1)
        watch.cancel()
        #expect(stage.owners.all.count == 1)
        #expect(try await stage.owners.wait(for: 2)[1] == "")
        await stage.end()
    }

    @Test func aPermissionIsSwitchedOffForEveryApp() async throws {
        let stage = try await IndicatorStage()
        let panel = try await FakePanel(stage.permd.bus)
        try await stage.set("grant")
        try await stage.use()
        let item = try await panel.item()
        try await panel.click("Switch off Camera for every app", of: item)
        try await panel.waitForMenu(
            ["(Video Call: Camera · you have refused it)", "-", "Switch on Camera"], of: item)
        #expect(try await stage.decisions() == ["flatpak:org.example.Video camera grant always"])
        try await panel.click("Switch on Camera", of: item)
        try await panel.waitForMenu(
            ["(Video Call: Camera)", "Stop Video Call", "-", "Switch off Camera for every app"], of: item)
        await stage.end()
    }

    @Test func stop() async throws {
        let stage = try await IndicatorStage()
        let panel = try await FakePanel(stage.permd.bus)
        try await stage.set("grant")
        try await stage.use()
        let item = try await panel.item()
        let changes = try await stage.decisionChanges()
        let before = try #require(try await panel.menu(of: item).first { $0.text.hasPrefix("Stop") })
        // Only a click chooses, and a line that says something does nothing.
        try await panel.click(before.id, of: item, "hovered")
        let line = try #require(try await panel.menu(of: item).first)
        try await panel.click(line.id, of: item)
        #expect(changes.all.isEmpty)
        try await panel.click(before.id, of: item)
        try await changes.first { $0 == "flatpak:org.example.Video camera deny" }
        #expect(try await stage.decisions() == ["flatpak:org.example.Video camera deny session"])
        try await panel.waitForMenu(
            ["(Video Call: Camera · you have refused it)", "-", "Switch off Camera for every app"], of: item)
        // The number of an entry that has gone is nobody else's.
        let error = await #expect(throws: BusError.self) { try await panel.click(before.id, of: item) }
        #expect(error?.name == "org.freedesktop.DBus.Error.InvalidArgs")
        // A grant from elsewhere is shown as well.
        try await stage.set("grant")
        try await panel.waitForMenu(
            ["(Video Call: Camera)", "Stop Video Call", "-", "Switch off Camera for every app"], of: item)
        let after = try await panel.menu(of: item)
        #expect(after[1].id != before.id)
        await stage.end()
    }

    @Test func aDeviceThatTheAppHasOpened() async throws {
        let devices = try await MockDevices()
        let terminal = try PseudoTerminal()
        _ = try await devices.add(.camera, 0, backedBy: terminal)
        let stage = try await IndicatorStage(devices: devices)
        let panel = try await FakePanel(stage.permd.bus)
        let app = try await TestApp("direct_use", on: stage.permd)
        try await app.ask("hold \(terminal.path)")
        let item = try await panel.item()
        let quit = "(It has opened the device itself. Only quitting it ends that.)"
        #expect(
            try await panel.texts(of: item)
                == [
                    "(direct__use: Camera · you were not asked)", quit, "Stop direct__use", "-",
                    "Switch off Camera for every app",
                ])
        try await panel.click("Stop direct__use", of: item)
        try await panel.waitForMenu(
            ["(direct__use: Camera · you have refused it)", quit, "-", "Switch off Camera for every app"], of: item)
        await app.end()
        await stage.end()
        await devices.end()
    }

    @Test func thePanelComesAndGoes() async throws {
        let stage = try await IndicatorStage()
        let notifications = try FakeNotifications(stage.permd.bus)
        try await stage.use()
        // Without a panel there is a notification, which closes when a panel has a place for items.
        let shown = try await notifications.shown.wait(for: 1)[0]
        let first = try await FakePanel(stage.permd.bus, hasHost: false)
        first.addHost()
        _ = try await first.item()
        #expect(try await notifications.closed.wait(for: 1) == [shown.id])
        for _ in 0..<2 {
            first.connection.close()
            let next = try await FakePanel(stage.permd.bus)
            let item = try await next.item()
            #expect(try await next.tooltip(of: item) == "Camera: Video Call")
            next.connection.close()
        }
        await stage.end()
    }

    @Test func permdRestarts() async throws {
        let stage = try await IndicatorStage()
        let panel = try await FakePanel(stage.permd.bus)
        try await stage.use()
        let first = try await panel.item()
        // What an enforcement point had reported is over.
        let gone = EventLog<String>()
        let watch = panel.connection.whenNameVanishes(first) { gone.add(first) }
        try await stage.permd.restart(SIGKILL)
        try await gone.wait(for: 1)
        watch.cancel()
        try await stage.use(.microphone)
        let item = try await panel.item(2)
        #expect(try await panel.tooltip(of: item) == "Microphone: Video Call")
        await stage.end()
    }

    /// A rule still grants what a reset decision had granted.
    @Test func aRuleStatusAfterAReset() async throws {
        let rule = "[Rule office]\nApps=\(IndicatorStage.video)\nPermissions=camera\nAction=grant\n"
        let stage = try await IndicatorStage(rules: ["10-office.conf": rule])
        let panel = try await FakePanel(stage.permd.bus)
        try await stage.set("deny")
        try await stage.use()
        let item = try await panel.item()
        #expect(
            try await panel.texts(of: item) == [
                "(Video Call: Camera · you have refused it)", "-", "Switch off Camera for every app",
            ])
        _ = try await stage.call(BusNames.policy, "Reset", [.string(IndicatorStage.video), .string("camera")])
        try await panel.waitForMenu(
            ["(Video Call: Camera)", "Stop Video Call", "-", "Switch off Camera for every app"], of: item)
        await stage.end()
    }

    @Test func permissionsAreOpened() async throws {
        let folder = try TemporaryFolder()
        let pipe = folder.file("opened")
        #expect(mkfifo(pipe, 0o600) == 0)
        let reader = try ChildProcess("cat", [pipe])
        let stage = try await IndicatorStage(
            services: ["org.permd.Settings": ["/bin/sh", "-c", "echo opened >\(pipe)"]])
        let panel = try await FakePanel(stage.permd.bus)
        try await stage.use()
        let item = try await panel.item()
        try await panel.waitForMenu(of: item) { $0.contains("Permissions…") }
        try await panel.click("Permissions…", of: item)
        #expect(await reader.output() == "opened\n")
        withExtendedLifetime(folder) {}
        await stage.end()
    }

    @Test func otherCallsOfPanels() async throws {
        let stage = try await IndicatorStage()
        let panel = try await FakePanel(stage.permd.bus)
        try await stage.use()
        let item = try await panel.item()
        let ids = try await panel.menu(of: item).map(\.id)
        let group = try await panel.menuCall(
            "GetGroupProperties", [.array(of: "i", ids.map { .int32($0) } + [.int32(99)]), .strings(["label"])],
            of: item)
        #expect(group.first?.elements?.count == ids.count)
        #expect(
            try await panel.menuCall("GetProperty", [.int32(ids[0]), .string("enabled")], of: item)
                == [.variant(.bool(false))])
        #expect(try await panel.menuCall("AboutToShow", [.int32(0)], of: item) == [.bool(false)])
        let changes = try await stage.decisionChanges()
        let event = Value.structure([.int32(ids[1]), .string("clicked"), .variant(.int32(0)), .uint32(0)])
        let unknown = Value.structure([.int32(99), .string("clicked"), .variant(.int32(0)), .uint32(0)])
        let errors = try await panel.menuCall("EventGroup", [.array(of: "(isvu)", [event, unknown])], of: item)
        #expect(errors == [.array(of: "i", [.int32(99)])])
        try await changes.first { $0.hasSuffix("deny") }
        for (member, body) in [
            ("GetLayout", [Value.int32(99), .int32(-1), .strings([])]), ("GetProperty", [.int32(0), .string("x")]),
        ] {
            await #expect(throws: BusError.self) { _ = try await panel.menuCall(member, body, of: item) }
        }
        await stage.end()
    }
}
