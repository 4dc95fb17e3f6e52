// Attacks by any peer on permd's bus connection: forcing a disconnect, and exhausting descriptors and memory.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct TransportTests {
    private nonisolated static let hostileCall = RawMessage.call(
        BusNames.service, BusNames.root, BusNames.access, "GetStatus")

    // MARK: A connection that is cut

    /// libdbus accepts no array above 64 MiB and closes the connection on which one arrives; dbus-broker forwards it.
    /// While dbus-broker holds that much data of a user, it may disconnect other programs of the user, even the test.
    @Test func anArrayThatLibdbusRefuses() async throws {
        for _ in 0..<4 {
            do {
                return try await cutByAnArray()
            } catch let error as BusError where error.name == BusError.Name.disconnected {}
        }
        try await cutByAnArray()
    }

    private func cutByAnArray() async throws {
        let stage = try await Stage(bus: try await PrivateBus(.broker))
        try await theServiceComesBack(stage) {
            let address = stage.permd.bus.address
            try await RawBusClient.offLoop {
                var call = TransportTests.hostileCall
                (call.signature, call.body) = ("ay", RawMessage.zeros(65 << 20))
                let client = try RawBusClient(address)
                try client.send(call)
                try client.settle()
            }
        }
    }

    /// A header field that dbus-broker does not know and forwards, and for which libdbus expects another type (10,
    /// CONTAINER_INSTANCE): a hundred bytes cut any service's connection. Repeating this must not leak descriptors.
    @Test func aHeaderFieldThatLibdbusRefuses() async throws {
        let stage = try await Stage(bus: try await PrivateBus(.broker))
        try await theServiceComesBack(stage) {
            let first = try await cutByAField(stage)
            for _ in 0..<6 { _ = try await cutByAField(stage) }
            #expect(try await cutByAField(stage) <= first + 2)
        }
    }

    /// A peer queued for the name gets it when permd is disconnected, keeps it, and disconnects permd once more.
    @Test func aNameThatIsTakenMeanwhile() async throws {
        let stage = try await Stage(bus: try await PrivateBus(.broker))
        let pid = stage.permd.pid
        try await theServiceComesBack(stage) {
            let address = stage.permd.bus.address
            let thief = try await RawBusClient.offLoop {
                let thief = try RawBusClient(address)
                let name = RawMessage.string(BusNames.service) + [0, 0]
                _ = try thief.call(
                    .call(
                        "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName",
                        signature: "su", body: name + RawMessage.number(0)))
                return thief
            }
            try await cut(BusNames.service, on: stage)
            let waits = "waits until it is free"
            try await stage.permd.log.first { $0.contains(waits) }
            let names = try await uniqueNames(of: pid, on: stage)
            #expect(names.count == 1)
            for name in names { try await cut(name, on: stage) }
            try await stage.permd.log.first { _ in stage.permd.log.all.count { $0.contains(waits) } == 2 }
            withExtendedLifetime(thief) {}
        }
    }

    private func uniqueNames(of pid: Int32, on stage: Stage) async throws -> [String] {
        let connection = try stage.permd.bus.connect()
        defer { connection.close() }
        var found: [String] = []
        for name in try await connection.call(.busCall("ListNames")).body.first?.strings ?? [] where name.hasPrefix(":")
        {
            let owner = try? await connection.call(.busCall("GetConnectionUnixProcessID", [.string(name)]))
            if owner?.body.first?.uint32Value == UInt32(pid) { found.append(name) }
        }
        return found
    }

    private func cut(_ destination: String, on stage: Stage) async throws {
        let address = stage.permd.bus.address
        try await RawBusClient.offLoop {
            var call = TransportTests.hostileCall
            call.destination = destination
            call.furtherFields = [(10, "no path")]
            let client = try RawBusClient(address)
            try client.send(call)
            try client.settle()
        }
    }

    /// Disconnects permd and returns the number of descriptors that it has open once it is back.
    private func cutByAField(_ stage: Stage) async throws -> Int {
        let before = Set(stage.permd.log.all)
        try await cut(BusNames.service, on: stage)
        try await stage.permd.log.first { $0.contains("serves org.permd again") && !before.contains($0) }
        return try FileManager.default.contentsOfDirectory(atPath: "/proc/\(stage.permd.pid)/fd").count
    }

    /// On both buses, receiving more descriptors than the process may have cuts the connection as well.
    @Test(arguments: PrivateBus.Kind.allCases)
    func descriptorsBeyondTheLimit(_ kind: PrivateBus.Kind) async throws {
        let stage = try await Stage(bus: try await PrivateBus(kind))
        let pid = stage.permd.pid
        try await theServiceComesBack(stage) {
            let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count
            try await Self.limitDescriptors(of: pid, to: open + 2)
            let address = stage.permd.bus.address
            try await RawBusClient.offLoop {
                let file = UnixFD(owning: Glibc.open("/dev/null", O_RDONLY))
                let client = try RawBusClient(address)
                try client.send(
                    TransportTests.hostileCall, descriptors: [Int32](repeating: file.raw, count: 16))
                try client.settle()
            }
        }
    }

    /// Checks that everything acknowledged before `cut` is still there afterwards, in the same process.
    private func theServiceComesBack(_ stage: Stage, _ cut: () async throws -> Void) async throws {
        let pid = stage.permd.pid
        let agent = try await stage.agent([.grant(.once), .grant(.always)])
        let app = try await stage.app()
        try await stage.set("deny", AppID("exe:/a")!, .microphone)
        try await app.request("once", [.camera])
        #expect(try await app.response("once").hasPrefix("0 "))
        let decisions = try await stage.decisions()
        #expect(decisions.count == 2)

        try await cut()
        try await stage.permd.log.first { $0.contains("serves org.permd again") }
        #expect(stage.permd.pid == pid)
        try await Self.limitDescriptors(of: pid, to: nil)
        #expect(try await stage.decisions() == decisions)
        let cameras = try await stage.call(BusNames.devices, "ListDevices", [.string("camera")])
        #expect(cameras.first?.rows?.count == 1)

        // Everything works: agents register, prompts are shown, decisions are stored and end with their process.
        try await agent.register(level: nil)
        try await app.request("again", [.microphone])
        #expect(try await app.response("again").hasPrefix("0 "))
        #expect(try await stage.decisions().count == 3)
        let signals = try await stage.signals(BusNames.policy)
        await app.end()
        try await signals.first { $0.hasPrefix("DecisionChanged") && $0.hasSuffix("camera ") }
        #expect(await stage.permd.stop() == .exited(0))
        await stage.end()
    }

    // MARK: Descriptors

    /// The kernel counts a user's descriptors in flight over all processes: one test at a time.
    @Suite(.serialized)
    @LoopActor
    struct DescriptorsInFlight {
        /// Callers that are not identified yet send calls with as many descriptors as the bus forwards.
        @Test(arguments: PrivateBus.Kind.allCases)
        func floodsOfDescriptors(_ kind: PrivateBus.Kind) async throws {
            let stage = try await Stage(bus: try await PrivateBus(kind))
            let pid = stage.permd.pid
            // The unit allows far more. The limit is lower here because there are fewer callers than in a real flood.
            try await TransportTests.limitDescriptors(of: pid, to: 512)
            let address = stage.permd.bus.address
            let count = kind == .daemon ? 16 : 253
            // The kernel limits an ordinary user's descriptors in flight to what a process may have, 1024 by default
            // (unix(7), ETOOMANYREFS); dbus-broker 33 exits at that limit. Three messages exceed permd's limit.
            let messages = kind == .daemon || geteuid() == 0 ? 60 : 3
            for _ in 0..<4 {
                // dbus-broker may disconnect the caller: an ordinary user's descriptors in flight are limited.
                let refusal = try? await RawBusClient.offLoop {
                    let file = UnixFD(owning: Glibc.open("/dev/null", O_RDONLY))
                    let descriptors = [Int32](repeating: file.raw, count: count)
                    let client = try RawBusClient(address)
                    for _ in 1..<messages { try client.send(TransportTests.hostileCall, descriptors: descriptors) }
                    return try client.call(TransportTests.hostileCall, descriptors: descriptors)
                }
                #expect(refusal != nil || kind == .broker)
                if let refusal { #expect(refusal.errorName == "org.permd.Error.InvalidArguments") }
            }
            // dbus-broker may have disconnected the test's first connection: the limit is per user.
            let other = try stage.permd.bus.connect()
            let status = Message.call(
                destination: BusNames.service, path: BusNames.root, interface: BusNames.access, member: "GetStatus",
                [.strings([])])
            _ = try await other.call(status)
            other.close()
            #expect(stage.permd.pid == pid)
            #expect(!stage.permd.log.all.contains { $0.contains("was lost") })
            await stage.end()
        }

        /// The kernel passes no descriptor on while more of the user than permd may have open are on their way: the caller gets
        /// an error, and the descriptor as soon as that is over.
        @Test func descriptorsOnTheirWay() async throws {
            let ordinary = Superuser.without("sys_resource", "sys_admin")
            let stage = try await Stage(through: ["prlimit", "--nofile=128:128"] + ordinary)
            let app = try await stage.app()
            try await stage.set("grant", app.id, .camera)
            try await opensAtLast(app)
            let script = """
                import os, socket, sys
                sender, receiver = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
                socket.send_fds(sender, [b"x"], [os.open("/dev/null", os.O_RDONLY)] * 200)
                print("sent", flush=True)
                sys.stdin.read()
                """
            let attacker = try ChildProcess("/usr/bin/python3", ["-c", script], standardInput: .pipe)
            for await _ in attacker.lines { break }
            let refusal = try await app.ask("open camera")
            #expect(refusal.hasPrefix("LimitExceeded retryable: too many descriptors"), "\(refusal)")
            attacker.terminate()
            _ = await attacker.waitForExit()
            try await opensAtLast(app)
            await stage.end()
        }

        /// Other tests of this user have descriptors on their way, too; there is no event for their end.
        private func opensAtLast(_ app: TestApp) async throws {
            var answer = ""
            for _ in 0..<20_000 {
                answer = try await app.ask("open camera")
                guard answer.hasPrefix("LimitExceeded") else { break }
            }
            #expect(answer.hasPrefix("ok"), "\(answer)")
        }
    }

    /// Sets the soft limit; nil raises it to the hard limit.
    private static func limitDescriptors(of pid: Int32, to count: Int?) async throws {
        let hard = try String(contentsOfFile: "/proc/\(pid)/limits", encoding: .utf8).split(separator: "\n")
            .first { $0.hasPrefix("Max open files") }?.split(separator: " ").dropLast().last
        let limit = if let count { "\(count)" } else { String(try #require(hard)) }
        let child = try ChildProcess("prlimit", ["--pid", "\(pid)", "--nofile=\(limit):"], standardError: .null)
        #expect(await child.waitForExit() == .exited(0))
    }

    /// Whatever the limit, permd exits with a clear message and status 71.
    @Test(arguments: Array(4...20) + [63])
    func tooFewDescriptors(_ count: Int) async throws {
        let child = try ChildProcess(
            "sh", ["-c", "ulimit -n \(count); exec \"$0\"", BuiltProgram.path("permd")],
            environment: ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent/bus"], standardError: .pipe)
        var errors: [String] = []
        for await line in child.errorLines { errors.append(line) }
        #expect(await child.waitForExit() == .exited(71), "\(errors)")
        #expect(errors.contains { $0.contains("may have \(count) file descriptors and needs 64") }, "\(errors)")
    }

    // MARK: Memory

    /// Two arrays of 63 MiB make nearly the largest message possible. permd holds one at a time, and none afterwards.
    @Test(arguments: PrivateBus.Kind.allCases)
    func theLargestMessages(_ kind: PrivateBus.Kind) async throws {
        let stage = try await Stage(bus: try await PrivateBus(kind))
        let pid = stage.permd.pid
        let address = stage.permd.bus.address
        let array = RawMessage.zeros(63 << 20)
        var call = TransportTests.hostileCall
        (call.signature, call.body) = ("ayay", array + array)
        let large = call
        // dbus-broker disconnects a caller while others of the same user have that much in flight.
        let atOnce = kind == .daemon ? 4 : 1
        for _ in 0..<(4 / atOnce) {
            try await withThrowingTaskGroup { group in
                for _ in 0..<atOnce {
                    group.addTask {
                        let answer = try await RawBusClient.offLoop { try RawBusClient(address).call(large) }
                        #expect(answer.errorName == BusError.Name.limitsExceeded)
                    }
                }
                try await group.waitForAll()
            }
        }
        _ = try await stage.call(BusNames.access, "GetStatus", [.strings([])])
        #expect(stage.permd.pid == pid)
        let allowed = try TransportTests.memoryMaximum()
        let peak = try TransportTests.kilobytes("VmHWM", of: pid)
        #expect(peak < allowed)
        let afterwards = try TransportTests.kilobytes("VmRSS", of: pid)
        #expect(afterwards < 80 << 10)
        await stage.end()
    }

    /// The unit's MemoryMax in KiB.
    private static func memoryMaximum() throws -> Int {
        let project = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let unit = try String(contentsOf: project.appending(path: "systemd/permd.service"), encoding: .utf8)
        let line = try #require(unit.split(separator: "\n").first { $0.hasPrefix("MemoryMax=") })
        return try #require(Int(line.dropFirst("MemoryMax=".count).dropLast())) << 10
    }

    private static func kilobytes(_ field: String, of pid: Int32) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("\(field):") })
        return try #require(line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) })
    }
}
