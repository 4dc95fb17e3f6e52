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

    /// Whether the bus provides pidfds. They identify the process, so that no times have to be compared.
    private static func givesProcesses(_ connection: Connection) async throws -> Bool {
        let reply = try await connection.call(.busCall("GetConnectionCredentials", [.string(connection.uniqueName)]))
        return reply.body.first?.properties?["ProcessFD"] != nil
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

    @Test(arguments: PrivateBus.Kind.allCases)
    func aProcessYoungerThanItsConnectionIsNotIdentified(_ kind: PrivateBus.Kind) async throws {
        let bus = try await PrivateBus(kind)
        let begun = Loop.uptimeMilliseconds()
        let connection = try bus.connect()
        let older = try bus.connect()
        let isOld = try await !CallerIdentifierTests.givesProcesses(connection)
        // A start time after the time limit of this test: such a process cannot be the one that connected.
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

    /// With thousands of callers, a match rule for each would slow the bus. dbus-daemon reports the number of rules.
    @Test func callersAreWatchedByOneMatch() async throws {
        let bus = try await PrivateBus()
        let connection = try bus.connect()
        let identifier = CallerIdentifierTests.identifier(connection)
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
