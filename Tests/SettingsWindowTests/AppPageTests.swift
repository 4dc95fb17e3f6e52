// The list of apps and the page of an app: decisions are shown, changed, undone and forgotten.

import DBus
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
        try await bench.click("Don't Allow")
        try await bench.awaitDecision(AppPageTests.app, .camera, "deny always")
        try await bench.awaitLabel("cheese: Camera is now “Don't Allow”")
        try await bench.click("Undo")
        try await bench.awaitDecision(AppPageTests.app, .camera, "grant always")
        // What another program changes is shown at once.
        try await bench.settings.set(.deny, app: AppPageTests.app, permission: .location)
        try await bench.awaitLabel("Don't Allow")
        try await bench.click("Back", role: "button")
        try await bench.awaitLabel("Allowed: Camera · Not allowed: Location · /usr/bin/cheese")
        #expect(await bench.complaints() == [])
        await bench.end()
    }
}
