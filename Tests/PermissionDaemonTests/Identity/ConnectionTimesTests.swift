// When connections appeared on a bus that gives no pidfds.

import CLinux
import DBus
import Glibc
import PermissionTestKit
import Testing

@testable import ProcessIdentity

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct ConnectionTimesTests {
    private static func ticks(_ milliseconds: Int64) -> UInt64 {
        UInt64(milliseconds) * UInt64(sysconf(Int32(_SC_CLK_TCK))) / 1000
    }

    @Test func onlyAnOlderProcessWasThere() async throws {
        let bus = try FakeBus(.processIDs)
        let connection = try bus.connect()
        let times = try await ConnectionTimesTests.times(connection) { 2000 }
        let other = try bus.connect()
        _ = try await connection.call(.busCall("GetId"))
        #expect(times.wasThere(ConnectionTimesTests.ticks(1990), before: other.uniqueName))
        #expect(!times.wasThere(ConnectionTimesTests.ticks(2010), before: other.uniqueName))
        #expect(!times.wasThere(0, before: other.uniqueName + "9"))
        other.close()
        connection.close()
    }

    @Test func nothingIsRecordedWithPidfds() async throws {
        let bus = try FakeBus(.pidfds)
        let connection = try bus.connect()
        let times = try await ConnectionTimesTests.times(connection)
        #expect(times.busGivesProcesses && !times.wasThere(0, before: connection.uniqueName))
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
        let first = try await ConnectionTimesTests.times(connection) { 1000 }
        connection.close()
        let start = ConnectionTimesTests.ticks(1500)
        let again = try bus.connect()
        let continued = try await ConnectionTimesTests.times(again, first) { 2000 }
        #expect(!continued.wasThere(start, before: name))
        let new = try await ConnectionTimesTests.times(again) { 2000 }
        #expect(new.wasThere(start, before: name))
        let elsewhere = try await ConnectionTimesTests.times(there, first) { 2000 }
        #expect(elsewhere.wasThere(start, before: name))
        for connection in [other, there, again] { connection.close() }
    }

    /// Returns once the connections on the bus are known.
    private static func times(
        _ connection: Connection, _ old: ConnectionTimes? = nil,
        now: @escaping @LoopActor () -> Int64 = { Loop.uptimeMilliseconds() }
    ) async throws -> ConnectionTimes {
        let times = ConnectionTimes(connection: connection, continuing: old, now: now)
        connection.onSignal(
            sender: Message.busName, interface: Message.busName, member: "NameOwnerChanged"
        ) { message in
            guard let name = message.body.first?.stringValue, name.hasPrefix(":") else { return }
            if message.body[2].stringValue == "" { times.vanished(name) } else { times.appeared(name) }
        }
        times.start()
        _ = try await connection.call(.busCall("GetId"))
        return times
    }
}
