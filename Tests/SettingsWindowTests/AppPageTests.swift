// The list of apps and the page of an app: decisions are shown, changed, undone and forgotten.

import DBus
import Foundation
import PermissionClient
import PermissionTestKit
import Testing

@Suite(.timeLimit(.minutes(5)), .serialized)
@LoopActor
struct AppPageTests {
    private static let app = "exe:/usr/bin/cheese"

    @Test func aDecisionIsShownChangedAndUndone() async throws {
        let bench = try await SettingsBench()
        try await bench.settings.set(.grant, app: AppPageTests.app, permission: .camera)
        try await bench.open()
        try await bench.awaitLabel("Allowed: Camera · /usr/bin/cheese")
        try await bench.click("cheese")
        try await bench.awaitLabel(AppPageTests.app)
        // The row shows what is decided; a click opens the list of choices.
        try await bench.click("Allow")
        try await bench.choose("Don't Allow")
        try await bench.awaitDecision(AppPageTests.app, .camera, "deny always")
        try await bench.awaitLabel("cheese: Camera is now “Don't Allow”")
        try await bench.press("Undo")
        try await bench.awaitDecision(AppPageTests.app, .camera, "grant always")
        // What another program changes is shown at once.
        try await bench.settings.set(.deny, app: AppPageTests.app, permission: .location)
        try await bench.awaitLabel("Don't Allow")
        try await bench.press("Back")
        try await bench.awaitLabel("Allowed: Camera · Not allowed: Location · /usr/bin/cheese")
        #expect(await bench.complaints() == [])
        await bench.end()
    }

    /// The first choice by the keyboard alone, and every other.
    @Test func everyChoice() async throws {
        let bench = try await SettingsBench()
        try await bench.open("--app", AppPageTests.app)
        try await bench.awaitLabel(AppPageTests.app)
        try await bench.until("the row Camera with the focus") {
            if try await bench.hasFocus("Camera") { return true }
            try await bench.key("Tab")
            return false
        }
        try await bench.key("space")
        for (choice, stored) in [
            ("Allow Until I Log Out", "grant session"), ("Allow for One Hour", "grant until"), ("Ask", nil),
            ("Allow Until Tomorrow", "grant until"), ("Allow", "grant always"), ("Don't Allow", "deny always"),
        ] {
            try await bench.choose(choice)
            try await bench.awaitDecision(AppPageTests.app, .camera, stored)
            // The choices of the row differ while a decision with an end is in force.
            try await bench.until("the end of the decision on the page") {
                try await bench.labels().contains { $0.hasPrefix("Until ") } == (stored == "grant until")
            }
            if choice != "Don't Allow" { try await bench.click("Camera", role: "combo box") }
        }
        try await bench.awaitLabel("cheese: Camera is now “Don't Allow”")
        try await bench.key("ctrl+z")
        try await bench.awaitDecision(AppPageTests.app, .camera, "grant always")
        try await bench.key("Escape")
        try await bench.awaitLabel("In Use Now")
        await bench.end()
    }

    @Test func forgettingAnApp() async throws {
        let bench = try await SettingsBench()
        try await bench.settings.set(.grant, app: AppPageTests.app, permission: .camera, duration: .session)
        try await bench.settings.set(.deny, app: AppPageTests.app, permission: .microphone)
        try await bench.open("--app", AppPageTests.app)
        try await bench.press("Forget This App")
        try await bench.awaitDecision(AppPageTests.app, .camera, nil)
        try await bench.awaitDecision(AppPageTests.app, .microphone, nil)
        try await bench.awaitLabel("cheese is forgotten and will ask again")
        try await bench.press("Undo")
        try await bench.awaitDecision(AppPageTests.app, .camera, "grant session")
        try await bench.awaitDecision(AppPageTests.app, .microphone, "deny always")
        await bench.end()
    }

    /// A restriction is greyed out with the rule; what a rule grants can only be refused.
    @Test func administratorsRules() async throws {
        let rules = """
            [Rule office]
            Apps=exe:/usr/bin/cheese
            Permissions=camera
            Action=restrict
            [Rule maps]
            Apps=*
            Permissions=location
            Action=grant
            """
        let bench = try await SettingsBench(rules: ["50-office.conf": rules])
        try await bench.open("--app", AppPageTests.app)
        try await bench.awaitLabel("Forbidden by a Rule")
        try await bench.awaitLabel("the reason") {
            $0.hasPrefix("A rule of the administrator forbids it: office (") && $0.hasSuffix("/50-office.conf:1)")
        }
        let camera = try #require(try await bench.widgets().first { $0.role == "combo box" && $0.name == "Camera" })
        #expect(!camera.states.contains("sensitive"))
        try await bench.click("Allowed by a Rule")
        try await bench.choose("Don't Allow")
        try await bench.awaitDecision(AppPageTests.app, .location, "deny always")
        try await bench.press("Back")
        try await bench.press("Permissions", role: "page tab")
        try await bench.awaitLabel("The administrator forbids it: exe:/usr/bin/cheese")
        try await bench.awaitLabel("Front Camera")
        await bench.end()
    }

    /// Names that imitate markup or change the direction of text are shown as the characters that they are.
    @Test func hostileNames() async throws {
        let bench = try await SettingsBench()
        let name = "<b>Cheese</b> & <span size=\"900000\">\u{202E}&amp;"
        let shown = "<b>Cheese</b> & <span size=\"900000\">&amp;"
        let folder = "\(bench.permd.bus.directory)/data/applications"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try "[Desktop Entry]\nType=Application\nName=\(name)\nIcon=/etc/passwd\n".write(
            toFile: "\(folder)/evil.desktop", atomically: true, encoding: .utf8)
        try await bench.settings.set(.grant, app: "desktop:evil", permission: .camera)
        try await bench.open()
        try await bench.click(shown)
        try await bench.awaitLabel("desktop:evil")
        try await bench.click("Allow")
        try await bench.choose("Don't Allow")
        try await bench.awaitLabel("\(shown): Camera is now “Don't Allow”")
        // Pango would complain about invalid markup.
        #expect(await bench.complaints() == [])
        await bench.end()
    }
}
