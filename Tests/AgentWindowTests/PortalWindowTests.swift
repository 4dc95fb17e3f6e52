// Prompts for portal apps in the window: concurrent calls through the real portal, and a portal's choices.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15)), .serialized)
@LoopActor
struct PortalWindowTests {
    private static let backends = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "portal").path

    @Test func twoRealPortalCallsComeOneAfterTheOther() async throws {
        let stage = try await AgentStage()
        try await stage.startAgent()
        let portal = try await DesktopPortal(
            on: stage.permd, backends: PortalWindowTests.backends, environment: ["XDG_CURRENT_DESKTOP": "permd"])
        let first = try await TestApp.flatpak("org.example.First", on: stage.permd)
        let second = try await TestApp.flatpak("org.example.Second", on: stage.permd)
        #expect(try await first.ask("camera a").hasPrefix("ok"))
        #expect(try await second.ask("camera b").hasPrefix("ok"))
        var answered: [String] = []
        for _ in 0..<2 {
            // The window shows exactly one app, which has not been answered yet.
            var shown = ""
            try await stage.until("the next app") {
                let labels = try await stage.labels()
                let apps = ["First", "Second"].filter { name in labels.contains { $0.hasPrefix("org.example.\(name)") }
                }
                shown = apps.first ?? ""
                return apps.count == 1 && !answered.contains(shown)
            }
            answered.append(shown)
            try await stage.click("Allow this time")
            let app = shown == "First" ? (first, "a") : (second, "b")
            #expect(try await app.0.response(app.1) == "0 ")
        }
        try await stage.until("the window's end") { try await stage.window() == nil }
        await first.end()
        await second.end()
        await portal.end()
        await stage.end()
    }

    @Test func aPortalsChoicesAreShownAndSelected() async throws {
        let stage = try await AgentStage()
        try await stage.startAgent()
        let portal = try FakePortal(on: stage.permd.bus)
        let app = try stage.permd.bus.connect()
        let dialog = FakePortal.dialog(
            FakePortal.handle(app.uniqueName), icon: "applets-screenshooter-symbolic",
            title: "Allow a %n screenshot?", subtitle: "To show <b>it</b>", body: "The portal keeps this.",
            options: [
                "grant_label": .string("Take It"), "deny_label": .string("Never"),
                "choices": FakePortal.choices([
                    ("area", "How much", [("window", "The window"), ("all", "Everything")], "window"),
                    ("pointer", "With the pointer", [], "false"),
                ]),
            ])
        let asking = Task { await portal.ask(dialog) }
        _ = try await stage.awake("Take It")
        let labels = try await stage.labels()
        for text in [
            "Allow a %n screenshot?", "“To show <b>it</b> The portal keeps this.”", "How much",
        ] { #expect(labels.contains(text), "\(text) is not in \(labels)") }
        let buttons = try await stage.widgets().filter { $0.role == "button" }.map(\.name)
        #expect(buttons == ["Details", "Take It", "Never", "Not now"])
        try await stage.click("Everything", role: "radio button")
        try await stage.click("With the pointer", role: "check box")
        try await stage.click("Take It")
        #expect(await asking.value == "0 area=all pointer=true")
        portal.end()
        app.close()
        await stage.end()
    }
}
