// How many connections each process has. The bus is asked about a bounded number of connections at a time.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import Testing

@testable import ProcessIdentity

@Suite(.timeLimit(.minutes(2)))
@LoopActor
struct ConnectionProcessesTests {
    private static func known(_ processes: ConnectionProcesses) async {
        await withCheckedContinuation { continuation in processes.whenKnown { continuation.resume() } }
    }

    @Test(arguments: PrivateBus.Kind.allCases)
    func connectionsAreCountedForTheirProcess(_ kind: PrivateBus.Kind) async throws {
        let bus = try await PrivateBus(kind)
        let connection = try bus.connect()
        let processes = ConnectionProcesses(connection: connection)
        let others = try (0..<5).map { _ in try bus.connect() }
        for name in others.map(\.uniqueName) + [connection.uniqueName, connection.uniqueName, ":9.1234567"] {
            processes.appeared(name)
        }
        #expect(processes.count(getpid()) == 0 && processes.isAsked(others[0].uniqueName))
        await ConnectionProcessesTests.known(processes)
        #expect(processes.count(getpid()) == 6 && !processes.isAsked(others[0].uniqueName))
        processes.vanished(others[0].uniqueName)
        processes.vanished(others[0].uniqueName)
        processes.vanished(":9.1234567")
        #expect(processes.count(getpid()) == 5)
        for connection in others + [connection] { connection.close() }
        await bus.end()
    }

    @Test(arguments: PrivateBus.Kind.allCases)
    func theBusIsAskedAboutAFewConnectionsAtATime(_ kind: PrivateBus.Kind) async throws {
        let bus = try await PrivateBus(kind)
        let connection = try bus.connect()
        let processes = ConnectionProcesses(connection: connection)
        for number in 0..<20_000 {
            processes.appeared(":9.\(number)")
            // Most leave before the bus could be asked about them.
            if number % 10 != 0 { processes.vanished(":9.\(number)") }
            #expect(processes.asked <= ConnectionProcesses.maximumAsked)
        }
        processes.appeared(connection.uniqueName)
        await ConnectionProcessesTests.known(processes)
        #expect(processes.count(getpid()) == 1 && processes.asked == 0)
        connection.close()
        await bus.end()
    }
}
