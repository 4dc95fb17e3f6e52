// Which process owns a connection, on both buses. A process that is younger than its connection is not identified.

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
@testable import System

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct CallerIdentifierTests {
    /// A /proc that shows this process with a start time chosen by the test.
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

    private static func identifier(
        _ connection: Connection, _ reader: ProcessReader = ProcessReader()
    ) -> CallerIdentifier {
        CallerIdentifier(
            connection: connection, processes: ProcessIdentifier(worker: Worker(), reader: reader),
            log: Logger(label: "test"))
    }

    private static func identifier(_ connection: Connection, startedAt ticks: UInt64) throws -> (
        CallerIdentifier, Disguise
    ) {
        let disguise = try Disguise(startedAt: ticks)
        let reader = ProcessReader(root: disguise.folder.path)
        return (CallerIdentifierTests.identifier(connection, reader), disguise)
    }

    /// Whether this process is identified, by a connection that appeared before the identifier did and one that appeared
    /// after it.
    private static func areIdentified(startedAt ticks: UInt64, on bus: FakeBus) async throws -> [Bool] {
        let connection = try bus.connect()
        let older = try bus.connect()
        let (identifier, disguise) = try identifier(connection, startedAt: ticks)
        let younger = try bus.connect()
        var results: [Bool] = []
        for name in [older.uniqueName, younger.uniqueName] {
            results.append(await identify(name, identifier) != nil)
        }
        withExtendedLifetime(disguise) {}
        for connection in [connection, older, younger] { connection.close() }
        return results
    }

    @Test func aProcessYoungerThanItsConnectionIsNotIdentified() async throws {
        let bus = try FakeBus(.processIDs)
        let now = Loop.uptimeMilliseconds()
        // A start time after the time limit of this test: such a process cannot be the one that connected.
        let younger = CallerIdentifierTests.ticks(now + 3_600_000)
        #expect(try await CallerIdentifierTests.areIdentified(startedAt: younger, on: bus) == [false, false])
        let older = CallerIdentifierTests.ticks(max(0, now - 10_000))
        #expect(try await CallerIdentifierTests.areIdentified(startedAt: older, on: bus) == [true, true])
    }

    /// A pidfd from the bus is of the process that connected, so no times are compared.
    @Test func aProcessWithAPidfdIsIdentified() async throws {
        let bus = try FakeBus(.pidfds)
        let younger = CallerIdentifierTests.ticks(Loop.uptimeMilliseconds() + 3_600_000)
        #expect(try await CallerIdentifierTests.areIdentified(startedAt: younger, on: bus) == [true, true])
    }

    /// With thousands of callers, a match rule for each would slow the bus. dbus-daemon reports the number of rules.
    @Test func callersAreWatchedByOneMatch() async throws {
        let bus = try await PrivateBus()
        let connection = try bus.connect()
        let identifier = CallerIdentifierTests.identifier(connection)
        let gone = EventLog<String>()
        identifier.onDeparture = { gone.add($0.connection) }
        let others = try (0..<20).map { _ in try bus.connect() }
        var counts: Set<UInt32> = []
        for other in others {
            #expect(await CallerIdentifierTests.identify(other.uniqueName, identifier) != nil)
            let item = Message.call(
                destination: Message.busName, path: "/org/freedesktop/DBus",
                interface: "org.freedesktop.DBus.Debug.Stats", member: "GetConnectionStats",
                [.string(connection.uniqueName)])
            let answer = try await connection.call(item).body.first?.properties?["MatchRules"]
            counts.insert(try #require(answer?.uint32Value))
        }
        #expect(counts == [1])
        for other in others { other.close() }
        try await gone.wait(for: others.count)
        #expect(Set(gone.all) == Set(others.map(\.uniqueName)) && identifier.cached(others[0].uniqueName) == nil)
        connection.close()
        await bus.end()
    }

    /// What the kernel reports about pidfds, which newer buses provide.
    @Test func pidfds() async throws {
        let child = try ChildProcess("sleep", ["1000"])
        let pidfd = UnixFD(owning: clinux_pidfd_open(child.pid, 0))
        #expect(Pidfd.pid(of: pidfd.raw) == child.pid && Pidfd.isAlive(pidfd.raw))
        child.terminate(SIGKILL)
        _ = await child.waitForExit()
        #expect(Pidfd.pid(of: pidfd.raw) == nil && !Pidfd.isAlive(pidfd.raw))
        // A descriptor that is not a pidfd belongs to no process.
        let file = UnixFD(owning: open("/dev/null", O_RDONLY | O_CLOEXEC))
        #expect(Pidfd.pid(of: file.raw) == nil)
    }
}
