// scripts/install: which files it installs where, and that --uninstall removes exactly those.

import DBus
import Foundation
import PermissionTestKit
import Testing

@Suite(.serialized, .timeLimit(.minutes(3)))
struct InstallTests {
    /// The relative paths of all files and links under a folder.
    private static func tree(_ folder: String) throws -> Set<String> {
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder)
        return Set(
            try names.filter { name in
                let kind = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")[.type]
                return kind as? FileAttributeType != .typeDirectory
            })
    }

    private static func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    private static let hasPipeWire = FileManager.default.fileExists(atPath: BuiltProgram.path("permd-pipewire"))

    private static let hasGuard = FileManager.default.fileExists(atPath: BuiltProgram.path("permd-guard"))

    private static let hasSettings = FileManager.default.fileExists(atPath: BuiltProgram.path("permd-settings"))

    private static let hasAgent = FileManager.default.fileExists(atPath: BuiltProgram.path("permd-agent"))

    @Test(arguments: [
        ("/usr", "lib/systemd/user"), ("/usr/local", "lib/systemd/user"), ("/opt/permd", "share/systemd/user"),
    ])
    func everyFileIsInstalled(_ prefix: String, _ units: String) async throws {
        let root = try TemporaryFolder()
        try await Installer.install(["--prefix", prefix, "--destdir", root.path])
        let tree = try InstallTests.tree(root.path)
        var expected = [
            "bin/permctl", "libexec/permd", "libexec/permd-restart", "\(units)/permd.service",
            "share/dbus-1/services/org.permd.service",
            "share/dbus-1/services/org.freedesktop.impl.portal.desktop.permd.service",
            "share/dbus-1/interfaces/org.permd.Access1.xml", "share/xdg-desktop-portal/portals/permd.portal",
            "share/bash-completion/completions/permctl", "share/fish/vendor_completions.d/permctl.fish",
            "share/zsh/\(prefix == "/usr" ? "vendor-completions" : "site-functions")/_permctl",
            "share/doc/permd/examples/in_use.py", "share/doc/permd/examples/browser.c",
            "share/doc/permd/examples/50-office.conf", "share/doc/permd/examples/portals.conf",
            "share/doc/permd/docs/for-apps.md", "share/doc/permd/docs/threat-model.md",
            "share/locale/de/LC_MESSAGES/permd.mo", "share/locale/ja/LC_MESSAGES/permd.mo",
            "share/gnome-shell/extensions/permd@permd.org/metadata.json",
            "share/gnome-shell/extensions/permd@permd.org/extension.js",
            "share/permd/swift/Package.swift", "share/permd/swift/Sources/PermissionClient/PermissionCenter.swift",
            "share/permd/swift/Sources/PermissionTestKit/PermdProcess.swift", "libexec/permd-mockdevices",
        ]
        expected += ["man1/permctl.1", "man5/permd.conf.5", "man5/permd.policy.5", "man5/org.permd.5", "man8/permd.8"]
            .map { "share/man/\($0)" }
        expected += [
            "libexec/permd-indicator", "\(units)/permd-indicator.service",
            "share/dbus-1/services/org.permd.Indicator.service", "share/man/man1/permd-indicator.1",
        ]
        if InstallTests.hasAgent {
            expected += [
                "libexec/permd-agent", "\(units)/permd-agent.service", "share/dbus-1/services/org.permd.Agent.service",
                "share/man/man1/permd-agent.1", "share/applications/org.permd.Agent.desktop",
                "share/icons/hicolor/scalable/apps/org.permd.Agent.svg",
            ]
        }
        if InstallTests.hasSettings {
            expected += [
                "bin/permd-settings", "share/applications/org.permd.Settings.desktop",
                "share/dbus-1/services/org.permd.Settings.service", "share/man/man1/permd-settings.1",
                "share/metainfo/org.permd.Settings.metainfo.xml",
                "share/icons/hicolor/scalable/apps/org.permd.Settings.svg",
                "share/icons/hicolor/symbolic/apps/org.permd.Settings-symbolic.svg",
            ]
        }
        if InstallTests.hasPipeWire {
            expected += [
                "libexec/permd-pipewire", "\(units)/permd-pipewire.service", "share/man/man1/permd-pipewire.1",
                "share/wireplumber/scripts/permd/capture.lua", "share/wireplumber/main.lua.d/60-permd.lua",
                "share/wireplumber/scripts/lib/permd/marks.lua", "share/wireplumber/scripts/lib/permd/rights.lua",
                "share/wireplumber/wireplumber.conf.d/50-permd.conf",
            ]
        }
        // A service of the system, whose rights on the system bus and settings are read only there.
        let guards = InstallTests.hasGuard && prefix == "/usr"
        if guards {
            expected += [
                "libexec/permd-guard", "lib/permd/guard.bpf.o", "lib/systemd/system/permd-guard.service",
                "share/dbus-1/system.d/org.permd.Guard.conf", "share/man/man8/permd-guard.8",
                "lib/permd/permd.conf.d/50-guard.conf", "lib/permd/policy.d/50-guard.conf",
            ]
        }
        if prefix == "/usr" {
            expected += [
                "libexec/permd-gate", "lib/systemd/system/permd-gate-bluez.socket",
                "lib/systemd/system/permd-gate-geoclue.service",
                "lib/systemd/system/bluetooth.service.d/50-permd-gate.conf",
                "share/dbus-1/system.d/org.permd.Gate.conf", "share/man/man8/permd-gate.8",
                "lib/permd/permd.conf.d/50-gate.conf", "lib/permd/policy.d/50-gate.conf",
            ]
        }
        for name in expected { #expect(tree.contains("\(prefix.dropFirst())/\(name)"), "\(name)") }
        // The only files outside the prefix enable the units; no desktop's portals.conf is installed.
        let elsewhere = tree.filter { !$0.hasPrefix("\(prefix.dropFirst())/") }
        var links = ["etc/systemd/user/default.target.wants/permd.service"]
        if InstallTests.hasPipeWire { links.append("etc/systemd/user/pipewire.service.wants/permd-pipewire.service") }
        if guards { links.append("etc/systemd/system/multi-user.target.wants/permd-guard.service") }
        #expect(elsewhere == Set(links))
        #expect(!tree.contains { $0.hasSuffix("xdg-desktop-portal/portals.conf") })
        for link in links {
            let unit = try #require(link.split(separator: "/").last)
            let folder = unit == "permd-guard.service" ? "lib/systemd/system" : units
            #expect(
                try FileManager.default.destinationOfSymbolicLink(atPath: root.file(link))
                    == "\(prefix)/\(folder)/\(unit)")
        }

        // Every unit and activation file starts an installed program.
        for name in tree
        where [".service", ".desktop"].contains(where: name.hasSuffix) && !elsewhere.contains(name) {
            let start = try #require(
                try InstallTests.text(root.file(name)).split(separator: "\n").first {
                    $0.hasPrefix("Exec=") || $0.hasPrefix("ExecStart=")
                })
            let program = start.drop { $0 != "/" }.prefix { $0 != " " }
            let isInPlace = ["libexec", "bin"].contains { program.hasPrefix("\(prefix)/\($0)/") }
            #expect(isInPlace, "\(name): \(start)")
            #expect(FileManager.default.isExecutableFile(atPath: root.path + program), "\(name): \(start)")
        }
        for name in expected where name.contains("permctl") && name.contains("complet") {
            #expect(try InstallTests.text(root.file("\(prefix.dropFirst())/\(name)")).contains("monitor"), "\(name)")
        }
    }

    @Test func uninstallLeavesOtherFilesAlone() async throws {
        let root = try TemporaryFolder(["usr", "usr/share", "usr/share/man", "home"])
        try root.write("somebody else's", to: "usr/share/man/other.1")
        let before = try FileManager.default.subpathsOfDirectory(atPath: root.path).sorted()
        let arguments = ["--prefix", "/usr", "--destdir", root.path]
        try await Installer.install(arguments)
        // A second installation changes nothing.
        let once = try InstallTests.tree(root.path)
        try await Installer.install(arguments)
        #expect(try InstallTests.tree(root.path) == once)
        let removed = try await Installer.run(["--uninstall"] + arguments)
        #expect(removed.exit == .exited(0) && removed.text.contains("$XDG_STATE_HOME/permd"))
        #expect(try FileManager.default.subpathsOfDirectory(atPath: root.path).sorted() == before)
        // With nothing left to remove, the error names the missing list.
        let again = try await Installer.run(["--uninstall"] + arguments)
        #expect(again.exit == .exited(1) && again.text.contains("share/permd/installed"))
    }

    /// Files that an older version installed and this one does not are removed.
    @Test func anUpgradeRemovesObsoleteFiles() async throws {
        let root = try TemporaryFolder()
        let arguments = ["--destdir", root.path]
        try await Installer.install(arguments)
        let list = "usr/local/share/permd/installed"
        try root.write("old", to: "usr/local/share/permd/old")
        try root.write(
            try InstallTests.text(root.file(list)) + "file /usr/local/share/permd/old\n", to: list)
        try await Installer.install(arguments)
        #expect(try !InstallTests.tree(root.path).contains("usr/local/share/permd/old"))
        _ = try await Installer.run(["--uninstall"] + arguments)
        #expect(try FileManager.default.subpathsOfDirectory(atPath: root.path) == [])
    }

    @Test func installingInAHomeFolder() async throws {
        let home = try TemporaryFolder()
        try await Installer.install(["--prefix", home.file(".local")], home: home.path)
        let link = home.file(".config/systemd/user/default.target.wants/permd.service")
        #expect(
            try FileManager.default.destinationOfSymbolicLink(atPath: link)
                == home.file(".local/share/systemd/user/permd.service"))
    }

    /// A link that enables a package's unit is left alone by installing and uninstalling.
    @Test func anotherInstallationKeepsItsLink() async throws {
        let folders = ["etc", "etc/systemd", "etc/systemd/user", "etc/systemd/user/default.target.wants"]
        let root = try TemporaryFolder(folders)
        let link = root.file("etc/systemd/user/default.target.wants/permd.service")
        let target = "/usr/lib/systemd/user/permd.service"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        try await Installer.install(["--destdir", root.path])
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == target)
        _ = try await Installer.run(["--uninstall", "--destdir", root.path])
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == target)
    }

    @Test func forPackageBuilders() async throws {
        let root = try TemporaryFolder()
        try await Installer.install(["--package", "--prefix", "/usr", "--destdir", root.path])
        let tree = try InstallTests.tree(root.path)
        #expect(tree.contains("usr/libexec/permd"))
        #expect(tree.allSatisfy { $0.hasPrefix("usr/") } && !tree.contains("usr/share/permd/installed"))
    }

    @Test(arguments: [["--prefix", "relative"], ["--prefix"], ["--nonsense"], ["--from", "/nonexistent"]])
    func invalidArgumentsAreReported(_ arguments: [String]) async throws {
        let root = try TemporaryFolder()
        let result = try await Installer.run(["--destdir", root.path] + arguments)
        #expect(result.exit == .exited(1) && result.text.contains("install: "), "\(result.text)")
        #expect(try FileManager.default.subpathsOfDirectory(atPath: root.path) == [])
    }
}
