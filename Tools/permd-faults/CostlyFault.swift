// A sandboxed app makes calls that are costly to read: large arguments of the wrong type, large unknown options, long
// lists and texts, and large first calls of new connections. Other programs, new ones too, must be answered as before.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport

@LoopActor
final class CostlyFault {
    private let milliseconds: Int64
    private let devices: MockDevices
    private let report = Report("costly caller")

    /// The most milliseconds of another program's calls: of half of them, which shows that permd is not busy with the
    /// attack all the time, of the 99th percentile, which a person notices, and of all, on a busy machine.
    private static let limits = (median: 25.0, percentile99: 1000.0, longest: 5000.0)
    /// Calls of the other program between two of its new connections.
    private static let callsPerConnection = 8
    private static let timeout: Int32 = 10_000

    init(seconds: Int64, _ devices: MockDevices) {
        milliseconds = seconds * 1000
        self.devices = devices
    }

    func run() async -> Report {
        for kind in PrivateBus.Kind.allCases {
            for attack in CostlyAttack.allCases {
                for access in attack.accesses {
                    do { try await play(kind, attack, access) } catch {
                        report.lose("\(kind.rawValue), \(attack.rawValue), \(access.rawValue): \(error)")
                    }
                }
            }
        }
        for attack in CostlyAttack.allCases { report.expect("calls with \(attack.rawValue)") }
        return report
    }

    private func play(
        _ kind: PrivateBus.Kind, _ attack: CostlyAttack, _ access: FlatpakSandbox.Access
    ) async throws {
        let place = try await Place(bus: PrivateBus(kind), devices)
        _ = try await latencies(place)
        let sandbox = try await FlatpakSandbox("org.example.Costly", on: place.permd.bus, access: access)
        let words = sandbox.command + [BuiltProgram.own, "costly-caller", attack.rawValue]
        let attacker = try ChildProcess(
            words[0], Array(words.dropFirst()),
            environment: place.permd.environment.merging(sandbox.environment) { $1 }, standardInput: .pipe)
        var lines = attacker.lines.makeAsyncIterator()
        guard await lines.next() == "calling" else { throw TestKitError("the attack did not start") }
        let busy = try await latencies(place)
        attacker.closeInput()
        report.count("calls with \(attack.rawValue)", Int(await lines.next() ?? "") ?? 0)
        _ = await attacker.waitForExit()
        judge("\(kind.rawValue), \(attack.rawValue), \(access.rawValue)", busy)
        if !place.permd.isRunning { report.lose("\(kind.rawValue), \(attack.rawValue): permd exited") }
        if place.permd.log.all.contains(where: { $0.contains("was lost") }) {
            report.lose("\(kind.rawValue), \(attack.rawValue): the bus disconnected permd")
        }
        await place.end()
    }

    private func judge(_ what: String, _ times: [Double]) {
        let (half, late, most) = (times[times.count / 2], times[times.count * 99 / 100], times[times.count - 1])
        Report.say(
            "   \(what): \(times.count) calls of another program, median \(half.rounded()) ms, "
                + "p99 \(late.rounded()) ms, longest \(most.rounded()) ms")
        report.count("answers to another program", times.count)
        let limits = CostlyFault.limits
        if half > limits.median || late > limits.percentile99 || most > limits.longest {
            report.lose("\(what): another program waited \(half) ms, p99 \(late) ms, longest \(most) ms")
        }
    }

    /// The latencies of GetStatus in milliseconds, in ascending order. Some calls are the first of a new connection.
    private func latencies(_ place: Place) async throws -> [Double] {
        let end = Loop.uptimeMilliseconds() + milliseconds
        let message = Place.message(BusNames.access, "GetStatus", [.strings(["camera"])])
        var times: [Double] = []
        while times.isEmpty || Loop.uptimeMilliseconds() < end {
            let start = Loop.nanoseconds(of: CLOCK_MONOTONIC)
            let program = try place.permd.bus.connect()
            defer { program.close() }
            var began = start
            for _ in 0..<CostlyFault.callsPerConnection {
                _ = try await program.call(message, timeoutMilliseconds: CostlyFault.timeout)
                let now = Loop.nanoseconds(of: CLOCK_MONOTONIC)
                times.append(Double(now - began) / 1_000_000)
                await Place.pause(milliseconds: 1)
                began = Loop.nanoseconds(of: CLOCK_MONOTONIC)
            }
        }
        return times.sorted()
    }
}

