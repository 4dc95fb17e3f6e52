// A login with systemd's user manager, a bus, and permd installed for that user, for tests of permd's systemd units.

import DBus
import Foundation
import Glibc
import PermissionTestKit
import TestSupport

/// Runs scripts/install as a user or a package builder does.
enum Installer {
    static let project = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path

    /// Returns the exit status and the combined output.
    static func run(
        _ arguments: [String], home: String = "/nonexistent"
    ) async throws -> (exit: ChildProcess.Exit, text: String) {
        let child = try ChildProcess(
            "sh", ["-c", "exec \"$0\" \"$@\" 2>&1", "\(project)/scripts/install"] + arguments,
            environment: ["HOME": home, "LC_ALL": "C.UTF-8"])
        let text = await child.output()
        return (await child.waitForExit(), text)
    }

    /// Installs the programs that were built together with the tests, and what scripts/build made for the kernel.
    static func install(_ arguments: [String], home: String = "/nonexistent") async throws {
        let built = try TemporaryFolder()
        guard symlink(BuiltProgram.folder, built.file("bin")) == 0,
            symlink("\(project)/dist/bpf", built.file("bpf")) == 0
        else {
            throw TestKitError("no link to the programs")
        }
        let result = try await run(["--from", built.path] + arguments, home: home)
        guard result.exit == .exited(0) else { throw TestKitError("scripts/install failed: \(result.text)") }
    }
}

@LoopActor
final class Login {
    private let folder: TemporaryFolder
    private let shell: ChildProcess
    private let lines = EventLog<String>()
    private var commands = 0

    var home: String { folder.file("home") }
    var state: String { folder.file("home/.local/state/permd") }

    /// - Parameters:
    ///   - settings: Lines for the `[Service]` section, in a drop-in of the unit.
    ///   - enabled: Whether the unit starts at login.
    init(_ settings: String = "", enabled: Bool = true) async throws {
        folder = try TemporaryFolder(["home"])
        let home = folder.file("home")
        try await Installer.install(["--prefix", "\(home)/.local"], home: home)
        let units = "home/.config/systemd/user"
        if !enabled { unlink(folder.file("\(units)/default.target.wants/permd.service")) }
        if !settings.isEmpty {
            guard mkdir(folder.file("\(units)/permd.service.d"), 0o755) == 0 else { throw TestKitError("no drop-in") }
            try folder.write("[Service]\n\(settings)\n", to: "\(units)/permd.service.d/test.conf")
        }
        // Control groups and another user require root.
        let command = Superuser.command + ["\(Installer.project)/scripts/as-login", folder.path]
        shell = try ChildProcess(
            command[0], Array(command.dropFirst()) + ["sh"], environment: [:], standardInput: .pipe)
        Task { [lines, output = shell.lines] in for await line in output { lines.add(line) } }
        try await succeed("PATH=$HOME/.local/bin:$PATH; systemctl --user is-system-running --wait")
    }

    /// Runs a command in the login's shell and waits until it has ended.
    func run(_ command: String) async throws -> (status: Int32, text: String) {
        commands += 1
        let mark = "end \(commands) "
        guard shell.write("{ \(command)\n} >\"$HOME/output\" 2>&1; echo \"\(mark)$?\"\n") else {
            throw TestKitError("the login's shell has exited: \(lines.all)")
        }
        let end = try await lines.first("the end of \(command)") { $0.hasPrefix(mark) }
        let text = try String(contentsOfFile: "\(home)/output", encoding: .utf8)
        return (Int32(end.dropFirst(mark.count)) ?? -1, text.trimmingCharacters(in: .whitespacesAndNewlines))
    }

    /// Runs a command that has to succeed, and returns its output.
    @discardableResult
    func succeed(_ command: String) async throws -> String {
        let result = try await run(command)
        guard result.status == 0 else { throw TestKitError("\(command) failed (\(result.status)): \(result.text)") }
        return result.text
    }

    /// Runs a command until it succeeds.
    func until(_ what: String, _ command: String) async throws {
        try await waitUntil(what) { try await run(command).status == 0 }
    }

    /// A property of permd's unit.
    func unit(_ property: String) async throws -> String {
        try await succeed("systemctl --user show --value --property \(property) permd")
    }

    /// Starts recording owner changes of org.permd, for ``nameCameBack(_:)``.
    func watchName() async throws {
        let match = "type='signal',member='NameOwnerChanged',arg0='org.permd'"
        guard shell.write("busctl --user monitor --match=\"\(match)\" 2>&1 &\n") else { return }
        try await lines.first("the monitor") { $0.hasPrefix("Monitoring") }
    }

    /// Waits until the name has been acquired again that many times.
    func nameCameBack(_ times: Int = 1) async throws {
        // busctl prints three arguments on consecutive lines: the name, its old owner, its new owner.
        try await lines.first("org.permd's return") { [lines] _ in
            let texts = lines.all.map { $0.drop { $0 == " " } }
            let returns = texts.indices.dropLast(2).filter { index in
                texts[index] == "STRING \"org.permd\";" && texts[index + 1] == "STRING \"\";"
                    && texts[index + 2].hasPrefix("STRING \":")
            }
            return returns.count >= times
        }
    }

    /// Logs out.
    func end() async {
        shell.closeInput()
        _ = await shell.waitForExit()
    }
}
