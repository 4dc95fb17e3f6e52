// Which file a program runs that runs others, and where that file lies.

import Foundation
import PermissionModel
import PermissionTestKit
import Testing

@testable import ProcessIdentity
@testable import System

@Suite
struct RuntimeTests {
    /// The name of the executable, the arguments after its own name, and the file.
    nonisolated static let commands: [(String, String, String?)] = [
        ("python3.11", "a.py", "a.py"), ("python3", "-s a.py -u", "a.py"), ("python3", "-W ignore a.py", "a.py"),
        ("python3", "-Wignore -bb a.py", "a.py"), ("python3", "-m http.server", nil), ("python3", "-c code a.py", nil),
        ("python3", "-uc code", nil), ("python3", "-", nil), ("python3", "", nil), ("python3", "--unknown a.py", nil),
        ("python3", "-X dev -- -a.py", "-a.py"), ("pypy3", "a.py", "a.py"), ("pypy3.9", "-u a.py", "a.py"),
        ("bash", "--norc a.sh", "a.sh"), ("bash", "-euo pipefail a.sh", "a.sh"), ("bash", "+x a.sh", "a.sh"),
        ("bash", "-c code a.sh", nil), ("sh", "-s a", nil), ("busybox", "sh a.sh", "a.sh"), ("busybox", "httpd a", nil),
        ("fish", "-C code a.fish", "a.fish"), ("fish", "-c code", nil),
        ("perl", "-w -Ilib -I more a.pl", "a.pl"), ("perl", "-e code a.pl", nil), ("perl", "-i.bak -pe code a", nil),
        ("ruby3.1", "-rjson -W0 a.rb", "a.rb"), ("ruby", "-e code", nil),
        ("node", "--max-old-space-size=4096 --require x a.js", "a.js"), ("node", "-e code a.js", nil),
        ("node", "--eval code", nil), ("luajit-2.1.0-beta3", "a.lua", "a.lua"), ("lua5.4", "-l mod a.lua", "a.lua"),
        ("php8.2", "-f a.php", "a.php"), ("php", "-r code", nil), ("wish8.6", "a.tcl", "a.tcl"),
        ("guile-3.0", "-s a.scm", "a.scm"), ("guile", "-c code", nil), ("gjs-console", "-m a.js", "a.js"),
        ("deno", "run --allow-net a.ts", "a.ts"), ("deno", "eval code", nil), ("bun", "a.ts", "a.ts"),
        ("R", "--no-echo --no-restore --file=a.R --args b", "a.R"), ("R", "--vanilla", nil), ("Rscript", "a.R", "a.R"),
        ("julia", "-t 4 --project=x a.jl", "a.jl"), ("julia", "-e code", nil), ("qml6", "-I x a.qml", "a.qml"),
        ("java", "-Xmx1g -cp x -jar a.jar b", "a.jar"), ("java", "-cp x Main", nil), ("java", "-m a/b", nil),
        ("java", "-jar -Dx=y a.jar", "a.jar"), ("java", "A.java", "A.java"),
        ("mono-sgen", "--debug --config x a.exe", "a.exe"), ("dotnet", "a.dll", "a.dll"), ("dotnet", "run", nil),
        ("dotnet", "exec --depsfile x a.dll", "a.dll"), ("electron", "--no-sandbox a.asar", "a.asar"),
        ("electron28", "a.asar", "a.asar"), ("electron", "--eval code a.asar", nil),
        ("python3.13t", "-E -P a.py", "a.py"), ("python3.11-dbg", "a.py", "a.py"),
        ("perl5.36-x86_64-linux-gnu", "a.pl", "a.pl"), ("perl", "-l a.pl", "a.pl"), ("perl", "-lne code a", nil),
        ("perl", "-0777ne code", nil), ("perl", "-0xFFne code", nil), ("ruby", "-0777ne code", nil),
        ("ruby", "-Kue code", nil), ("bash", "-oe pipefail a.sh", "a.sh"), ("gjs", "a.js", "a.js"),
        ("node", "--inspect=127.0.0.1:9229 a.js", "a.js"), ("node", "--inspect-port 9229 a.js", nil),
        ("node", "--tls-keylog file a.js", nil), ("node", "--trace-event-categories node a.js", nil),
        ("ld-linux-x86-64.so.2", "--library-path x /usr/bin/a", "/usr/bin/a"),
    ]

