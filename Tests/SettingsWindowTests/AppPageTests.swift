// The list of apps and the page of an app: decisions are shown, changed, undone and forgotten.

import DBus
import Foundation
import PermissionClient
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15)), .serialized)
@LoopActor
struct AppPageTests {
    private static let app = "exe:/usr/bin/cheese"

    @Test func aDecisionIsShownChangedAndUndone() async throws {
        let stage = try await SettingsStage()
        try await stage.settings.set(.grant, app: AppPageTests.app, permission: .camera)
        try await stage.open()
        try await stage.awaitLabel("Allowed: Camera · /usr/bin/cheese")
        try await stage.click("cheese")
        try await stage.awaitLabel(AppPageTests.app)
        // The row shows what is decided; a click opens the list of choices.
        try await stage.click("Always allow")
        try await stage.choose("Never allow")
        // The message comes when permd has stored the change, and stays for 15 seconds.
        try await stage.awaitLabel("cheese: Camera is now “Never allow”")
        #expect(try await stage.decision(AppPageTests.app, .camera) == "deny always")
        try await stage.press("Undo")
        try await stage.awaitDecision(AppPageTests.app, .camera, "grant always")
        // What another program changes is shown at once.
        try await stage.settings.set(.deny, app: AppPageTests.app, permission: .location)
        try await stage.awaitLabel("Never allow")
        try await stage.press("Back")
        try await stage.awaitLabel("Allowed: Camera · Not allowed: Location · /usr/bin/cheese")
        let complaints = await stage.complaints()
        #expect(complaints == [])
        await stage.end()
    }

    /// The first choice by the keyboard alone, and every other.
    @Test func everyChoice() async throws {
        let stage = try await SettingsStage()
        try await stage.open("--app", AppPageTests.app)
        try await stage.awaitLabel(AppPageTests.app)
        try await stage.until("the row Camera with the focus") {
            if try await stage.hasFocus("Camera") { return true }
            try await stage.key("Tab")
            return false
        }
        try await stage.key("space")
        for (choice, stored) in [
            ("Allow until I log out", "grant session"), ("Allow for one hour", "grant until"), ("Ask", nil),
            ("Allow until tomorrow", "grant until"), ("Always allow", "grant always"), ("Never allow", "deny always"),
        ] {
            try await stage.choose(choice)
            try await stage.awaitDecision(AppPageTests.app, .camera, stored)
            // The choices of the row differ while a decision with an end is in force.
            try await stage.until("the end of the decision on the page") {
                try await stage.labels().contains { $0.hasPrefix("Until ") } == (stored == "grant until")
            }
            if choice != "Never allow" { try await stage.click("Camera", role: "combo box") }
        }
        try await stage.awaitLabel("cheese: Camera is now “Never allow”")
        try await stage.key("ctrl+z")
        try await stage.awaitDecision(AppPageTests.app, .camera, "grant always")
        try await stage.key("Escape")
        try await stage.awaitLabel("In Use Now")
        await stage.end()
    }

    @Test func forgettingAnApp() async throws {
        let stage = try await SettingsStage()
        try await stage.settings.set(.grant, app: AppPageTests.app, permission: .camera, duration: .session)
        try await stage.settings.set(.deny, app: AppPageTests.app, permission: .microphone)
        try await stage.open("--app", AppPageTests.app)
        try await stage.press("Forget This App")
        try await stage.awaitDecision(AppPageTests.app, .camera, nil)
        try await stage.awaitDecision(AppPageTests.app, .microphone, nil)
        try await stage.awaitLabel("cheese is forgotten and will ask again")
        // Unlike the button, which is gone after 15 seconds, the keys go on.
        try await stage.key("ctrl+z")
        try await stage.awaitDecision(AppPageTests.app, .camera, "grant session")
        try await stage.awaitDecision(AppPageTests.app, .microphone, "deny always")
        await stage.end()
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
        let stage = try await SettingsStage(rules: ["50-office.conf": rules])
        try await stage.open("--app", AppPageTests.app)
        try await stage.awaitLabel("Forbidden by a Rule")
        try await stage.awaitLabel("the reason") {
            $0.hasPrefix("A rule of the administrator forbids it: office (") && $0.hasSuffix("/50-office.conf:1)")
        }
        let camera = try #require(try await stage.widgets().first { $0.role == "combo box" && $0.name == "Camera" })
        #expect(!camera.states.contains("sensitive"))
        try await stage.click("Allowed by a Rule")
        try await stage.choose("Never allow")
        try await stage.awaitDecision(AppPageTests.app, .location, "deny always")
        try await stage.press("Back")
        try await stage.press("Permissions", role: "page tab")
        try await stage.awaitLabel("The administrator forbids it: exe:/usr/bin/cheese")
        try await stage.awaitLabel("Front Camera")
        await stage.end()
    }

    /// Names that imitate markup or change the direction of text are shown as the characters that they are.
    @Test func hostileNames() async throws {
        let stage = try await SettingsStage()
        let name = "<b>Cheese</b> & <span size=\"900000\">\u{202E}&amp;"
        let shown = "<b>Cheese</b> & <span size=\"900000\">&amp;"
        let folder = "\(stage.permd.bus.directory)/data/applications"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try "[Desktop Entry]\nType=Application\nName=\(name)\nExec=/usr/bin/true\nIcon=/etc/passwd\n".write(
            toFile: "\(folder)/evil.desktop", atomically: true, encoding: .utf8)
        let app = AppID.executable(URL(filePath: "/usr/bin/true").resolvingSymlinksInPath().path.utf8)
        try await stage.settings.set(.grant, app: app.description, permission: .camera)
        try await stage.open()
        try await stage.click(shown)
        try await stage.awaitLabel(app.description)
        try await stage.click("Always allow")
        try await stage.choose("Never allow")
        try await stage.awaitLabel("\(shown): Camera is now “Never allow”")
        // Pango would complain about invalid markup.
        let complaints = await stage.complaints()
        #expect(complaints == [])
        await stage.end()
    }
}
