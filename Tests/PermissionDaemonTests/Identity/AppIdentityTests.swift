// Which app a process belongs to: every form of the contract, read from an imitation of /proc.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import System
import Testing

@testable import PermissionDaemon
@testable import ProcessIdentity

/// A process in an imitation of /proc.
struct FakeProcess {
    static let pid: Int32 = 42
    let folder: TemporaryFolder
    private let files = FileManager.default

    init(
        executable: String = "/usr/bin/app", controlGroup: String = "0::/user.slice/session-1.scope\n",
        arguments: [String] = ["app"], workingDirectory: String = "/home/a", info: String? = nil,
        pidNamespace: String = "pid:[4026531836]", environment: [String] = []
    ) throws {
        folder = try TemporaryFolder(["42", "42/root", "42/ns", "self", "self/ns"])
        try files.createSymbolicLink(atPath: folder.file("self/ns/pid"), withDestinationPath: "pid:[4026531836]")
        try files.createSymbolicLink(atPath: folder.file("42/ns/pid"), withDestinationPath: pidNamespace)
        try files.createSymbolicLink(atPath: folder.file("42/exe"), withDestinationPath: executable)
        try files.createSymbolicLink(atPath: folder.file("42/cwd"), withDestinationPath: workingDirectory)
        try folder.write(controlGroup, to: "42/cgroup")
        try folder.write(arguments.map { $0 + "\0" }.joined(), to: "42/cmdline")
        try folder.write(environment.map { $0 + "\0" }.joined(), to: "42/environ")
        try folder.write("42 (a) b) ) S" + (4...21).map { " \($0)" }.joined() + " 777 23 24", to: "42/stat")
        if let info { try folder.write(info, to: "42/root/.flatpak-info") }
    }

    func makeFolder(_ path: String) throws {
        try files.createDirectory(atPath: folder.file(path), withIntermediateDirectories: true)
    }

    /// Creates a file at this path below the root of the process.
    func add(_ path: String, _ content: String = "") throws {
        let whole = folder.file("42/root\(path)")
        try files.createDirectory(
            atPath: String(whole[..<(whole.lastIndex(of: "/") ?? whole.endIndex)]), withIntermediateDirectories: true)
        try Data(content.utf8).write(to: URL(filePath: whole))
    }

    var reader: ProcessReader { ProcessReader(root: folder.path) }

    func app(label: String = "") throws -> String {
        try AppIdentity(reader: reader).app(of: FakeProcess.pid, label: Array(label.utf8)).description
    }

    /// Sets the security label that it has now.
    func set(currentLabel: String) throws {
        try files.createDirectory(atPath: folder.file("42/attr"), withIntermediateDirectories: true)
        try folder.write("\(currentLabel)\n", to: "42/attr/current")
    }
}

extension AppIdentity {
    /// The app of a process that lives.
    func app(of pid: Int32, label: [UInt8]? = nil) throws -> AppID {
        let alive = UnixFD(owning: Pidfd.open(getpid()))
        return try process(evidence(pid, label: label), under: alive.raw).app
    }
}

@Suite
struct InstanceTests {
    @Test(arguments: [
        ("{ \"child-pid\": 17 }", 17), ("{\n    \"child-pid\": 17,\n    \"net-namespace\": 4026531840\n}\n", 17),
        ("{ \"mnt\": 3, \"child-pid\" :4 }", 4), ("{ \"child-pid\": 0 }", nil), ("{ \"child-pid\": -4 }", nil),
        ("{ \"child-pid\": 99999999999 }", nil), ("{ \"child-pid\": \"4\" }", nil), ("child-pid 4", nil), ("", nil),
    ])
    func theProcessThatFlatpakStarted(_ file: String, _ pid: Int32?) {
        #expect(AppIdentity.childPid(Array(file.utf8)) == pid)
    }

