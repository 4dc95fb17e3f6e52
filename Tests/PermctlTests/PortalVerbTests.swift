// permctl portal: what it writes for which version of xdg-desktop-portal, and that it undoes exactly that.

import DBus
import Foundation
import PermissionTestKit
import TestSupport
import Testing

/// An installation of xdg-desktop-portal under a prefix of its own, and a home. A script prints the version.
struct PortalPlace {
    private static let project = #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }

    let folder: TemporaryFolder
    var desktop = "GNOME"

    init(version: String) throws {
        folder = try TemporaryFolder([
            "bin", "usr", "usr/libexec", "usr/share", "usr/share/dbus-1", "usr/share/dbus-1/services",
            "usr/share/xdg-desktop-portal", "usr/share/xdg-desktop-portal/portals", "config", "data",
        ])
        try script("usr/libexec/xdg-desktop-portal", "echo \"xdg-desktop-portal \(version)\"")
        try script("bin/systemctl", "echo \"$*\" >>'\(folder.file("systemctl-calls"))'")
        try folder.write(
            "[D-BUS Service]\nName=org.freedesktop.portal.Desktop\nExec=\(folder.file("usr/libexec/xdg-desktop-portal"))\n",
            to: "usr/share/dbus-1/services/org.freedesktop.portal.Desktop.service")
        try folder.write(
            String(contentsOfFile: "\(PortalPlace.project)/portal/permd.portal", encoding: .utf8),
            to: "usr/share/xdg-desktop-portal/portals/permd.portal")
    }

    func script(_ path: String, _ line: String) throws {
        let file = try folder.write("#!/bin/sh\n\(line)\n", to: path)
        chmod(file, 0o755)
    }

    var environment: [String: String] {
        [
            "XDG_CONFIG_HOME": folder.file("config"), "XDG_DATA_HOME": folder.file("data"),
            "XDG_DATA_DIRS": folder.file("usr/share"), "XDG_CONFIG_DIRS": folder.file("etc/xdg"),
            "XDG_CURRENT_DESKTOP": desktop, "PATH": "\(folder.file("bin")):/usr/bin:/bin",
            "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent",
        ]
    }

    /// Runs `permctl portal` and returns its exit status and all its output.
    func run(_ arguments: String...) async throws -> (status: Int32, text: String) {
        let child = try ChildProcess(
            "sh", ["-c", "exec \"$0\" portal \"$@\" 2>&1", BuiltProgram.path("permctl")] + arguments,
            environment: environment)
        let text = await child.output()
        guard case .exited(let status) = await child.waitForExit() else { throw TestKitError("killed: \(text)") }
        return (status, text)
    }

    func isEnabled() async throws -> Bool {
        let result = try await run("status", "--json")
        let record = try JSONSerialization.jsonObject(with: Data(result.text.utf8)) as? [String: Any]
        let enabled = try #require(record?["enabled"] as? Bool)
        #expect(result.status == (enabled ? 0 : 1))
        return enabled
    }

    /// The paths and contents of all files of the user's configuration.
    func files() throws -> [String: Data] {
        let root = folder.file("config")
        var files: [String: Data] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: root) {
            files[name] = FileManager.default.contents(atPath: "\(root)/\(name)")
        }
        return files
    }

    func write(_ text: String, to path: String) throws {
        let file = URL(filePath: folder.file(path))
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }

    func text(_ path: String) -> String? { try? String(contentsOfFile: folder.file(path), encoding: .utf8) }
}

@Suite(.timeLimit(.minutes(3)))
struct PortalVerbTests {
    private static let access = "org.freedesktop.impl.portal.Access"
    private static let dropIn = "systemd/user/xdg-desktop-portal.service.d/permd.conf"
    private static let versions = ["1.16.0", "1.17.2", "1.18.4", "1.20.3", "1.21.1", "1.22.0"]

