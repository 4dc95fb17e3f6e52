// The program permd-pipewire: its arguments, and what it says without a bus.

import DBus
import PermissionTestKit
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ProgramTests {
    private func run(_ arguments: [String]) async throws -> (exit: ChildProcess.Exit, output: String, errors: String) {
        let child = try ChildProcess(
            "env", Superuser.without("sys_nice") + [BuiltProgram.path("permd-pipewire")] + arguments,
            environment: [
                "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent", "XDG_RUNTIME_DIR": "/nonexistent",
                "LIBDISPATCH_LOG": "stderr",
            ],
            standardError: .pipe)
        let output = await child.output()
        var errors = ""
        for await line in child.errorLines { errors += line + "\n" }
        return (await child.waitForExit(), output, errors)
    }

    @Test func helpAndVersion() async throws {
        let help = try await run(["--help"])
        #expect(help.exit == .exited(0) && help.output.hasPrefix("Usage: permd-pipewire\n"))
        let version = try await run(["--version"])
        #expect(version.exit == .exited(0) && version.output.hasPrefix("permd-pipewire "))
    }

    @Test(arguments: [["--nonsense"], ["file"], ["--help", "--more"]])
    func otherArgumentsAreRefused(_ arguments: [String]) async throws {
        let result = try await run(arguments)
        #expect(result.exit == .exited(64) && result.errors.contains("Usage:"))
    }

    @Test func withoutABus() async throws {
        let result = try await run([])
        #expect(result.exit == .exited(69) && !result.errors.isEmpty)
        // A library that may not raise the priority of its threads says so in the journal; there is one thread only.
        #expect(!result.errors.contains("thread priority"), "\(result.errors)")
    }
}
