// The window in different themes.

import DBus
import PermissionModel
import PermissionTestKit
import Testing

@Suite(.timeLimit(.minutes(5)), .serialized)
@LoopActor
struct ThemeTests {
    /// A third-party theme, with a background that is easy to see.
    private static let foreign = "window { background-color: #ff0000; } button { background-image: none; }"

    @Test(arguments: [
        ("", ""), ("gtk-theme-name=Adwaita", ""), ("gtk-application-prefer-dark-theme=1", ""),
        ("gtk-theme-name=HighContrast", ""), ("gtk-theme-name=Foreign", ""), ("gtk-theme-name=Missing", ""),
        ("", "Adwaita:dark"),
    ])
    func aPromptIsAnsweredInAnyTheme(_ settings: String, _ chosen: String) async throws {
        let folder = try TemporaryFolder([
            "config", "config/gtk-4.0", "data", "data/themes", "data/themes/Foreign", "data/themes/Foreign/gtk-4.0",
        ])
        try folder.write("[Settings]\n\(settings)\n", to: "config/gtk-4.0/settings.ini")
        try folder.write(ThemeTests.foreign, to: "data/themes/Foreign/gtk-4.0/gtk.css")
        let bench = try await WindowBench(environment: [
            "XDG_CONFIG_HOME": folder.file("config"), "XDG_DATA_HOME": folder.file("data"), "GTK_THEME": chosen,
        ])
        try await bench.startAgent()
        let app = try await TestApp("app", on: bench.permd)
        try await app.request("t", [.camera, .microphone], "explain")
        try await bench.click("Don't allow")
        #expect(try await app.response("t") == "0 refused=camera statuses=camera=denied microphone=denied")
        // GTK reports errors in style sheets on stderr.
        let complaints = await bench.complaints()
        #expect(complaints.isEmpty)
        await bench.end()
    }
}