    /// The file may name any process: only one of the same app and instance counts.
    @Test(arguments: [
        ("[Application]\nname=org.a.A\n[Instance]\ninstance-id=12\n", true),
        ("[Application]\nname=org.a.B\n[Instance]\ninstance-id=12\n", false),
        ("[Application]\nname=org.a.A\n[Instance]\ninstance-id=13\n", false),
        ("[Application]\nname=org.a.A\n", false),
    ])
    func anotherProcessMustBeOfTheInstance(_ other: String, _ isOne: Bool) throws {
        let own = "[Application]\nname=org.a.A\n\n[Instance]\ninstance-id=12\n"
        let process = try FakeProcess(info: own)
        try process.makeFolder("43/root")
        try process.folder.write(other, to: "43/root/.flatpak-info")
        try process.folder.write("43 (a) S" + (4...21).map { " \($0)" }.joined() + " 500 23 24", to: "43/stat")
        try process.makeFolder(".flatpak/12")
        try process.folder.write("{ \"child-pid\": 43 }", to: ".flatpak/12/bwrapinfo.json")
        let identity = AppIdentity(reader: process.reader, runtime: process.folder.path)
        let found = identity.instance(
            of: AppID("flatpak:org.a.A")!, try identity.evidence(FakeProcess.pid), info: Array(own.utf8))
        #expect(found?.pid == (isOne ? 43 : nil))
    }

    @Test(arguments: ["../12", "", "1/2", String(repeating: "1", count: 65)])
    func anInstanceIDIsNoPath(_ id: String) throws {
        let own = "[Application]\nname=org.a.A\n\n[Instance]\ninstance-id=\(id)\n"
        let process = try FakeProcess(info: own)
        try process.makeFolder(".flatpak")
        try process.folder.write("{ \"child-pid\": 42 }", to: "bwrapinfo.json")
        let identity = AppIdentity(reader: process.reader, runtime: process.folder.path)
        #expect(
            identity.instance(
                of: AppID("flatpak:org.a.A")!, try identity.evidence(FakeProcess.pid), info: Array(own.utf8)) == nil)
    }

    /// The oldest process of the snap's scope, also where a part of it is in a group of its own.
    @Test func aSnapsScope() throws {
        let process = try FakeProcess(
            controlGroup: "0::/user.slice/user@1000.service/app.slice/snap.call.call-1f.scope/inner\n")
        for (pid, start) in [(50, 900), (51, 600), (52, 800)] {
            try process.makeFolder("\(pid)")
            try process.folder.write(
                "\(pid) (a) S" + (4...21).map { " \($0)" }.joined() + " \(start) 23 24", to: "\(pid)/stat")
        }
        let scope = "groups/user.slice/user@1000.service/app.slice/snap.call.call-1f.scope"
        try process.makeFolder(scope)
        try process.folder.write("50\n51\n52\n", to: "\(scope)/cgroup.procs")
        let identity = AppIdentity(
            reader: process.reader, runtime: nil, groups: process.folder.file("groups"))
        let app = AppID("snap:call")!
        #expect(identity.instance(of: app, try identity.evidence(FakeProcess.pid), info: nil)?.pid == 51)
    }
}

@Suite
struct AppIdentityTests {
    private static let user = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/"

