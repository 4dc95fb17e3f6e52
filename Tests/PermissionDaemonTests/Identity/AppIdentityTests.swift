// Which app a process is: every form of the contract, from a folder that looks as /proc does.

import Foundation
import PermissionModel
import PermissionTestKit
import Testing

@testable import PermissionDaemon

/// A process as /proc shows it.
private struct FakeProcess {
    static let pid: Int32 = 42
    let folder: TemporaryFolder
    private let files = FileManager.default

    init(
        executable: String = "/usr/bin/app", controlGroup: String = "0::/user.slice/session-1.scope\n",
        arguments: [String] = ["app"], workingDirectory: String = "/home/a", info: String? = nil
    ) throws {
        folder = try TemporaryFolder(["42", "42/root"])
        try files.createSymbolicLink(atPath: folder.file("42/exe"), withDestinationPath: executable)
        try files.createSymbolicLink(atPath: folder.file("42/cwd"), withDestinationPath: workingDirectory)
        try folder.write(controlGroup, to: "42/cgroup")
        try folder.write(arguments.map { $0 + "\0" }.joined(), to: "42/cmdline")
        try folder.write("42 (a) b) ) S" + (4...21).map { " \($0)" }.joined() + " 777 23 24", to: "42/stat")
        if let info { try folder.write(info, to: "42/root/.flatpak-info") }
    }

    /// A file as the process sees it.
    func add(_ path: String) throws {
        let whole = folder.file("42/root\(path)")
        try files.createDirectory(
            atPath: String(whole[..<(whole.lastIndex(of: "/") ?? whole.endIndex)]), withIntermediateDirectories: true)
        try Data().write(to: URL(filePath: whole))
    }

    var reader: ProcessReader { ProcessReader(root: folder.path) }

    func app() throws -> String { try AppIdentity(reader: reader).app(of: FakeProcess.pid).description }
}

@Suite
struct AppIdentityTests {
    private static let user = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/"

    nonisolated static let groups: [(String, String)] = [
        (user + "app-gnome-org.gnome.Maps-1234.scope", "desktop:org.gnome.Maps"),
        (user + "app-org.gnome.Maps-1234.scope", "desktop:org.gnome.Maps"),
        (user + "app-org.kde.konsole@1a2b.service", "desktop:org.kde.konsole"),
        (user + "app-KDE-org.kde.konsole@1a2b.service", "desktop:org.kde.konsole"),
        (user + "app-org.kde.konsole.service", "desktop:org.kde.konsole"),
        (user + "app-gnome-my\\x2dapp-99.scope", "desktop:my-app"),
        (user + "app-flatpak-org.gnome.Maps-7.scope", "desktop:org.gnome.Maps"),
        (user + "app-gnome-org.a-1.scope/nested.scope", "desktop:org.a"),
        // Below the user's manager only, and a unit of an app only.
        ("0::/system.slice/app-gnome-org.a-1.scope", "exe:/usr/bin/app"),
        (user + "dbus.service", "exe:/usr/bin/app"), (user + "app-1.scope", "exe:/usr/bin/app"),
        (user + "run-app-gnome-org.a-1.scope", "exe:/usr/bin/app"),
        (user + "app-a-b-c-d-1.scope", "exe:/usr/bin/app"), (user + "app-gnome-bad\\x2-1.scope", "exe:/usr/bin/app"),
        (user + "app-gnome--1.scope", "exe:/usr/bin/app"),
        (user + "app-gnome-a\\x2fb-1.scope", "exe:/usr/bin/app"), ("", "exe:/usr/bin/app"),
        // Snaps, by systemd's unit of them.
        (user + "snap.firefox.firefox-4b1c.scope", "snap:firefox"),
        ("0::/system.slice/snap.cups.cupsd.service", "snap:cups"),
        ("1:name=systemd:/user.slice/user@1000.service/snap.chromium.chromium.1f.scope\n", "snap:chromium"),
        (user + "snap.scope", "exe:/usr/bin/app"), (user + "snapd.service", "exe:/usr/bin/app"),
        (user + "snap..x.scope", "exe:/usr/bin/app"), (user + "snap.a/b.c.scope", "exe:/usr/bin/app"),
    ]

    @Test(arguments: groups.indices)
    func controlGroups(_ index: Int) throws {
        let (group, app) = AppIdentityTests.groups[index]
        #expect(try FakeProcess(controlGroup: group + "\n").app() == app, "\(group)")
    }

