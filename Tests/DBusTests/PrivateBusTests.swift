// The private bus and the child processes that the other tests rely on.

import DBus
import PermissionTestKit
import Testing

@Suite(.timeLimit(.minutes(3)))
struct PrivateBusTests {
    @Test(arguments: buses)
    func servesConnections(_ kind: PrivateBus.Kind) async throws {
        let bus = try await PrivateBus(kind)
        let connection = try await bus.connect()
        #expect(await connection.uniqueName.hasPrefix(":"))
        await connection.close()
        await bus.end()
    }

    @Test func childReportsLinesAndExitStatus() async throws {
        let script = "read word; echo \"got $word\"; printf last; exit 3"
        let child = try ChildProcess("sh", ["-c", script], standardInput: .pipe)
        child.write("water\n")
        var lines: [String] = []
        for await line in child.lines { lines.append(line) }
        #expect(lines == ["got water", "last"])
        #expect(await child.waitForExit() == .exited(3))
    }

    @Test func childIsTerminated() async throws {
        let child = try ChildProcess("sleep", ["1000"])
        child.terminate()
        #expect(await child.waitForExit() == .signaled(15))
    }

    @Test func missingProgramIsAnError() {
        #expect(throws: TestKitError.self) { try ChildProcess("/nonexistent/program") }
    }
}
