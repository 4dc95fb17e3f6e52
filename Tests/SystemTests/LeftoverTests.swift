// Processes started by a test end with the test even if it fails, and with the test program even if it is killed.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct LeftoverTests {
    /// An environment variable of everything that a test here starts, inherited by descendants.
    private struct Mark {
        static let name = "PERMD_TEST_LEFTOVER"
        let value: String

        init() { value = "\(getpid())-\(UInt64.random(in: 1...UInt64.max))" }

        /// Returns the `/proc` files of the processes that have the variable.
        func holders() async throws -> [String] {
            let words = Superuser.command + ["sh", "-c", "grep -lszxF \"$1\" /proc/[0-9]*/environ", "sh"]
            let search = try ChildProcess(words[0], words.dropFirst() + ["\(Mark.name)=\(value)"])
            return await search.output().split(separator: "\n").map(String.init)
        }

        /// Polls until there are none: the test cannot wait for processes that are not its children.
        func vanishes() async throws {
            var left: [String] = []
            for _ in 0..<1000 {
                left = try await holders()
                if left.isEmpty { return }
            }
            throw TestKitError("these processes are left: \(left)")
        }
    }

    @LoopActor
    private struct Everything {
        let stage: Stage
        let broker: PrivateBus
        let others: [ChildProcess]
        let apps: [TestApp]
        let portal: DesktopPortal

        init(_ mark: String) async throws {
            let environment = [Mark.name: mark]
            stage = try await Stage(environment: environment)
            broker = try await PrivateBus(.broker)
            portal = try await DesktopPortal(on: stage.permd, backends: "/nonexistent", environment: environment)
            apps = [try await stage.app(), try await TestApp.flatpak("org.example.Left", on: stage.permd)]
            let asRoot = Superuser.command + ["sleep", "1000"]
            others = [
                try ChildProcess(asRoot[0], Array(asRoot.dropFirst()), environment: environment),
                try ChildProcess("sh", ["-c", "sleep 1000; true"], environment: environment),
            ]
        }
    }

    private struct Failure: Error {
        /// The folder of the mock devices.
        let folder: String
    }

    private func fail(_ mark: Mark) async throws {
        let everything = try await Everything(mark.value)
        #expect(try await mark.holders().count >= 5)
        withExtendedLifetime(everything) {}
        throw Failure(folder: everything.stage.devices.root)
    }

    @Test func aFailedTestLeavesNothing() async throws {
        let mark = Mark()
        let failure = await #expect(throws: Failure.self) { try await fail(mark) }
        try await mark.vanishes()
        let folder = try #require(failure?.folder)
        // Removed by a process without the mark.
        for _ in 0..<1000 where access(folder, F_OK) == 0 { _ = try await mark.holders() }
        #expect(access(folder, F_OK) != 0)
    }

    /// Runs itself in a second test program and kills that program.
    @Test func aKilledTestProgramLeavesNothing() async throws {
        if let mark = getenv(Mark.name) {
            let everything = try await Everything(String(cString: mark))
            let daemon = try ChildProcess(
                "setsid", ["--fork", "sleep", "1000"], environment: [Mark.name: String(cString: mark)])
            _ = await daemon.waitForExit()
            print("held")
            fflush(nil)
            let end = EventLog<Never>()
            await end.next()
            withExtendedLifetime(everything) {}
            return
        }
        let mark = Mark()
        let program = try ChildProcess(
            BuiltProgram.own, ["--testing-library", "swift-testing", "--filter", "aKilledTestProgramLeavesNothing"],
            environment: [Mark.name: mark.value])
        for await line in program.lines where line == "held" { break }
        #expect(try await mark.holders().count >= 7)
        program.terminate(SIGKILL)
        #expect(await program.waitForExit() == .signaled(SIGKILL))
        try await mark.vanishes()
    }
}
