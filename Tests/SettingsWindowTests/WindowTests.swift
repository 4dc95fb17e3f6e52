// The window as a whole: uses and Stop, the history, permd that comes and goes, one instance, languages, many rows.

import DBus
import Foundation
import PermissionClient
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15)), .serialized)
@LoopActor
struct WindowTests {
    /// A use that an enforcement point reports is listed, and Stop refuses the device until the session ends.
    @Test func aUseIsListedAndStopped() async throws {
        let stage = try await SettingsStage()
        try await stage.settings.set(.grant, app: "flatpak:org.example.Call", permission: .microphone)
        try await stage.open()
        try await stage.awaitLabel("No app is using the camera or the microphone.")
        let point = try stage.permd.bus.connect()
        let use = try await point.call(
            .call(
                destination: BusNames.service, path: BusNames.root, interface: BusNames.enforcement,
                member: "ReportUse",
                [
                    .variant(.string("flatpak:org.example.Call")), .string("microphone"),
                    .properties(["source": .string("pipewire"), "device_name": .string("<i>Headset</i>")]),
                ]))
        try await stage.awaitLabel("the use") { $0.hasPrefix("Microphone · <i>Headset</i> · since ") }
        try await stage.press("Stop")
        try await stage.awaitDecision("flatpak:org.example.Call", .microphone, "deny session")
        try await stage.awaitLabel("org.example.Call may not use Microphone until you log out")
        try await stage.key("ctrl+z")
        try await stage.awaitDecision("flatpak:org.example.Call", .microphone, "grant always")
        _ = try await point.call(
            .call(
                destination: BusNames.service, path: BusNames.root, interface: BusNames.enforcement,
                member: "EndUse", [use.body[0]]))
        try await stage.awaitLabel("No app is using the camera or the microphone.")
        point.close()
        await stage.end()
    }

    /// For a program that has opened the camera itself, the window says that Stop does not close it.
    @Test func aDeviceThatAProgramHasOpenedItself() async throws {
        let stage = try await SettingsStage()
        let terminal = try PseudoTerminal()
        _ = try await stage.devices.add(.camera, 5, backedBy: terminal)
        try await stage.open()
        let app = try await TestApp("recorder", on: stage.permd)
        try await app.ask("hold \(terminal.path)")
        try await stage.awaitLabel("the use") {
            $0.hasPrefix("Camera · Mock Camera 5 · since ")
                && $0.hasSuffix("you were not asked It has opened the device itself. Only quitting it ends that.")
        }
        try await stage.press("Stop")
        try await stage.awaitDecision(app.id.description, .camera, "deny session")
        try await stage.awaitLabel(
            "recorder may not use Camera until you log out, but still has it open: quit it to end that")
        await app.end()
        try await stage.awaitLabel("No app is using the camera or the microphone.")
        await stage.end()
    }

    /// Once for an app, however many sessions it may take up again.
    @Test func whatPortalsRemember() async throws {
        let stage = try await SettingsStage()
        let portal = try await DesktopPortal(on: stage.permd, backends: nil)
        for token in ["1f", "2f"] { try await portal.remember("screencast", token, ["org.example.Recorder": ["yes"]]) }
        try await portal.remember("background", "background", ["com.example.Chat": ["no"]])
        try await stage.open()
        try await stage.press("Permissions", role: "page tab")
        try await stage.awaitLabel("Remembered by Portals")
        try await stage.awaitLabel("Record the screen")
        let denied = "Run in the background: not allowed"
        try await stage.awaitLabel(denied)
        try await stage.press("Forget")
        try await stage.awaitLabel("com.example.Chat is forgotten and will ask again")
        try await stage.awaitNoLabel(denied)
        try await stage.press("Forget")
        try await stage.awaitNoLabel("Remembered by Portals")
        await portal.end()
        await stage.end()
    }

