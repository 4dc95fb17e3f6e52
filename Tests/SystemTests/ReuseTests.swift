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
                late: AccessDenied
                late, beside a connection: AccessDenied

                """)
        try await stage.permd.log.first("why") { $0.contains("was not identified") }
        await stage.end()
    }

    /// permd learns of a closed connection a moment later; until then, it does not count against the caller.
    @Test(arguments: PrivateBus.Kind.allCases)
    func reconnectingCallersAreIdentified(_ kind: PrivateBus.Kind) async throws {
        let stage = try await Stage(bus: try await PrivateBus(kind))
        let address = stage.permd.bus.address
        let errors = try await RawBusClient.offLoop {
            // Each client is closed when it has its reply.
            try (0..<200).compactMap { _ in
                let client = try RawBusClient(address)
                let question = RawMessage.call(BusNames.service, BusNames.root, BusNames.policy, "ListRequests")
                return try client.call(question).errorName
            }
        }
        #expect(errors == [], "\(stage.permd.log.all.filter { $0.contains("was not identified") })")
        await stage.end()
    }

    /// Between fork(2) and execve(2), a child holds every connection of its parent, even those that the parent closes.
    @Test(arguments: PrivateBus.Kind.allCases)
    func forkingCallersAreIdentified(_ kind: PrivateBus.Kind) async throws {
        let stage = try await Stage(bus: try await PrivateBus(kind))
        let socket = String(stage.permd.bus.address.dropFirst("unix:path=".count))
        let asking = try ChildProcess("python3", [ReuseTests.program, socket, "fork"])
        #expect(await asking.output() == "forked: ok\n")
        await stage.end()
    }

    private static func attack(_ stage: Stage) async throws -> String {
        let socket = String(stage.permd.bus.address.dropFirst("unix:path=".count))
        let words = (geteuid() == 0 ? [] : ["sudo", "-n"]) + ["python3", program, socket]
        return await (try ChildProcess(words[0], Array(words.dropFirst()))).output()
    }
}