    /// Enabling twice is like enabling once, and disabling restores every byte.
    @Test(
        arguments: versions,
        [
            nil, "", "[preferred]\ndefault=gnome;gtk;\n", "[preferred]\ndefault=gnome",
            "# mine\n\n[preferred]\r\ndefault=*\r\n",
            "[preferred]\n \(access) = gtk \ndefault=gnome\n\(access)=gnome\n\n[other]\n\(access)=kept\n",
            "[other]\nkey=value\n",
        ])
    func enablingIsUndoneExactly(_ version: String, _ content: String?) async throws {
        let place = try PortalPlace(version: version)
        let isOld = version == "1.16.0"
        let name = isOld ? PortalVerbTests.dropIn : "xdg-desktop-portal/gnome-portals.conf"
        if let content {
            try place.write(isOld ? content.replacing("[preferred]", with: "[Service]") : content, to: "config/\(name)")
        }
        let before = try place.files()
        #expect(try await !place.isEnabled())
        let enabled = try await place.run("enable")
        #expect(enabled.status == 0 && enabled.text.hasSuffix("portals ask through permd\n"), "\(enabled.text)")
        let changed = try place.files()
        #expect(changed != before)
        #expect(try await place.isEnabled())
        let again = try await place.run("enable")
        #expect(again.status == 0 && again.text == "portals already ask through permd; nothing was changed\n")
        #expect(try place.files() == changed)
        let disabled = try await place.run("disable")
        let verb = changed.count > before.count ? "removed " : "restored "
        #expect(disabled.status == 0 && disabled.text.hasPrefix(verb), "\(disabled.text)")
        #expect(try place.files() == before)
        #expect(try await !place.isEnabled())
        #expect(
            try await place.run("disable").text == "permctl has not enabled permd for portals; nothing was changed\n")
        let calls = place.text("systemctl-calls")?.split(separator: "\n") ?? []
        #expect(calls.filter { $0 == "--user try-restart xdg-desktop-portal.service" }.count == 2, "\(calls)")
    }

    /// Where only the first file counts, the user's gets the lines of the desktop's; later versions combine them.
    @Test func theDesktopsOwnLinesAreKept() async throws {
        for (version, name, keeps) in [
            ("1.18.4", "gnome-portals.conf", true), ("1.22.0", "portals.conf", false),
        ] {
            let place = try PortalPlace(version: version)
            try place.write(
                "[preferred]\ndefault=gnome\n\(PortalVerbTests.access)=gnome\norg.example.Other=x\n",
                to: "usr/share/xdg-desktop-portal/gnome-portals.conf")
            #expect(try await place.run("enable").status == 0)
            let lines = place.text("config/xdg-desktop-portal/\(name)")?.split(separator: "\n").map(String.init) ?? []
            #expect(lines.contains("default=gnome") == keeps && lines.contains("org.example.Other=x") == keeps)
            // Of two lines with the same key, the last one counts.
            #expect(lines.last { $0.hasPrefix(PortalVerbTests.access) } == "\(PortalVerbTests.access)=permd")
            #expect(try await place.run("disable").status == 0)
            #expect(try await !place.isEnabled())
        }
    }

    /// Lines that the user adds afterwards stay.
    @Test func laterChangesAreKept() async throws {
        let place = try PortalPlace(version: "1.18.4")
        #expect(try await place.run("enable", "--no-restart").status == 0)
        #expect(place.text("systemctl-calls") == nil)
        let path = "config/xdg-desktop-portal/portals.conf"
        let text = try #require(place.text(path))
        try place.write(text + "[preferred]\ndefault=kde\n", to: path)
        #expect(try await place.isEnabled())
        #expect(try await place.run("disable").status == 0)
        #expect(place.text(path) == "[preferred]\ndefault=kde\n")
    }

    /// permctl's drop-in follows the desktop, and comes after that of systemctl edit.
    @Test func olderPortalsGoByTheDesktopsName() async throws {
        var place = try PortalPlace(version: "1.16.0")
        let folder = "config/systemd/user/xdg-desktop-portal.service.d"
        try place.write("[Service]\nEnvironment=A=b \"XDG_CURRENT_DESKTOP=KDE\"\n", to: "\(folder)/override.conf")
        #expect(try await place.run("enable").status == 0)
        #expect(place.text("\(folder)/permd.conf")?.contains("\nEnvironment=XDG_CURRENT_DESKTOP=permd:GNOME\n") == true)
        place.desktop = "permd:XFCE"
        #expect(try await place.run("enable").status == 0)
        #expect(place.text("\(folder)/permd.conf")?.contains("\nEnvironment=XDG_CURRENT_DESKTOP=permd:XFCE\n") == true)
        place.desktop = "XFCE"
        #expect(try await place.run("enable").text.contains("nothing was changed"))
        #expect(try await place.run("disable").status == 0)
        #expect(try await !place.isEnabled())
        // A desktop that names permd itself is left alone.
        place.desktop = "permd:XFCE"
        #expect(try await place.isEnabled())
        #expect(try await place.run("enable").text.contains("nothing was changed"))
        let kept = try await place.run("disable")
        #expect(kept.status == 1 && kept.text.contains("the name of the desktop selects it"), "\(kept.text)")
    }

    @Test func filesThatCannotBeChangedAreLeftAlone() async throws {
        let place = try PortalPlace(version: "1.18.4")
        let folder = place.folder.file("config/xdg-desktop-portal")
        let file = "\(folder)/gnome-portals.conf"
        let target = place.folder.file("dotfiles.conf")
        try place.write("[preferred]\ndefault=gnome\n", to: "dotfiles.conf")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: target)
        let linked = try await place.run("enable")
        #expect(
            linked.status == 1
                && linked.text
                    == "permctl: \(file) is a symbolic link; permctl does not change what it points to; nothing was changed\n"
        )
        #expect(place.text("dotfiles.conf") == "[preferred]\ndefault=gnome\n")
        unlink(file)
        try place.write("[preferred]\ndefault=gnome\n", to: "usr/share/xdg-desktop-portal/gnome-portals.conf")
        mkfifo(file, 0o600)
        let fifo = try await place.run("enable")
        #expect(fifo.status == 1 && fifo.text.contains("\(file) is no regular file; nothing was changed"))
        unlink(file)
        rmdir(folder)
        try place.write("not a folder", to: "config/xdg-desktop-portal")
        let blocked = try await place.run("enable")
        #expect(blocked.status == 1 && blocked.text.contains("Not a directory"), "\(blocked.text)")
        #expect(place.text("config/xdg-desktop-portal") == "not a folder")
    }

    /// An administrator's file needs no file of the user.
    @Test func anAdministratorsFileIsEnough() async throws {
        let place = try PortalPlace(version: "1.18.4")
        try place.write("[preferred]\n\(PortalVerbTests.access)=permd\n", to: "etc/xdg/xdg-desktop-portal/portals.conf")
        #expect(try await place.isEnabled())
        #expect(try await place.run("enable").text.contains("nothing was changed"))
        let refused = try await place.run("disable")
        #expect(refused.status == 1 && refused.text.contains("portals.conf selects it, which permctl has not written"))
        #expect(try place.files().isEmpty)
    }

    /// Versions before 1.17 get a folder of their own if permd is installed elsewhere; later ones do not.
    @Test(arguments: ["1.16.0", "1.18.4", "1.20.1"])
    func permdMayBeInstalledInAHome(_ version: String) async throws {
        let place = try PortalPlace(version: version)
        let portals = "usr/share/xdg-desktop-portal/portals"
        let own = "data/xdg-desktop-portal/portals/permd.portal"
        try place.write(try #require(place.text("\(portals)/permd.portal")), to: own)
        unlink(place.folder.file("\(portals)/permd.portal"))
        try place.write("[portal]\n", to: "\(portals)/gnome.portal")
        let enabled = try await place.run("enable")
        if version == "1.18.4" {
            #expect(enabled.status == 1 && enabled.text.contains("permd.portal is missing"), "\(enabled.text)")
            #expect(try place.files().isEmpty)
            return
        }
        #expect(enabled.status == 0, "\(enabled.text)")
        #expect(try await place.isEnabled())
        if version == "1.16.0" {
            let unit = place.text("config/\(PortalVerbTests.dropIn)") ?? ""
            #expect(
                unit.contains("\nEnvironment=\"XDG_DESKTOP_PORTAL_DIR=\(place.folder.file("data/permd/portals"))\"\n"))
            #expect(unit.contains("XDG_CURRENT_DESKTOP=permd:GNOME"))
            #expect(place.text("data/permd/portals/gnome.portal") == "[portal]\n")
            // A backend that is installed later is added by the next run.
            try place.write("[portal]\n", to: "\(portals)/kde.portal")
            #expect(try await place.run("enable").text.contains("wrote "))
            #expect(place.text("data/permd/portals/kde.portal") == "[portal]\n")
            // After an upgrade, files count instead, and the drop-in would hide them.
            try place.script("usr/libexec/xdg-desktop-portal", "echo xdg-desktop-portal 1.20.3")
            #expect(try await !place.isEnabled())
            #expect(try await place.run("enable").status == 0)
            #expect(try await place.isEnabled())
        }
        #expect(place.text("config/\(PortalVerbTests.dropIn)") == nil)
        #expect(!FileManager.default.fileExists(atPath: place.folder.file("data/permd")))
        #expect(try await place.run("disable").status == 0)
        #expect(try place.files().isEmpty)
        #expect(try await !place.isEnabled())
    }

    @Test func missingPartsAreNamed() async throws {
        let place = try PortalPlace(version: "1.18.4")
        unlink(place.folder.file("usr/share/xdg-desktop-portal/portals/permd.portal"))
        #expect(try await place.run("enable").text.contains("permd.portal is missing"))
        #expect(try place.files().isEmpty)
        try place.script("usr/libexec/xdg-desktop-portal", "echo usage; exit 1")
        #expect(try await place.run("status").text.contains("version of "))
        unlink(place.folder.file("usr/share/dbus-1/services/org.freedesktop.portal.Desktop.service"))
        let absent = try await place.run("status")
        #expect(absent.status == 1 && absent.text.contains("xdg-desktop-portal is not installed"))
        #expect(try await place.run("disable").status == 0)
    }

    /// Over ssh, systemd may know the desktop; without it, what belongs to the desktop could be lost.
    @Test(arguments: ["1.16.0", "1.18.4"])
    func theDesktopMustBeKnown(_ version: String) async throws {
        var place = try PortalPlace(version: version)
        place.desktop = ""
        let unknown = try await place.run("enable")
        #expect(unknown.status == 1 && unknown.text.contains("the desktop is not known here"), "\(unknown.text)")
        #expect(try place.files().isEmpty)
        try place.script("bin/systemctl", "echo XDG_CURRENT_DESKTOP=KDE")
        try place.write("[preferred]\ndefault=kde\n", to: "usr/share/xdg-desktop-portal/kde-portals.conf")
        #expect(try await place.run("enable").status == 0)
        let texts = try place.files().values.map { String(decoding: $0, as: UTF8.self) }
        #expect(texts.count == 1 && texts[0].contains(version == "1.16.0" ? "permd:KDE" : "default=kde"), "\(texts)")
    }

    /// Without a user manager, the change takes effect later, and that is said.
    @Test func withoutSystemd() async throws {
        let place = try PortalPlace(version: "1.18.4")
        try place.script("bin/systemctl", "echo no bus; exit 1")
        let enabled = try await place.run("enable")
        #expect(enabled.status == 0 && enabled.text.contains("at the latest at the next login"))
        #expect(try await place.isEnabled())
    }
}

