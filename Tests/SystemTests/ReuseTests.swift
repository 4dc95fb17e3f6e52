// A bus connection that outlives its process, whose ID is then reused. Requires root, or sudo without a password: only
// root may choose the ID of a new process.

import DBus
import Foundation
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(3)))
@LoopActor
struct ReuseTests {
    private static let program = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "reuse.py").path

    @Test(arguments: PrivateBus.Kind.allCases)
    func aReusedProcessIDIsRefused(_ kind: PrivateBus.Kind) async throws {
        let stage = try await Stage(bus: try await PrivateBus(kind))
        #expect(
            try await ReuseTests.attack(stage) == """
                living: ok
                reused: AccessDenied

                """)
        try await stage.permd.log.first("why") { $0.contains("was not identified") }
        await stage.end()
    }

    private static func attack(_ stage: Stage) async throws -> String {
        let socket = String(stage.permd.bus.address.dropFirst("unix:path=".count))
        let words = (geteuid() == 0 ? [] : ["sudo", "-n"]) + ["python3", program, socket]
        return await (try ChildProcess(words[0], Array(words.dropFirst()))).output()
    }
}
