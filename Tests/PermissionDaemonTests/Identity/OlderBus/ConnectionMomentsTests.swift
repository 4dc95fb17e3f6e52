// When connections appeared on a bus that gives no pidfds.

import CLinux
import DBus
import Glibc
import PermissionTestKit
import Synchronization
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct ConnectionMomentsTests {
    private static func ticks(_ milliseconds: Int64) -> UInt64 {
        UInt64(milliseconds) * UInt64(sysconf(Int32(_SC_CLK_TCK))) / 1000
    }

    /// A busy daemon reads the bus's signal late: the connection appeared earlier than that.
    @Test func aBusyDaemonIsNotDeceived() async throws {
        let bus = try FakeBus(.processIDs)
        let connection = try bus.connect()
        let late = Mutex<Int64>(0)
        let moments = try await ConnectionMomentsTests.moments(connection) {
            Loop.uptimeMilliseconds() + late.withLock { $0 }
        }
        let before = Loop.uptimeMilliseconds()
        let other = try bus.connect()
        // Long enough for every process ID to be assigned again.
        let delay: Int64 = 3_600_000
        late.withLock { $0 = delay }
        _ = try await connection.call(.busCall("GetId"))
        let started = ConnectionMomentsTests.ticks(before + delay / 2)
        #expect(!moments.wasThere(started, before: other.uniqueName, isHolder: false))
        // A program that started meanwhile and holds the connection's socket is the one that connected.
        #expect(moments.wasThere(started, before: other.uniqueName, isHolder: true))
        let later = ConnectionMomentsTests.ticks(before + delay * 2)
        #expect(!moments.wasThere(later, before: other.uniqueName, isHolder: true))
        let earlier = ConnectionMomentsTests.ticks(before - 1000)
        #expect(moments.wasThere(earlier, before: other.uniqueName, isHolder: false))
        #expect(!moments.wasThere(0, before: other.uniqueName + "9", isHolder: true))
        other.close()
        connection.close()
    }

    @Test func nothingIsRecordedWithPidfds() async throws {
        let bus = try FakeBus(.pidfds)
        let connection = try bus.connect()
        let moments = try await ConnectionMomentsTests.moments(connection)
        #expect(moments.busGivesProcesses && !moments.wasThere(0, before: connection.uniqueName, isHolder: true))
        connection.close()
    }

    /// An attacker who makes the bus cut permd's connection must not gain a later connection time. On another bus the
    /// same unique name belongs to another connection.
    @Test func connectionTimesSurviveAReconnect() async throws {
        let (bus, second) = (try FakeBus(.processIDs), try FakeBus(.processIDs))
        let other = try bus.connect()
        let there = try second.connect()
        let name = other.uniqueName
        try #require(there.uniqueName == name)
        let connection = try bus.connect()
        let first = try await ConnectionMomentsTests.moments(connection) { 1000 }
        connection.close()
        let start = ConnectionMomentsTests.ticks(1500)
        let again = try bus.connect()
        let continued = try await ConnectionMomentsTests.moments(again, first) { 2000 }
        #expect(!continued.wasThere(start, before: name, isHolder: true))
        let new = try await ConnectionMomentsTests.moments(again) { 2000 }
        #expect(new.wasThere(start, before: name, isHolder: true))
        let elsewhere = try await ConnectionMomentsTests.moments(there, first) { 2000 }
        #expect(elsewhere.wasThere(start, before: name, isHolder: true))
        for connection in [other, there, again] { connection.close() }
    }

    /// Returns once the connections on the bus are known.
    private static func moments(
        _ connection: Connection, _ old: ConnectionMoments? = nil,
        now: @escaping @LoopActor () -> Int64 = { Loop.uptimeMilliseconds() }
    ) async throws -> ConnectionMoments {
        let moments = ConnectionMoments(connection: connection, continuing: old, now: now)
        connection.onSignal(
            sender: Message.busName, interface: Message.busName, member: "NameOwnerChanged"
        ) { message in
            guard let name = message.body.first?.stringValue, name.hasPrefix(":") else { return }
            if message.body[2].stringValue == "" { moments.vanished(name) } else { moments.appeared(name) }
        }
        moments.start()
        _ = try await connection.call(.busCall("GetId"))
        return moments
    }
}