    nonisolated static let groups: [(String, String)] = [
        // Units of the desktop do not matter.
        (user + "app-gnome-org.gnome.Maps-1234.scope", "exe:/usr/bin/app"),
        (user + "app-firefox-12345.service", "exe:/usr/bin/app"), ("", "exe:/usr/bin/app"),
        // Snaps, by their systemd unit.
        (user + "snap.firefox.firefox-4b1c.scope", "snap:firefox"),
        ("0::/system.slice/snap.cups.cupsd.service", "snap:cups"),
        ("1:name=systemd:/user.slice/user@1000.service/snap.chromium.chromium.1f.scope\n", "snap:chromium"),
        (user + "snap.scope", "exe:/usr/bin/app"), (user + "snapd.service", "exe:/usr/bin/app"),
        // A Swift Character combines a slash with the mark after it, and a carriage return with a line feed.
        (user + "snap.firefox.firefox-1.scope/\u{301}x", "snap:firefox"),
        ("5:cpu:/a\r\n" + user + "snap.firefox.firefox-1.scope", "snap:firefox"),
        // Every hierarchy is searched for snaps.
        ("1:name=systemd:/user@1.service/snap.chromium.chromium.1f.scope\n0::/", "snap:chromium"),
        ("0::/\n1:name=systemd:/user@1.service/snap.chromium.chromium.1f.scope", "snap:chromium"),
        ("9:pids:/snap.a.b.service\n0::/snap.a.c-1.scope", "snap:a"),
        ("7:freezer:/snap.vlc\n1:name=systemd:/user.slice\n0::/", "snap:vlc"),
        ("7:net_cls,freezer:/snap.vlc\n0::/", "snap:vlc"), ("7:pids:/snap.vlc\n0::/", "exe:/usr/bin/app"),
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
        // It was deleted since.
        (
            "/usr/bin/python3.11", ["python3", "missing.py"], [], "exe:/usr/bin/python3.11:/home/a/missing.py"
        ),
        ("/usr/bin/python3.11", ["python3"], [], "exe:/usr/bin/python3.11"),
        ("/usr/bin/python3.11", ["python3", "-c", "code"], [], "exe:/usr/bin/python3.11"),
        ("/usr/bin/python3.11", ["python3", "-m", "call.py"], ["/home/a/call.py"], "exe:/usr/bin/python3.11"),
        (
            "/usr/bin/python3.11", ["python3", "-u", "call.py"], ["/home/a/call.py"],
            "exe:/usr/bin/python3.11:/home/a/call.py"
        ),
        ("/usr/bin/python3.11", ["python3", "/dev/stdin"], [], "exe:/usr/bin/python3.11"),
        ("/usr/bin/python3.11", ["python3", "-"], [], "exe:/usr/bin/python3.11"),
        ("/usr/bin/python3.11", ["python3", ""], [], "exe:/usr/bin/python3.11"),
        ("/usr/bin/dash", ["sh", "/s"], ["/s"], "exe:/usr/bin/dash:/s"),
        ("/usr/bin/bash", ["bash", "-e", "/s"], ["/s"], "exe:/usr/bin/bash:/s"),
        ("/usr/bin/perl", ["perl", "/a:b%c"], ["/a:b%c"], "exe:/usr/bin/perl:/a%3Ab%25c"),
        ("/usr/bin/node", ["node", "/s"], ["/s"], "exe:/usr/bin/node:/s"),
        ("/usr/bin/ruby3.1", ["ruby", "/s"], ["/s"], "exe:/usr/bin/ruby3.1:/s"),
        ("/usr/bin/zsh-5.9", ["zsh", "/s"], ["/s"], "exe:/usr/bin/zsh-5.9:/s"),
        ("/opt/shell", ["shell", "/s"], ["/s"], "exe:/opt/shell"),
        ("/opt/a:b", ["x"], [], "exe:/opt/a%3Ab"),
        ("/usr/bin/app (deleted)", ["app"], [], "exe:/usr/bin/app"),
        (
            "/nix/store/\(hash)-cheese-44.1/bin/.cheese-wrapped", ["cheese"], [],
            "exe:/nix/store/cheese/bin/.cheese-wrapped"
        ),
        (
            "/gnu/store/\(hash)-python-next-3.11.2/bin/python3.11", ["python3", "/gnu/store/\(hash)-call-1/bin/call"],
            [],
            "exe:/gnu/store/python-next/bin/python3.11:/gnu/store/call/bin/call"
        ),
        ("/nix/store/cheese-44.1/bin/cheese", ["cheese"], [], "exe:/nix/store/cheese-44.1/bin/cheese"),
        (
            "/nix/store/\(String(repeating: "0b", count: 16))-cheese-45.0/bin/.cheese-wrapped", ["cheese"], [],
            "exe:/nix/store/cheese/bin/.cheese-wrapped"
        ),
        ("/snap/code/154/usr/share/code/code", ["code"], [], "exe:/snap/code/current/usr/share/code/code"),
        ("/var/lib/snapd/snap/code/x1/code", ["code"], [], "exe:/var/lib/snapd/snap/code/current/code"),
    ]

    private static let hash = String(repeating: "a1", count: 16)

    @Test(arguments: programs.indices)
    func plainPrograms(_ index: Int) throws {
        let (executable, arguments, files, app) = AppIdentityTests.programs[index]
        let process = try FakeProcess(executable: executable, arguments: arguments)
        for file in files { try process.add(file) }
        #expect(try process.app() == app, "\(arguments)")
    }

    private static let info = "[Application]\nname=org.example.App\nruntime=x\n"
    private static let snapGroup = user + "snap.firefox.firefox-1.scope\n"

