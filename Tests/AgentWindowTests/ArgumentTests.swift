// The arguments of permd-agent, which are all read before anything starts.

import DBus
import PermissionTestKit
import Testing

@Suite
@LoopActor
struct ArgumentTests {
    @Test(arguments: [
        (["--nonsense"], 64), (["--idle", "1", "--nonsense"], 64), (["--idle"], 64), (["--idle", "x"], 64),
        (["--portal"], 64), (["--synthetic-input", "maybe"], 64), (["--help"], 0), (["--idle", "1", "--help"], 0),
        (["--version"], 0),
    ])
    func argumentsAreReadWhole(_ arguments: [String], _ status: Int) async throws {
        let agent = try ChildProcess(BuiltProgram.path("permd-agent"), arguments)
        #expect(await agent.waitForExit() == .exited(Int32(status)))
    }
}