    @Test(arguments: commands.indices)
    func files(_ index: Int) throws {
        let (name, words, file) = RuntimeTests.commands[index]
        let runtime = try #require(Runtime(executable: Array("/usr/bin/\(name)".utf8)))
        let arguments = ([name] + words.split(separator: " ").map(String.init)).map { Array($0.utf8) }
        #expect(runtime.file(in: arguments).map { String(decoding: $0, as: UTF8.self) } == file, "\(name) \(words)")
    }

    @Test(arguments: [
        "firefox", "pythonista", "node-red", "javac", "ldconfig", "ld-decode", "sh-tool", "dash2midi", "",
    ])
    func otherPrograms(_ name: String) {
        #expect(Runtime(executable: Array("/usr/bin/\(name)".utf8)) == nil)
    }

    @Test(arguments: [
        ("exe:/usr/bin/python3.11", true), ("exe:/usr/bin/python3.11:/a", false), ("exe:/usr/bin/firefox", false),
        ("exe:/tmp/.mount_aXYZ/usr/bin/a", true), ("exe:/memfd:a", false), ("exe:/memfd%3Aa", true),
        ("snap:bash", false),
        ("flatpak:org.a.bash", false),
    ])
    func programsThatStandForAny(_ app: String, _ isAny: Bool) throws {
        // `exe:/memfd:a` has no second path.
        guard let app = AppID(app) else { return #expect(!isAny) }
        #expect(AppIdentity.standsForAny(app) == isAny)
    }

    /// By the folder in which it was started, whichever it is in now.
    @Test func aRelativeFile() throws {
        let process = try FakeProcess(
            executable: "/usr/bin/python3", arguments: ["python3", "tool.py"], workingDirectory: "/home/b",
            environment: ["PWD=/home/a"])
        for path in ["/home/a/tool.py", "/home/b/tool.py"] { try process.add(path) }
        #expect(try process.app() == "exe:/usr/bin/python3:/home/a/tool.py")
    }

    /// The folder that a shell was in is not that in which it started a program elsewhere.
    @Test func aFileThatIsInTheWorkingDirectoryOnly() throws {
        let process = try FakeProcess(
            executable: "/usr/bin/python3", arguments: ["python3", "tool.py"], workingDirectory: "/home/b",
            environment: ["PWD=/home/a"])
        try process.add("/home/b/tool.py")
        #expect(try process.app() == "exe:/usr/bin/python3:/home/b/tool.py")
    }

    @Test(arguments: [
        ("Z:\\home\\a\\app.exe", "/home/a/app.exe"),
        ("C:\\Program Files\\a\\app.EXE", "/home/a/w/drive_c/Program Files/a/app.EXE"),
        ("d:\\app.exe", "/home/a/w/dosdevices/d%3A/app.exe"), ("/home/a/app.exe", "/home/a/app.exe"),
    ])
    func wine(_ argument: String, _ path: String) throws {
        let process = try FakeProcess(
            executable: "/usr/lib/wine/wine64-preloader", arguments: [argument], environment: ["WINEPREFIX=/home/a/w"])
        #expect(try process.app() == "exe:/usr/lib/wine/wine64-preloader:\(path)")
    }

    /// Its other processes are started with a type, and have their command line in one argument.
    @Test(arguments: [
        ("electron", ["electron --type=renderer --x"], "exe:/usr/lib/electron/electron:/opt/a/a.asar"),
        ("electron", ["electron", "--type=zygote"], "exe:/usr/lib/electron/electron:/opt/a/a.asar"),
        (
            "electron", ["electron", "--x", "/opt/b/b.asar", "--type=csv"],
            "exe:/usr/lib/electron/electron:/opt/b/b.asar"
        ),
        ("python3", ["python3", "/opt/b/b.py", "--type=csv"], "exe:/usr/lib/electron/python3:/opt/b/b.py"),
    ])
    func processesOfOneApp(_ program: String, _ arguments: [String], _ app: String) throws {
        let executable = "/usr/lib/electron/\(program)"
        let process = try FakeProcess(executable: executable, arguments: arguments)
        // Its parent is process 4.
        try process.makeFolder("4")
        try FileManager.default.createSymbolicLink(
            atPath: process.folder.file("4/exe"), withDestinationPath: executable)
        try process.folder.write("\(program)\0/opt/a/a.asar\0", to: "4/cmdline")
        for file in ["/opt/a/a.asar", "/opt/b/b.asar", "/opt/b/b.py"] { try process.add(file) }
        #expect(try process.app() == app)
    }

    /// Who chooses such names would be ever new apps.
    @Test func aFileThatTheUserCannotHaveDeleted() async throws {
        let process = try FakeProcess(executable: "/usr/bin/python3", arguments: ["python3", "/srv/lib/x.py"])
        try process.makeFolder("42/root/srv/lib")
        let folder = process.folder.file("42/root/srv/lib")
        func asRoot(_ words: String...) async throws {
            let command = Superuser.command + words + [folder]
            let child = try ChildProcess(command[0], Array(command.dropFirst()))
            try #require(await child.waitForExit() == .exited(0))
        }
        #expect(try process.app() == "exe:/usr/bin/python3:/srv/lib/x.py")
        try await asRoot("chown", "65534:65534")
        #expect(try process.app() == "exe:/usr/bin/python3")
        try await asRoot("chmod", "1777")
        #expect(try process.app() == "exe:/usr/bin/python3:/srv/lib/x.py")
    }

    /// Started by its path or through a link to it.
    @Test func aScriptBehindALink() throws {
        let process = try FakeProcess(executable: "/usr/bin/python3", arguments: ["python3"])
        let file = FileManager.default
        try file.removeItem(atPath: process.folder.file("42/root"))
        try file.createSymbolicLink(atPath: process.folder.file("42/root"), withDestinationPath: "/")
        try process.folder.write("", to: "tool.py")
        try file.createSymbolicLink(atPath: process.folder.file("tool"), withDestinationPath: "tool.py")
        let real = String(decoding: try #require(Folders.realPath(process.folder.path)), as: UTF8.self)
        for name in ["tool", "tool.py"] {
            try process.folder.write("python3\0\(process.folder.file(name))\0", to: "42/cmdline")
            #expect(try process.app() == "exe:/usr/bin/python3:\(real)/tool.py")
        }
    }

    /// Mounted at another place each time it is started.
    @Test(arguments: [
        ("fuse.app.AppImage", "exe:/home/a/app.AppImage"), ("ext4", "exe:/tmp/.mount_appXYZ/usr/bin/app"),
    ])
    func anAppImage(_ type: String, _ app: String) throws {
        let process = try FakeProcess(
            executable: "/tmp/.mount_appXYZ/usr/bin/app", environment: ["APPIMAGE=/home/a/app.AppImage"])
        try process.folder.write(
            "36 35 98:0 / / rw,noatime - ext4 /dev/root rw\n36 35 0:9 / /tmp/.mount_appXYZ ro,nosuid - \(type) app ro\n",
            to: "42/mountinfo")
        try process.add("/home/a/app.AppImage", "\u{7F}ELF\u{2}\u{1}\u{1}\u{0}AI\u{2}")
        #expect(try process.app() == app)
        // It says it is another program, which is no AppImage.
        try process.add("/home/a/app.AppImage", "\u{7F}ELF\u{2}\u{1}\u{1}\u{0}\u{0}\u{0}\u{2}")
        #expect(try process.app() == "exe:/tmp/.mount_appXYZ/usr/bin/app")
    }

    /// Where the security module only watches it, and its description says that it is not confined.
    @Test(arguments: [
        ("snap.code.code (complain)", "classic", "exe:/usr/bin/app"), ("", "classic", "exe:/usr/bin/app"),
        ("snap.code.code (enforce)", "classic", "snap:code"), ("snap.code.code (complain)", "strict", "snap:code"),
        ("snap.code.code (complain)", nil, "snap:code"), ("/usr/bin/evince (enforce)", "classic", "exe:/usr/bin/app"),
    ])
    func classicSnaps(_ label: String, _ confinement: String?, _ app: String) throws {
        let process = try FakeProcess(
            controlGroup: "0::/user.slice/user@1000.service/app.slice/snap.code.code-1f.scope\n")
        if let confinement {
            try process.makeFolder("snap/code/current/meta")
            try process.folder.write(
                "name: code\nconfinement: \(confinement)\n", to: "snap/code/current/meta/snap.yaml")
        }
        let identity = AppIdentity(reader: process.reader, snapFolders: [process.folder.file("snap")])
        #expect(try identity.app(of: FakeProcess.pid, label: Array(label.utf8)).description == app)
    }
}