    @Test func aFlatpakIsIdentifiedByItsInfo() throws {
        #expect(try FakeProcess(info: AppIdentityTests.info).app() == "flatpak:org.example.App")
        let group = AppIdentityTests.user + "app-flatpak-org.example.App-7.scope\n"
        let other = "1:name=systemd:" + group.dropFirst("0::".count)
        for group in [group, other + "0::/\n", AppIdentityTests.user + "app-gnome-org.a-1.scope\n"] {
            let process = try FakeProcess(controlGroup: group, info: AppIdentityTests.info, pidNamespace: "pid:[7]")
            #expect(try process.app() == "flatpak:org.example.App", "\(group)")
        }
    }

    /// A snap can create a root with a /.flatpak-info in it, but it cannot change its control group.
    @Test func contradictoryEvidenceIsRefused() throws {
        let nobodies: [(group: String, info: String?, label: String)] = [
            (AppIdentityTests.snapGroup, AppIdentityTests.info, ""),
            ("1:name=systemd:/snap.firefox.firefox-1.scope\n0::/\n", AppIdentityTests.info, ""),
            (AppIdentityTests.snapGroup, "no key file", ""),
            ("0::/\n", AppIdentityTests.info, "snap.firefox.firefox (enforce)\0"),
            (AppIdentityTests.snapGroup, nil, "snap.other.app (enforce)\0"),
            ("1:name=systemd:/snap.a.b.scope\n0::/snap.c.d.scope\n", nil, ""),
            (AppIdentityTests.user + "app-flatpak-org.example.Other-7.scope\n", AppIdentityTests.info, ""),
            (AppIdentityTests.user + "app-flatpak-org.example.App-7.scope\n", nil, ""),
            (AppIdentityTests.user + "app-flatpak-org.example.App-7.scope/\u{301}\n", nil, ""),
            ("1:name=systemd:/app-flatpak-org.example.App-7.scope\n0::/\n", nil, ""),
            (AppIdentityTests.user + "app-flatpak-org.example.App-7.scope\n", nil, "snap.firefox.firefox"),
        ]
        for nobody in nobodies {
            let process = try FakeProcess(controlGroup: nobody.group, info: nobody.info)
            #expect(throws: UnknownProcess.self, "\(nobody)") { try process.app(label: nobody.label) }
        }
    }

    @Test(arguments: [
        ("snap.firefox.firefox (enforce)\0", "snap:firefox"), ("snap.firefox.firefox", "snap:firefox"),
        ("snap.vlc_two.hook.configure (complain)\0", "snap:vlc_two"),
        (":root//lxd-a:snap.firefox.firefox (enforce)", "snap:firefox"),
        ("snap.firefox.firefox//hat (enforce)", "snap:firefox"),
        ("/usr/bin/x//&:ns:snap.firefox.firefox (mixed)\0", "snap:firefox"), ("unconfined\0", "exe:/usr/bin/app"),
        ("unconfined_u:unconfined_r:unconfined_t:s0\0", "exe:/usr/bin/app"), ("/usr/bin/snap.a", "exe:/usr/bin/app"),
        ("x\0snap.firefox.firefox", "exe:/usr/bin/app"), ("\u{FF}", "exe:/usr/bin/app"),
    ])
    func labels(_ label: String, _ app: String) throws {
        #expect(try FakeProcess().app(label: label) == app)
        // The label and the control group name the same snap.
        if app == "snap:firefox" {
            #expect(try FakeProcess(controlGroup: AppIdentityTests.snapGroup).app(label: label) == app)
        }
    }

    /// With user namespaces a process can leave the root that contains /.flatpak-info, but not its PID namespace.
    /// Without a label from the bus, the one that the process has now counts.
    @Test func theCurrentLabel() throws {
        let process = try FakeProcess()
        try process.set(currentLabel: "snap.video-call.app (enforce)")
        #expect(try AppIdentity(reader: process.reader).app(of: FakeProcess.pid).description == "snap:video-call")
        #expect(try process.app() == "exe:/usr/bin/app")
    }