    /// executable, arguments, files → app
    nonisolated static let programs: [(String, [String], [String], String)] = [
        ("/usr/bin/firefox", ["firefox", "/home/a/page"], ["/home/a/page"], "exe:/usr/bin/firefox"),
        (
            "/usr/bin/python3.11", ["python3", "/home/a/call.py"], ["/home/a/call.py"],
            "exe:/usr/bin/python3.11:/home/a/call.py"
        ),
        (
            "/usr/bin/python3.11", ["python3", "call.py", "x"], ["/home/a/call.py"],
            "exe:/usr/bin/python3.11:/home/a/call.py"
        ),
        (
            "/usr/bin/python3.11", ["python3", "../b/./call.py"], ["/home/b/call.py"],
            "exe:/usr/bin/python3.11:/home/b/call.py"
        ),
        ("/usr/bin/python3.11", ["python3", "missing.py"], [], "exe:/usr/bin/python3.11"),
        ("/usr/bin/python3.11", ["python3"], [], "exe:/usr/bin/python3.11"),
        ("/usr/bin/python3.11", ["python3", "-c", "code"], [], "exe:/usr/bin/python3.11"),
        ("/usr/bin/python3.11", ["python3", "-m", "call.py"], ["/home/a/call.py"], "exe:/usr/bin/python3.11"),
        ("/usr/bin/python3.11", ["python3", "-u", "call.py"], ["/home/a/call.py"], "exe:/usr/bin/python3.11"),
        ("/usr/bin/python3.11", ["python3", "-"], [], "exe:/usr/bin/python3.11"),
        ("/usr/bin/python3.11", ["python3", ""], [], "exe:/usr/bin/python3.11"),
        ("/usr/bin/dash", ["sh", "/s"], ["/s"], "exe:/usr/bin/dash:/s"),
        ("/usr/bin/bash", ["bash", "-e", "/s"], ["/s"], "exe:/usr/bin/bash"),
        ("/usr/bin/perl", ["perl", "/a:b%c"], ["/a:b%c"], "exe:/usr/bin/perl:/a%3Ab%25c"),
        ("/usr/bin/node", ["node", "/s"], ["/s"], "exe:/usr/bin/node:/s"),
        ("/usr/bin/ruby3.1", ["ruby", "/s"], ["/s"], "exe:/usr/bin/ruby3.1:/s"),
        ("/usr/bin/zsh-5.9", ["zsh", "/s"], ["/s"], "exe:/usr/bin/zsh-5.9:/s"),
        ("/opt/shell", ["shell", "/s"], ["/s"], "exe:/opt/shell"),
        ("/opt/a:b", ["x"], [], "exe:/opt/a%3Ab"),
        ("/usr/bin/app (deleted)", ["app"], [], "exe:/usr/bin/app"),
    ]

    @Test(arguments: programs.indices)
    func plainPrograms(_ index: Int) throws {
        let (executable, arguments, files, app) = AppIdentityTests.programs[index]
        let process = try FakeProcess(executable: executable, arguments: arguments)
        for file in files { try process.add(file) }
        #expect(try process.app() == app, "\(arguments)")
    }

    /// What the process says of itself is nothing: only its folder and the kernel count.
    @Test func aFlatpakIsOneWhateverElseItLooksLike() throws {
        let info = "[Application]\nname = org.example.App \nruntime=x\n"
        let group = AppIdentityTests.user + "snap.firefox.firefox-1.scope\n"
        #expect(try FakeProcess(controlGroup: group, info: info).app() == "flatpak:org.example.App")
    }

    @Test(arguments: [
        "", "name=org.a.b\n", "[Application]\n", "[Application]\nname=\n", "[Application]\nname=a/b.c\n",
        "[Application]\nname=nodots\n", "[Runtime]\nname=org.a.b\n", "[Application]\nname=org.a.b c\n",
        "[Application]\nname=../org.a\n", "[Application]\nname=org.a\u{1B}b\n",
        "[Application]\nname=org.\(String(repeating: "a", count: 300))\n",
    ])
    func aSandboxWithoutAProperNameIsNobody(_ info: String) throws {
        let process = try FakeProcess(info: info)
        #expect(throws: UnknownProcess.self) { try process.app() }
    }

    @Test func aFlatpakInfoThatIsNoFileIsNobody() throws {
        let process = try FakeProcess()
        try FileManager.default.createSymbolicLink(
            atPath: process.folder.file("42/root/.flatpak-info"), withDestinationPath: "/dev/null")
        #expect(throws: UnknownProcess.self) { try process.app() }
        let other = try FakeProcess()
        try FileManager.default.createDirectory(
            atPath: other.folder.file("42/root/.flatpak-info"), withIntermediateDirectories: false)
        #expect(throws: UnknownProcess.self) { try other.app() }
    }

    @Test func whatIsGoneIsNobody() throws {
        let folder = try TemporaryFolder()
        #expect(throws: UnknownProcess.self) {
            try AppIdentity(reader: ProcessReader(root: folder.path)).app(of: 7)
        }
    }

    /// The command's name may contain anything, parentheses too.
    @Test func startTimes() throws {
        let process = try FakeProcess()
        #expect(try process.reader.startTime(FakeProcess.pid) == 777)
        for text in ["", "42", "42 (a) S 1 2", "42 (a) S" + String(repeating: " x", count: 30)] {
            try process.folder.write(text, to: "42/stat")
            #expect(throws: UnknownProcess.self) { try process.reader.startTime(FakeProcess.pid) }
        }
    }

    @Test func ourselves() throws {
        let app = try AppIdentity(reader: ProcessReader()).app(of: getpid())
        #expect(app.description == "exe:\(BuiltProgram.own)" || app.kind == .desktop)
    }

    @Test func namesOfDesktopEntries() {
        let text = """
            # a comment
            [Desktop Entry]
            Name=Maps
            Name[de]=Karten
            Name[de_AT]=Landkarten
            Icon=org.gnome.Maps
            [Desktop Action new]
            Name=New Window
            Icon=other
            """
        let fallback = AppEntry(name: "fallback", icon: "")
        #expect(AppDirectory.parse(text, language: "", fallback).name == "Maps")
        #expect(AppDirectory.parse(text, language: "de_DE", fallback).name == "Karten")
        #expect(AppDirectory.parse(text, language: "de_AT", fallback).name == "Landkarten")
        #expect(AppDirectory.parse(text, language: "fr", fallback).icon == "org.gnome.Maps")
        #expect(AppDirectory.parse("nonsense", language: "", fallback).name == "fallback")
        #expect(AppDirectory.plainName(AppID("exe:/usr/bin/python3:/home/a/call.py")!) == "call.py")
        #expect(AppDirectory.plainName(AppID("exe:/usr/bin/firefox")!) == "firefox")
        #expect(AppDirectory.plainName(AppID("flatpak:org.a.b")!) == "org.a.b")
    }
}
