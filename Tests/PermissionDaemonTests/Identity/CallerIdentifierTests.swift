// Who is behind a connection, on both buses: a process that is younger than its connection is nobody.

import CLinux
import DBus
import Foundation
import Glibc
import Logging
import PermissionModel
import PermissionTestKit
import Testing

@testable import PermissionDaemon
@testable import ProcessIdentity

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct CallerIdentifierTests {
    /// This process, as a /proc whose start times the test says.
    private struct Disguise {
        let folder: TemporaryFolder

        init(startedAt ticks: UInt64) throws {
            let own = "\(getpid())"
            folder = try TemporaryFolder([own])
            for name in ["root", "exe", "cwd", "cgroup", "cmdline", "ns", "fd"] {
                try FileManager.default.createSymbolicLink(
                    atPath: folder.file("\(own)/\(name)"), withDestinationPath: "/proc/self/\(name)")
            }
            try FileManager.default.removeItem(atPath: folder.file("\(own)/exe"))
            try FileManager.default.createSymbolicLink(
                atPath: folder.file("\(own)/exe"), withDestinationPath: BuiltProgram.own)
            try FileManager.default.createSymbolicLink(
                atPath: folder.file("self"), withDestinationPath: "/proc/self")
            try folder.write("1 (a) S" + (4...21).map { " \($0)" }.joined() + " \(ticks) 23", to: "\(own)/stat")
        }
    }

    private static func ticks(_ milliseconds: Int64) -> UInt64 {
        UInt64(milliseconds) * UInt64(sysconf(Int32(_SC_CLK_TCK))) / 1000
    }

    private static func identify(_ name: String, _ identifier: CallerIdentifier) async -> Caller? {
        await withCheckedContinuation { continuation in
            identifier.identify(name) { continuation.resume(returning: $0) }
        }
    }

    /// A bus that gives pidfds says itself which process it is; there is nothing to compare.
    private static func givesProcesses(_ connection: Connection) async throws -> Bool {
        let reply = try await connection.call(.busCall("GetConnectionCredentials", [.string(connection.uniqueName)]))
        return reply.body.first?.properties?["ProcessFD"] != nil
    }

    private static func identifier(_ connection: Connection, startedAt ticks: UInt64) throws -> (
        CallerIdentifier, Disguise
    ) {
        let disguise = try Disguise(startedAt: ticks)
        let reader = ProcessReader(root: disguise.folder.path)
        return (CallerIdentifier(connection: connection, log: Logger(label: "test"), reader: reader), disguise)
    }

    @Test(arguments: PrivateBus.Kind.allCases)
    func aProcessYoungerThanItsConnectionIsNobody(_ kind: PrivateBus.Kind) async throws {
        let bus = try await PrivateBus(kind)
        let begun = Loop.uptimeMilliseconds()
        let connection = try bus.connect()
        let older = try bus.connect()
        let isOld = try await !CallerIdentifierTests.givesProcesses(connection)
        // Started after this test, whose time is limited: whoever has the number then is not who connected.
        let (identifier, disguise) = try CallerIdentifierTests.identifier(
            connection, startedAt: CallerIdentifierTests.ticks(begun + 3_600_000))
        let (honest, other) = try CallerIdentifierTests.identifier(
            connection, startedAt: CallerIdentifierTests.ticks(max(0, begun - 10_000)))
        let younger = try bus.connect()
        for name in [older.uniqueName, younger.uniqueName, connection.uniqueName] {
            #expect((await CallerIdentifierTests.identify(name, identifier) == nil) == isOld)
            #expect(await CallerIdentifierTests.identify(name, honest) != nil)
        }
        withExtendedLifetime((disguise, other)) {}
        for connection in [connection, older, younger] { connection.close() }
        await bus.stop()
    }

    /// Also when the daemon is slow to hear of it: the connection appeared before, not when that was read.
    @Test(arguments: PrivateBus.Kind.allCases)
    func aDaemonThatIsBusyIsNotTakenIn(_ kind: PrivateBus.Kind) async throws {
        let bus = try await PrivateBus(kind)
        let connection = try bus.connect()
        let isOld = try await !CallerIdentifierTests.givesProcesses(connection)
        let moments = ConnectionMoments(connection: connection)
        moments.start()
        // The bus has the match when it has answered.
        _ = try await connection.call(.busCall("GetId"))
        let before = Loop.uptimeMilliseconds()
        let other = try bus.connect()
        // Nothing is read meanwhile.
        while Loop.uptimeMilliseconds() < before + moments.harmlessDelay + 100 { sched_yield() }
        let after = Loop.uptimeMilliseconds()
        _ = try await connection.call(.busCall("GetId"))
        if isOld {
            let started = CallerIdentifierTests.ticks(after - 50)
            #expect(!moments.wasThere(started, before: other.uniqueName, isHolder: false))
            // A program that started meanwhile and holds the connection's socket is the one that connected.
            #expect(moments.wasThere(started, before: other.uniqueName, isHolder: true))
            let later = CallerIdentifierTests.ticks(Loop.uptimeMilliseconds() + 1000)
            #expect(!moments.wasThere(later, before: other.uniqueName, isHolder: true))
            let earlier = CallerIdentifierTests.ticks(before - 1000)
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

    /// Whoever has our connection cut is not younger than that for it; on another bus the same name is another's.
    @Test(arguments: PrivateBus.Kind.allCases)
    func aCutConnectionForgetsNothing(_ kind: PrivateBus.Kind) async throws {
        let bus = try await PrivateBus(kind)
        let second = try await PrivateBus(kind)
        // Buses number their connections alike, dbus-broker from one that is not always the same.
        let others = try (0..<16).map { _ in try bus.connect() }
        let there = try (0..<16).map { _ in try second.connect() }
        let name = try #require(others.map(\.uniqueName).first { there.map(\.uniqueName).contains($0) })
        let connection = try bus.connect()
        if try await !CallerIdentifierTests.givesProcesses(connection) {
            let moments = try await CallerIdentifierTests.moments(connection, nil)
            let start = CallerIdentifierTests.ticks(Loop.uptimeMilliseconds()) + 2
            while CallerIdentifierTests.ticks(Loop.uptimeMilliseconds()) <= start { sched_yield() }
            connection.close()
            let again = try bus.connect()
            #expect(
                !(try await CallerIdentifierTests.moments(again, moments)).wasThere(start, before: name, isHolder: true)
            )
            #expect(try await CallerIdentifierTests.moments(again, nil).wasThere(start, before: name, isHolder: true))
            #expect(
                try await CallerIdentifierTests.moments(there[0], moments).wasThere(start, before: name, isHolder: true)
            )
            again.close()
        }
        for connection in there + others + [connection] { connection.close() }
        await bus.stop()
        await second.stop()
    }

    /// Once it knows who is there.
    private static func moments(
        _ connection: Connection, _ old: ConnectionMoments?
    ) async throws -> ConnectionMoments {
        let moments = ConnectionMoments(connection: connection, continuing: old)
        moments.start()
        _ = try await connection.call(.busCall("GetId"))
        return moments
    }

    /// A match for each would make the bus slow for everybody when there are thousands. dbus-daemon tells how many there are.
    @Test func callersAreWatchedByOneMatch() async throws {
        let bus = try await PrivateBus()
        let connection = try bus.connect()
        let identifier = CallerIdentifier(connection: connection, log: Logger(label: "test"))
        let gone = EventLog<String>()
        identifier.onLeft = { gone.add($0) }
        let others = try (0..<20).map { _ in try bus.connect() }
        var counts: Set<UInt32> = []
        for other in others {
            #expect(await CallerIdentifierTests.identify(other.uniqueName, identifier) != nil)
            let question = Message.call(
                destination: Message.busName, path: "/org/freedesktop/DBus",
                interface: "org.freedesktop.DBus.Debug.Stats", member: "GetConnectionStats",
                [.string(connection.uniqueName)])
            let answer = try await connection.call(question).body.first?.properties?["MatchRules"]
            counts.insert(try #require(answer?.uint32Value))
        }
        #expect(counts == [1])
        for other in others { other.close() }
        try await gone.wait(for: others.count)
        #expect(Set(gone.all) == Set(others.map(\.uniqueName)) && identifier.cached(others[0].uniqueName) == nil)
        connection.close()
        await bus.stop()
    }

    /// What a bus has that gives pidfds, as the kernel tells of them.
    @Test func pidfds() async throws {
        let child = try ChildProcess("sleep", ["1000"])
        let pidfd = UnixFD(owning: clinux_pidfd_open(child.pid, 0))
        #expect(Pidfd.pid(of: pidfd.raw) == child.pid && Pidfd.isAlive(pidfd.raw))
        child.terminate(SIGKILL)
        _ = await child.waitForExit()
        #expect(Pidfd.pid(of: pidfd.raw) == nil && !Pidfd.isAlive(pidfd.raw))
        // What is no pidfd is of nobody.
        let file = UnixFD(owning: open("/dev/null", O_RDONLY | O_CLOEXEC))
        #expect(Pidfd.pid(of: file.raw) == nil)
    }
}