    @Test func aSandboxWithoutEvidenceIsRefused() throws {
        let process = try FakeProcess(pidNamespace: "pid:[7]")
        #expect(throws: UnknownProcess.self) { try process.app() }
        #expect(
            try FakeProcess(controlGroup: AppIdentityTests.snapGroup, pidNamespace: "pid:[7]").app() == "snap:firefox")
    }

    @Test(arguments: [
        ("/usr/bin/xdg-dbus-proxy", true), ("/usr/libexec/xdg-dbus-proxy", true), ("/app/bin/flatpak-dbus-proxy", true),
        ("/usr/bin/xdg-dbus-proxy (deleted)", true), ("/usr/bin/xdg-dbus-proxy.py", false),
        ("/usr/bin/xdg-dbus-proxy/app", false), ("/usr/bin/app", false),
    ])
    func proxies(_ executable: String, _ isProxy: Bool) throws {
        let process = try FakeProcess(executable: executable)
        #expect((try? process.app()) == (isProxy ? nil : "exe:\(executable)"))
        let snap = try FakeProcess(executable: executable, controlGroup: AppIdentityTests.snapGroup)
        #expect(try snap.app() == "snap:firefox")
    }

    /// If it were truncated, it could name another app.
    @Test func anInfoThatIsTooLongIsRefused() throws {
        let comment = "#" + String(repeating: "x", count: ProcessReader.maximumRead) + "\n"
        let process = try FakeProcess(info: AppIdentityTests.info + comment)
        #expect(throws: UnknownProcess.self) { try process.app() }
    }

    @Test(arguments: [
        "", "name=org.a.b\n", "[Application]\n", "[Application]\nname=\n", "[Application]\nname=a/b.c\n",
        "[Application]\nname=nodots\n", "[Runtime]\nname=org.a.b\n", "[Application]\nname=org.a.b c\n",
        "[Application]\nname=../org.a\n", "[Application]\nname=org.a.b \n", "[Application]\nname=org.a.b\nnonsense\n",
        "[Application]\nname=org.a.b\\s\n", "[X]\ny=\u{2028}[Application]\u{2028}name=org.a.b\n",
        "[Application]\nname=org.a\u{1B}b\n",
        "[Application]\nname=org.\(String(repeating: "a", count: 300))\n",
    ])
    func anInfoWithoutAValidNameIsRefused(_ info: String) throws {
        let process = try FakeProcess(info: info)
        #expect(throws: UnknownProcess.self) { try process.app() }
    }

    @Test func anInfoThatIsNotARegularFileIsRefused() throws {
        let process = try FakeProcess()
        try FileManager.default.createSymbolicLink(
            atPath: process.folder.file("42/root/.flatpak-info"), withDestinationPath: "/dev/null")
        #expect(throws: UnknownProcess.self) { try process.app() }
        let other = try FakeProcess()
        try FileManager.default.createDirectory(
            atPath: other.folder.file("42/root/.flatpak-info"), withIntermediateDirectories: false)
        #expect(throws: UnknownProcess.self) { try other.app() }
    }

    @Test func aMissingProcessIsRefused() throws {
        let folder = try TemporaryFolder()
        #expect(throws: UnknownProcess.self) {
            try AppIdentity(reader: ProcessReader(root: folder.path)).app(of: 7)
        }
    }

    /// The command name may contain any character, including parentheses.
    @Test func startTimes() throws {
        let process = try FakeProcess()
        #expect(try process.reader.startTime(FakeProcess.pid) == 777)
        for text in ["", "42", "42 (a) S 1 2", "42 (a) S" + String(repeating: " x", count: 30)] {
            try process.folder.write(text, to: "42/stat")
            #expect(throws: UnknownProcess.self) { try process.reader.startTime(FakeProcess.pid) }
        }
    }

    @Test func theTestProcessItself() throws {
        let app = try AppIdentity(reader: ProcessReader()).app(of: getpid())
        #expect(app.description == "exe:\(BuiltProgram.own)")
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
        #expect(AppDirectory.parse(Array(text.utf8), language: "", fallback).name == "Maps")
        #expect(AppDirectory.parse(Array(text.utf8), language: "de_DE", fallback).name == "Karten")
        #expect(AppDirectory.parse(Array(text.utf8), language: "de_AT", fallback).name == "Landkarten")
        #expect(AppDirectory.parse(Array(text.utf8), language: "fr", fallback).icon == "org.gnome.Maps")
        #expect(AppDirectory.parse(Array("nonsense".utf8), language: "", fallback).name == "fallback")
        #expect(AppDirectory.plainName(AppID("exe:/usr/bin/python3:/home/a/call.py")!) == "call.py")
        #expect(AppDirectory.plainName(AppID("exe:/usr/bin/firefox")!) == "firefox")
        #expect(AppDirectory.plainName(AppID("flatpak:org.a.b")!) == "org.a.b")
    }
}