enum CostlyAttack: String, CaseIterable {
    /// On one connection, 300 calls a second with 256 KiB of bytes or empty strings.
    case arguments
    /// On 32 connections, reasons of as many syllables in parts as permd reads.
    case texts
    /// On new connections, first calls of 15 MiB.
    case beginnings

    var accesses: [FlatpakSandbox.Access] { self == .arguments ? [.direct, .proxied] : [.direct] }
}

/// `permd-faults costly-caller ATTACK`: calls until its input ends, then prints how often it did.
struct CostlyCaller {
    private static let callsPerSecond = 300
    private static let bytes = [UInt8](repeating: 7, count: 256 << 10)
    private static let firstBytes = [UInt8](repeating: 7, count: 15 << 20)
    private static let strings = 32_000
    private static let connections = 32
    private static let newConnections = 8
    /// Hangul jamo, which are compared with their neighbours to find where a character ends.
    private static let text = String(repeating: "\u{1100}", count: 16_000)

    private let socket: String
    private var calls = 0

    static func main(_ word: String) -> Int32 {
        let address = getenv("DBUS_SESSION_BUS_ADDRESS").map { String(cString: $0) } ?? ""
        guard let attack = CostlyAttack(rawValue: word), address.hasPrefix("unix:path=") else { return 64 }
        var caller = CostlyCaller(socket: String(address.dropFirst("unix:path=".count).prefix { $0 != "," }))
        switch attack {
        case .arguments: caller.sendArguments()
        case .texts: caller.sendTexts()
        case .beginnings: caller.sendBeginnings()
        }
        Report.say("\(caller.calls)")
        return 0
    }

    private init(socket: String) { self.socket = socket }

    private mutating func sendArguments() {
        guard let peer = RawPeer(path: socket) else { return }
        var messages = [
            CostlyCaller.status(peer, "ay") { wire in wire.array(1) { $0.append(CostlyCaller.bytes) } },
            Attacker.request(
                peer, ["camera"],
                [("colour", "ay", { wire in wire.array(1) { $0.append(CostlyCaller.bytes) } })]),
            CostlyCaller.status(peer, "as") {
                $0.strings([String](repeating: "", count: CostlyCaller.strings))
            },
        ]
        Report.say("calling")
        while !Attacker.isOver() {
            let index = calls % messages.count
            Wire.setSerial(of: &messages[index], to: peer.nextSerial())
            guard peer.send(messages[index]) else { return }
            calls += 1
            while peer.receive(wait: false) != nil {}
            usleep(UInt32(1_000_000 / CostlyCaller.callsPerSecond))
        }
    }

    private mutating func sendTexts() {
        let peers = (0..<CostlyCaller.connections).compactMap { _ in RawPeer(path: socket) }
        let permissions = Permission.allCases.map(\.rawValue)
        let options: [(String, String, (inout Wire) -> Void)] = [
            ("interactive", "b", { $0.uint32(0) }),
            (
                "reasons", "a{ss}",
                { wire in
                    wire.array(8) { wire in
                        for permission in permissions {
                            wire.align(8)
                            wire.string(permission)
                            wire.string(CostlyCaller.text)
                        }
                    }
                }
            ),
        ]
        Report.say("calling")
        while !Attacker.isOver() {
            for peer in peers { peer.send(Attacker.request(peer, permissions, wantsReply: true, options)) }
            for peer in peers where peer.answer(to: peer.lastSerial) != nil { calls += 1 }
        }
    }

    private mutating func sendBeginnings() {
        Report.say("calling")
        while !Attacker.isOver() {
            let peers = (0..<CostlyCaller.newConnections).compactMap { _ in RawPeer(path: socket) }
            for peer in peers {
                peer.send(
                    CostlyCaller.status(peer, "ay") { wire in wire.array(1) { $0.append(CostlyCaller.firstBytes) } })
            }
            for peer in peers where peer.answer(to: peer.lastSerial) != nil { calls += 1 }
        }
    }

    private static func status(_ peer: RawPeer, _ signature: String, _ body: (inout Wire) -> Void) -> [UInt8] {
        peer.call(BusNames.service, Attacker.root, BusNames.access, "GetStatus", signature, body)
    }
}
