// When connections appeared on a bus that gives no pidfds.

import CLinux
import DBus
import Glibc
import PermissionTestKit
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct ConnectionMomentsTests {
    private static func ticks(_ milliseconds: Int64) -> UInt64 {
        UInt64(milliseconds) * UInt64(sysconf(Int32(_SC_CLK_TCK))) / 1000
    }

    /// Whether the bus provides pidfds. They identify the process, so that no times have to be compared.
    private static func givesProcesses(_ connection: Connection) async throws -> Bool {
        let reply = try await connection.call(.busCall("GetConnectionCredentials", [.string(connection.uniqueName)]))
        return reply.body.first?.properties?["ProcessFD"] != nil
    }

    /// A busy daemon reads the bus's signal late: the connection appeared earlier than that.
    @Test(arguments: PrivateBus.Kind.allCases)
    func aBusyDaemonIsNotDeceived(_ kind: PrivateBus.Kind) async throws {
        let bus = try await PrivateBus(kind)
        let connection = try bus.connect()
        let isOld = try await !ConnectionMomentsTests.givesProcesses(connection)
        let moments = ConnectionMomentsTests.started(connection, nil)
        // Once the bus has replied, it has added the match rule.
        _ = try await connection.call(.busCall("GetId"))
        let before = Loop.uptimeMilliseconds()
        let other = try bus.connect()
        // Nothing is received meanwhile.
        while Loop.uptimeMilliseconds() < before + moments.harmlessDelay + 100 { sched_yield() }
        let after = Loop.uptimeMilliseconds()
        _ = try await connection.call(.busCall("GetId"))
        if isOld {
            let started = ConnectionMomentsTests.ticks(after - 50)
            #expect(!moments.wasThere(started, before: other.uniqueName, isHolder: false))
            // A program that started meanwhile and holds the connection's socket is the one that connected.
            #expect(moments.wasThere(started, before: other.uniqueName, isHolder: true))
            let later = ConnectionMomentsTests.ticks(Loop.uptimeMilliseconds() + 1000)
            #expect(!moments.wasThere(later, before: other.uniqueName, isHolder: true))
            let earlier = ConnectionMomentsTests.ticks(before - 1000)
            #expect(moments.wasThere(earlier, before: other.uniqueName, isHolder: false))
        } else {
            #expect(moments.busGivesProcesses)
        }
        let gone = other.uniqueName
        other.close()
        connection.close()
        #expect(!moments.wasThere(0, before: gone + "9", isHolder: true))
        await bus.stop()
    }

    /// An attacker who makes the bus cut permd's connection must not gain a later connection time. On another bus the
    /// same unique name belongs to another connection.
    @Test(arguments: PrivateBus.Kind.allCases)
    func connectionTimesSurviveAReconnect(_ kind: PrivateBus.Kind) async throws {
        let bus = try await PrivateBus(kind)
        let second = try await PrivateBus(kind)
        // Buses number their connections in the same way, but dbus-broker's first number varies.
        let others = try (0..<16).map { _ in try bus.connect() }
        let there = try (0..<16).map { _ in try second.connect() }
        let name = try #require(others.map(\.uniqueName).first { there.map(\.uniqueName).contains($0) })
        let connection = try bus.connect()
        if try await !ConnectionMomentsTests.givesProcesses(connection) {
            let moments = try await ConnectionMomentsTests.moments(connection, nil)
            let start = ConnectionMomentsTests.ticks(Loop.uptimeMilliseconds()) + 2
            while ConnectionMomentsTests.ticks(Loop.uptimeMilliseconds()) <= start { sched_yield() }
            connection.close()
            let again = try bus.connect()
            #expect(
                !(try await ConnectionMomentsTests.moments(again, moments)).wasThere(
                    start, before: name, isHolder: true)
            )
            #expect(try await ConnectionMomentsTests.moments(again, nil).wasThere(start, before: name, isHolder: true))
            #expect(
                try await ConnectionMomentsTests.moments(there[0], moments).wasThere(
                    start, before: name, isHolder: true)
            )
            again.close()
        }
        for connection in there + others + [connection] { connection.close() }
        await bus.stop()
        await second.stop()
    }

    /// Returns once the connections on the bus are known.
    private static func moments(
        _ connection: Connection, _ old: ConnectionMoments?
    ) async throws -> ConnectionMoments {
        let moments = started(connection, old)
        _ = try await connection.call(.busCall("GetId"))
        return moments
    }

    private static func started(_ connection: Connection, _ old: ConnectionMoments?) -> ConnectionMoments {
        let moments = ConnectionMoments(connection: connection, continuing: old)
        connection.onSignal(
            sender: Message.busName, interface: Message.busName, member: "NameOwnerChanged"
        ) { message in
            guard let name = message.body.first?.stringValue, name.hasPrefix(":") else { return }
            if message.body[2].stringValue == "" { moments.vanished(name) } else { moments.appeared(name) }
        }
        moments.start()
        return moments
    }
}
