// The program permd-indicator: its arguments, and its exit statuses.

import DBus
import PermissionModel
import PermissionTestKit
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct ProgramTests {
    private func run(
        _ arguments: [String] = [], _ environment: [String: String]
    ) async throws -> (exit: ChildProcess.Exit, output: String, errors: String) {
        let child = try ChildProcess(
            BuiltProgram.path("permd-indicator"), arguments, environment: environment, standardError: .pipe)
        let output = await child.output()
        var errors = ""
        for await line in child.errorLines { errors += line + "\n" }
        return (await child.waitForExit(), output, errors)
    }

    private static let noBus = [
        "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent", "XDG_RUNTIME_DIR": "/nonexistent",
    ]

    @Test func helpAndVersion() async throws {
        let help = try await run(["--help"], ProgramTests.noBus)
        #expect(help.exit == .exited(0) && help.output.hasPrefix("Usage: permd-indicator\n"))
        let version = try await run(["--version"], ProgramTests.noBus)
        #expect(version.exit == .exited(0) && version.output.hasPrefix("permd-indicator "))
    }

    @Test(arguments: [["--nonsense"], ["file"], ["--help", "--more"]])
    func otherArgumentsAreRefused(_ arguments: [String]) async throws {
        let result = try await run(arguments, ProgramTests.noBus)
        #expect(result.exit == .exited(64) && result.errors.contains("Usage:"))
    }

    @Test func withoutABus() async throws {
        let result = try await run([], ProgramTests.noBus)
        #expect(result.exit == .exited(69) && !result.errors.isEmpty)
    }

    @Test func withoutPermd() async throws {
        let bus = try await PrivateBus()
        let result = try await run([], bus.environment)
        #expect(result.exit == .exited(69) && !result.errors.isEmpty)
        await bus.end()
    }

    /// Neither a panel nor a notification server is an error.
    @Test func nothingIsInUse() async throws {
        let stage = try await IndicatorStage()
        let result = try await run([], stage.permd.environment)
        #expect(result.exit == .exited(0) && result.output + result.errors == "")
        await stage.end()
    }

    @Test func aSecondIndicatorEnds() async throws {
        let stage = try await IndicatorStage()
        try await stage.use()
        try await stage.owners.wait(for: 1)
        let second = try await run([], stage.permd.environment)
        #expect(second.exit == .exited(0) && second.errors == "")
        #expect(stage.owners.all.count == 1)
        await stage.end()
    }
}