    @Test func theHistoryIsFiltered() async throws {
        let stage = try await SettingsStage()
        try await stage.settings.set(.grant, app: "exe:/usr/bin/cheese", permission: .camera)
        try await stage.settings.set(.deny, app: "exe:/usr/bin/recorder", permission: .microphone)
        try await stage.open()
        try await stage.press("History", role: "page tab")
        let camera = "Camera · Allowed · with permctl"
        let microphone = "Microphone · Not Allowed · with permctl"
        try await stage.awaitLabel(camera)
        try await stage.awaitLabel(microphone)
        try await stage.key("ctrl+f")
        try await stage.type("CHEESE")
        try await stage.awaitNoLabel(microphone)
        try await stage.awaitLabel(camera)
        try await stage.key("ctrl+a")
        try await stage.type("nonsense")
        try await stage.awaitLabel("Nothing Found")
        try await stage.key("Escape")
        try await stage.awaitLabel(microphone)
        // By outcome, then also by kind.
        try await stage.click("All Outcomes")
        try await stage.choose("Not Allowed")
        try await stage.awaitNoLabel(camera)
        try await stage.click("All Kinds")
        try await stage.choose("Camera")
        try await stage.awaitLabel("Nothing Found")
        await stage.end()
    }

    /// The switch of a permission, on both of its pages; an app that is refused by it was not refused by the person.
    @Test func aPermissionIsSwitchedOffForEveryApp() async throws {
        let stage = try await SettingsStage()
        try await stage.settings.set(.grant, app: "exe:/usr/bin/cheese", permission: .camera)
        try await stage.open()
        try await stage.press("Permissions", role: "page tab")
        try await stage.click("On: apps may use it as you decide")
        try await stage.awaitLabel("Off for every app")
        #expect(try await stage.settings.switches()[.camera] == false)
        #expect(
            try await stage.settings.statuses(app: "exe:/usr/bin/cheese", permission: .camera).first?.status == .denied)
        try await stage.settings.setSwitch(.camera, on: true)
        try await stage.awaitNoLabel("Off for every app")
        try await stage.press("History", role: "page tab")
        try await stage.awaitLabel("Camera · Switched off · by you")
        await stage.end()
    }

    @Test func emptyPagesSaySo() async throws {
        let stage = try await SettingsStage()
        try await stage.open()
        try await stage.awaitLabel("No Apps Yet")
        try await stage.awaitLabel("An app is listed here once it has asked for a permission or used a device.")
        try await stage.press("History", role: "page tab")
        try await stage.awaitLabel("No History Yet")
        let complaints = await stage.complaints()
        #expect(complaints == [])
        await stage.end()
    }

    /// Without permd, the window says so and starts nothing by itself; its button starts permd through the bus.
    @Test func permdThatIsNotRunning() async throws {
        let stage = try await SettingsStage()
        try await stage.settings.set(.grant, app: "exe:/usr/bin/cheese", permission: .camera)
        await stage.permd.stop()
        try await stage.open()
        try await stage.awaitLabel("permd Is Not Running")
        try await stage.press("Start permd")
        // The bus cannot start it.
        try await stage.awaitLabel("permd Cannot Be Asked")
        try await stage.permd.start()
        try await stage.awaitLabel("Allowed: Camera · /usr/bin/cheese")
        await stage.permd.stop()
        try await stage.awaitLabel("permd Is Not Running")
        try await stage.allowActivation()
        try await stage.press("Start permd")
        try await stage.awaitLabel("Allowed: Camera · /usr/bin/cheese")
        await stage.end()
    }

    /// A second start opens the page of an app in the first window.
    @Test func thereIsOneInstance() async throws {
        let stage = try await SettingsStage()
        try await stage.open()
        try await stage.awaitLabel("No Apps Yet")
        for (arguments, complaint) in [
            (["--app", "nonsense"], "nonsense is not an app"), (["http://a"], "http://a is not a URL of this window"),
        ] {
            let wrong = try stage.start(arguments)
            var message = ""
            for await line in wrong.errorLines { message += line }
            #expect(await wrong.waitForExit() == .exited(64) && message.contains(complaint), "\(message)")
        }
        let second = try stage.start(["--app", "exe:/usr/bin/cheese"])
        #expect(await second.waitForExit() == .exited(0))
        try await stage.awaitLabel("exe:/usr/bin/cheese")
        try await stage.awaitLabel("It has not asked for anything yet.")
        let third = try stage.start(["permd:exe:/opt/a%20b"])
        #expect(await third.waitForExit() == .exited(0))
        try await stage.awaitLabel("exe:/opt/a b")
        await stage.end()
    }

    /// The desktop opens the window through the bus, as its entry says (DBusActivatable).
    @Test func theBusStartsIt() async throws {
        let stage = try await SettingsStage()
        try await stage.allowActivation(
            "org.permd.Settings", [BuiltProgram.path("permd-settings"), "--gapplication-service"])
        let desk = try stage.permd.bus.connect()
        _ = try await desk.call(
            .call(
                destination: "org.permd.Settings", path: "/org/permd/Settings",
                interface: "org.freedesktop.Application", member: "Activate", [.properties([:])]))
        try await stage.awaitLabel("No Apps Yet")
        // As prompts do; what is no app opens none.
        for app in ["nonsense", "exe:/usr/bin/cheese"] {
            _ = try await desk.call(
                .call(
                    destination: "org.permd.Settings", path: "/org/permd/Settings",
                    interface: "org.freedesktop.Application", member: "ActivateAction",
                    [
                        .string("app"), .array(of: "v", [.variant(.string(app))]), .properties([:]),
                    ]))
        }
        try await stage.awaitLabel("exe:/usr/bin/cheese")
        // As desktops do with a URL.
        _ = try await desk.call(
            .call(
                destination: "org.permd.Settings", path: "/org/permd/Settings",
                interface: "org.freedesktop.Application", member: "Open",
                [.array(of: "s", [.string("permd:flatpak:org.example.Call")]), .properties([:])]))
        try await stage.awaitLabel("flatpak:org.example.Call · In a sandbox")
        desk.close()
        // The program is not a child of the test, which ends it by its key.
        try await stage.key("ctrl+q")
        try await stage.until("the end of the window") { try await stage.window() == nil }
        await stage.end()
    }

    @Test func withoutADisplay() async throws {
        let stage = try await SettingsStage()
        let program = try stage.start([], in: stage.permd.environment)
        var message = ""
        for await line in program.errorLines { message += line }
        #expect(await program.waitForExit() == .exited(69) && message.contains("there is no display"))
        await stage.end()
    }

    @Test(arguments: [("de", "Erlaubt: Kamera · /usr/bin/cheese"), ("ja", "許可: カメラ · /usr/bin/cheese")])
    func otherLanguages(_ language: String, _ text: String) async throws {
        let translation = try await Translation(language)
        let stage = try await SettingsStage(environment: translation.environment)
        try await stage.settings.set(.grant, app: "exe:/usr/bin/cheese", permission: .camera)
        try await stage.open()
        try await stage.awaitLabel(text)
        withExtendedLifetime(translation) {}
        await stage.end()
    }

    /// With 10,000 decisions, and as many rows of the history, the window has the list, and shows a change.
    @Test func tenThousandDecisions() async throws {
        let stage = try await SettingsStage()
        let desk = try stage.permd.bus.connect()
        let stored = EventLog<Void>()
        for number in 0..<10_000 {
            let app = "exe:/usr/bin/app\(10_000 + number)"
            desk.call(
                .call(
                    destination: BusNames.service, path: BusNames.root, interface: BusNames.policy,
                    member: "SetDecision",
                    [.string(app), .string("camera"), .string("grant"), .properties([:])])
            ) { _ in stored.add(()) }
            // permd refuses calls beyond what one caller may have waiting.
            if number % 100 == 99 { try await stored.wait(for: number + 1) }
        }
        desk.close()
        try await stage.open()
        try await stage.awaitLabel("app10000")
        try await stage.settings.set(.deny, app: "exe:/usr/bin/app10000", permission: .location)
        try await stage.awaitLabel("Allowed: Camera · Not allowed: Location · /usr/bin/app10000")
        await stage.end()
    }
}