/// doctor's finding, and the installed xdg-desktop-portal, which does what permctl expects of it.
@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct PortalChoiceTests {
    @Test func doctorTellsWhetherPortalsComeThroughPermd() async throws {
        let place = try PortalPlace(version: "1.18.4")
        let stage = try await CommandStage()
        func finding() async throws -> String? {
            let environment = place.environment.filter { $0.key != "DBUS_SESSION_BUS_ADDRESS" }
            return try await stage.run("doctor", environment: environment).lines.first { $0.contains("  portals  ") }
        }
        let before = try await finding()
        #expect(before?.hasPrefix("--  portals") == true && before?.contains("permctl portal enable") == true)
        _ = try await place.run("enable")
        let enabled = try await finding()
        #expect(enabled?.hasPrefix("ok  portals") == true && enabled?.contains("portals.conf") == true)
        unlink(place.folder.file("usr/share/xdg-desktop-portal/portals/permd.portal"))
        #expect(try await finding()?.hasPrefix("!!  portals") == true)
        unlink(place.folder.file("usr/share/dbus-1/services/org.freedesktop.portal.Desktop.service"))
        #expect(try await finding()?.contains("is not installed") == true)
        await stage.end()
    }

    @Test func theInstalledPortalUsesWhatIsSelected() async throws {
        let real = try ChildProcess("/usr/libexec/xdg-desktop-portal", ["--version"])
        let version = try #require(await real.output().split(whereSeparator: \.isWhitespace).last.map(String.init))
        let place = try PortalPlace(version: version)
        let backends = place.folder.file("usr/share/xdg-desktop-portal/portals")
        try place.write(
            "[portal]\nDBusName=org.example.Other\nInterfaces=org.freedesktop.impl.portal.Access\nUseIn=gnome\n",
            to: "usr/share/xdg-desktop-portal/portals/other.portal")
        for (change, backend) in [("status", "other"), ("enable", "permd"), ("disable", "other")] {
            _ = try await place.run(change)
            let stage = try await CommandStage()
            var environment = ["XDG_CURRENT_DESKTOP": "GNOME"]
            let unit = place.text("config/systemd/user/xdg-desktop-portal.service.d/permd.conf") ?? ""
            if let line = unit.split(separator: "\n").first(where: { $0.hasPrefix("Environment=") }) {
                environment["XDG_CURRENT_DESKTOP"] = line.split(separator: "=").last.map(String.init)
            }
            // With a folder of backends of its own, the portal reads its configuration there, too.
            let copy = "usr/share/xdg-desktop-portal/portals/portals.conf"
            if let text = place.text("config/xdg-desktop-portal/portals.conf") {
                try place.write(text, to: copy)
            } else {
                unlink(place.folder.file(copy))
            }
            let portal = try await DesktopPortal(on: stage.permd, backends: backends, environment: environment)
            try await portal.log.first {
                $0.contains("Using \(backend).portal for org.freedesktop.impl.portal.Access")
                    || $0.contains("Choosing \(backend).portal for org.freedesktop.impl.portal.Access")
            }
            await portal.end()
            await stage.end()
        }
    }
}
