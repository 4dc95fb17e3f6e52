// Apps that permd has not seen yet, and decisions that a rule overrides.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import System
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

    @Test func installedAppsHaveNames() async throws {
        let stage = try await CommandStage()
        let home = try home()
        try await BuiltProgram.copy("permd-testapp", to: home.file("bin/foxprogram"))
        let fox = "exe:\(home.file("bin/foxprogram"))"
        let several = try await stage.run("allow", "fox", "camera", environment: environment(home))
        #expect(several.status == 64 && several.output.isEmpty)
        let lines = several.errors.split(separator: "\n").map { $0.split(separator: " ", maxSplits: 1) }
        #expect(lines[0][1].contains("matches several apps"))
        #expect(
            Set(lines.dropFirst().map { $0[0] }) == ["flatpak:org.mozilla.firefox", "snap:webfox", fox[...]],
            "\(several.errors)")
        #expect(lines.contains { $0[1].hasSuffix("  Firefox") })
        for (name, app) in [
            ("firefox", "flatpak:org.mozilla.firefox"), ("WEBFOX", "snap:webfox"), ("Firefox ESR", fox),
            ("foxprogram", fox), (home.file("bin/foxprogram"), fox), ("mozilla", "flatpak:org.mozilla.firefox"),
        ] {
            let result = try await stage.run("deny", name, "camera", "--for", "2h", environment: environment(home))
            #expect(result.status == 0 && result.output.hasPrefix("camera is denied to \(app): until "), "\(result)")
            #expect(try await stage.run("reset", app).status == 0)
        }
        let nothing = try await stage.run("deny", "no-such-app", "camera", environment: environment(home))
        #expect(nothing.status == 1 && nothing.errors.contains("flatpak:ID, snap:NAME or exe:/path"))
        // One that permd knows has precedence over others of its name, and its whole name over parts.
        #expect(try await stage.run("allow", "exe:/opt/nightly/fox", "camera").status == 0)
        let known = try await stage.run("deny", "fox", "camera", environment: environment(home))
        #expect(known.output.hasPrefix("camera is denied to exe:/opt/nightly/fox: always"))
        await stage.end()
    }

    /// Like the kernel, which gives an interpreter its script; a shell's script starts a program with another identity.
    @Test func pathsOfScripts() async throws {
        let stage = try await CommandStage()
        let home = try home()
        func script(_ name: String, _ interpreter: String) throws {
            #expect(chmod(try home.write("#!\(interpreter)\n", to: "bin/\(name)"), 0o755) == 0)
        }
        let python = try #require(Folders.realPath("/usr/bin/python3")).map { Character(Unicode.Scalar($0)) }
        for (name, interpreter) in [("caller", "/usr/bin/python3 -s"), ("recorder", "/usr/bin/env -S python3")] {
            try script(name, interpreter)
            let environment = environment(home).merging(["PATH": "\(home.file("bin")):/usr/bin"]) { $1 }
            let result = try await stage.run("deny", home.file("bin/\(name)"), "camera", environment: environment)
            #expect(
                result.output.hasPrefix("camera is denied to exe:\(String(python)):\(home.file("bin/\(name)")): "),
                "\(result)")
        }
        try script("foxprogram", "/bin/sh")
        let path = home.file("bin/foxprogram")
        let unknown = try await stage.run("deny", path, "camera", environment: environment(home))
        #expect(unknown.status == 1 && unknown.errors.contains("is a script, and the program that it starts"))
        let lib = try TemporaryFolder()
        try await BuiltProgram.copy("permd-testapp", to: lib.file("foxprogram"))
        try home.write(
            "[Desktop Entry]\nName=Fox\nExec=\(lib.file("foxprogram"))\n", to: "share/applications/fox.desktop")
        let started = try await stage.run("deny", path, "camera", environment: environment(home))
        #expect(started.output.hasPrefix("camera is denied to exe:\(lib.file("foxprogram")): always"), "\(started)")
        #expect(started.errors == "\(path) is a script, which starts exe:\(lib.file("foxprogram"))\n")
        // Its identity is possible, and counts for no program.
        let vain = try await stage.run("deny", "exe:\(path)", "camera")
        #expect(vain.status == 0 && vain.errors.contains("has an identity of its own, which counts"))
        try home.write("", to: "bin/nothing")
        let nothing = try await stage.run("deny", home.file("bin/nothing"), "camera", environment: environment(home))
        #expect(nothing.status == 1 && nothing.errors.contains("is no program"))
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
