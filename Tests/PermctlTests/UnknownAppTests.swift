// Apps that permd has not seen yet, and decisions that a rule overrides.

import DBus
import PermissionModel
import PermissionTestKit
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct UnknownAppTests {
    /// A home with desktop entries, as packages, flatpak and snap install them.
    private func home() throws -> TemporaryFolder {
        let home = try TemporaryFolder([
            "share", "share/applications", "share/flatpak", "share/flatpak/exports", "share/flatpak/exports/share",
            "share/flatpak/exports/share/applications", "bin",
        ])
        func entry(_ path: String, _ lines: String...) throws {
            try home.write("[Desktop Entry]\n" + lines.joined(separator: "\n") + "\n", to: path)
        }
        let flatpaks = "share/flatpak/exports/share/applications"
        try entry(
            "\(flatpaks)/org.mozilla.firefox.desktop", "Name=Firefox", "Exec=/usr/bin/flatpak run org.mozilla.firefox",
            "X-Flatpak=org.mozilla.firefox")
        try entry("share/applications/webfox_webfox.desktop", "Name=Webfox", "X-SnapInstanceName=webfox")
        try entry("share/applications/firefox-esr.desktop", "Name=Firefox ESR", "Exec=foxprogram %u")
        try entry("share/applications/firefox-old.desktop", "Name=Old", "Exec=foxprogram", "NoDisplay=true")
        return home
    }

    private func environment(_ home: TemporaryFolder) -> [String: String] {
        ["XDG_DATA_HOME": home.file("share"), "XDG_DATA_DIRS": "/nonexistent", "PATH": home.file("bin")]
    }

    @Test func installedAppsAreOffered() async throws {
        let stage = try await CommandStage()
        let home = try home()
        try await BuiltProgram.copy("permd-testapp", to: home.file("bin/foxprogram"))
        for verb in ["deny", "grant"] {
            let result = try await stage.run(verb, "firefox", "camera", environment: environment(home))
            #expect(result.status == 1 && result.output.isEmpty)
            let lines = result.errors.split(separator: "\n").map { $0.split(separator: " ", maxSplits: 1) }
            #expect(lines[0][0] == "permctl:" && lines[0][1].contains("full identity"))
            #expect(
                lines.dropFirst().map { $0[0] } == [
                    "flatpak:org.mozilla.firefox", "exe:\(home.file("bin/foxprogram"))",
                ], "\(result.errors)")
            #expect(lines[1][1].hasSuffix("  Firefox"))
        }
        let snap = try await stage.run("deny", "WEBFOX", "camera", environment: environment(home))
        #expect(snap.errors.contains("snap:webfox"))
        let path = try await stage.run("deny", home.file("bin/foxprogram"), "camera", environment: environment(home))
        #expect(path.errors.contains("  exe:\(home.file("bin/foxprogram"))\n"))
        let nothing = try await stage.run("deny", "no-such-app", "camera", environment: environment(home))
        #expect(nothing.status == 1 && nothing.errors.contains("flatpak:ID, snap:NAME or exe:/path"))
        // Once permd knows the app, its name is enough.
        _ = try await stage.run("deny", "flatpak:org.mozilla.firefox", "camera")
        #expect(try await stage.run("deny", "firefox", "camera", environment: environment(home)).status == 0)
        await stage.end()
    }

    @Test func wrongIdentitiesAreExplained() async throws {
        let stage = try await CommandStage()
        for (text, why) in [
            ("exe:relative", "absolute path"), ("flatpak:a/b", "flatpak list"), ("snap:", "snap list"),
        ] {
            let result = try await stage.run("deny", text, "camera")
            #expect(result.status == 1 && result.errors.contains("“\(text)” is not an app's identity"))
            #expect(result.errors.contains(why), "\(result.errors)")
        }
        await stage.end()
    }

    @Test func aGrantThatARuleForbidsIsPointedOut() async throws {
        let rule = "[Rule no-maps]\nApps=exe:*/maps\nPermissions=location\nAction=restrict\n"
        let stage = try await CommandStage(rules: ["10-a.conf": rule])
        let granted = try await stage.run("grant", "exe:/usr/bin/maps", "location")
        #expect(
            granted.status == 0
                && granted.output
                    == "location is granted to exe:/usr/bin/maps: always\nto undo: permctl reset exe:/usr/bin/maps location\n"
        )
        #expect(granted.errors.contains("does not help yet") && granted.errors.contains("no-maps ("))
        let json = try await stage.run("grant", "exe:/usr/bin/maps", "location", "--json")
        #expect(json.output.hasPrefix("[") && json.errors.contains("does not help yet"))
        for (verb, app, permission) in [
            ("grant", "exe:/usr/bin/maps", "camera"), ("grant", "exe:/usr/bin/other", "location"),
            ("deny", "exe:/usr/bin/maps", "location"),
        ] {
            #expect(try await stage.run(verb, app, permission).errors.isEmpty, "\(verb) \(app) \(permission)")
        }
        await stage.end()
    }
}
