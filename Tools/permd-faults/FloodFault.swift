// One program calls permd as fast as it can; calls of another program must not take longer than its own. Another flood
// never reads a reply and so fills the bus itself: permd must keep running and serve as before once it ends.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit

@LoopActor
final class FloodFault {
    private let rounds: Int
    private let devices: MockDevices
    private let report = Report("flood")

    /// The maximum ratio of the other program's median latency to that of the flood. Apps are served in turn, so calls
    /// that one has in flight do not delay another.
    private static let limit = 2.0
    private static let calls = 1500
    /// The duration in milliseconds of the flood with unread replies: several times what fills every queue of the bus.
    private static let unreadTime = 3000
    /// The time limit in milliseconds for processing everything queued.
    private static let recovery = 20_000

    init(_ seed: UInt64, rounds: Int, _ devices: MockDevices) {
        self.rounds = rounds
        self.devices = devices
    }

    func run() async -> Report {
        do { try await play() } catch { report.lose("\(error)") }
        for kind in PrivateBus.Kind.allCases {
            do { try await playUnread(kind) } catch { report.lose("\(kind.rawValue), answers unread: \(error)") }
        }
        for what in ["calls of the flood", "MiB of calls, answers unread", "decisions kept"] { report.expect(what) }
        return report
    }

    private func play() async throws {
        let place = try await Place(devices)
        // A copy, which is another app.
        let folder = try TemporaryFolder()
        let program = folder.file("flooder")
        try await BuiltProgram.copy("permd-faults", to: program)
        var ratios: [Double] = []
        for _ in 0..<rounds {
            _ = try await median(place)
            let idle = try await median(place)
            let flooder = try ChildProcess(
                program, ["flooder"], environment: place.permd.environment, standardInput: .pipe)
            var lines = flooder.lines.makeAsyncIterator()
            guard await lines.next() == "flooding" else { throw TestKitError("the flood did not start") }
            let start = FloodFault.now()
            let busy = try await median(place)
            flooder.closeInput()
            let told = await lines.next() ?? ""
            let time = Double(FloodFault.now() - start) / 1000
            _ = await flooder.waitForExit()
            let answers = Int(told.split(separator: " ").last ?? "") ?? 0
            report.count("calls of the flood", answers)
            report.count("rounds")
            let floods = time * Double(Flooder.width) / Double(max(1, answers))
            ratios.append(busy / floods)
            Report.say(
                "   median of GetStatus: \(Int(idle)) µs idle, \(Int(busy)) µs in a flood, \(Int(floods)) µs for the flood"
            )
        }
        let ratio = ratios.sorted()[ratios.count / 2]
        report.count("% of the flood's own time", Int(ratio * 100))
        if ratio > FloodFault.limit {
            report.lose("another program's calls took \(ratio) times as long as the flood's")
        }
        await place.end()
    }

    // MARK: Answers unread

    private func playUnread(_ kind: PrivateBus.Kind) async throws {
        let place = try await Place(bus: PrivateBus(kind), devices)
        let key = Ledger.Key(app: "exe:/usr/bin/kept", permission: "microphone")
        if let error = await place.decide(key, "deny always") { throw TestKitError("SetDecision: \(error)") }
        let flooder = try ChildProcess(
            BuiltProgram.own, ["unread-flooder", place.permd.bus.address], environment: place.permd.environment,
            standardInput: .pipe)
        var lines = flooder.lines.makeAsyncIterator()
        guard await lines.next() == "flooding" else { throw TestKitError("the flood did not start") }
        let end = Loop.uptimeMilliseconds() + Int64(FloodFault.unreadTime)
        var answers = 0
        // dbus-broker disconnects any client of a user whose quota is used up, so this client reconnects.
        while Loop.uptimeMilliseconds() < end, place.permd.isRunning {
            if let desk = try? place.permd.bus.connect() {
                let call = Place.message(BusNames.access, "GetStatus", [.strings(["camera"])])
                while Loop.uptimeMilliseconds() < end, (try? await desk.call(call)) != nil { answers += 1 }
                desk.close()
            }
            await Place.pause(milliseconds: 1)
        }
        flooder.closeInput()
        report.count("MiB of calls, answers unread", Int(await lines.next() ?? "") ?? 0)
        _ = await flooder.waitForExit()
        report.count("answers to another program meanwhile", answers)
        if kind == .daemon, answers == 0 { report.lose("no other program was answered during an unread flood") }
        try await expectAsBefore(place, kind, key)
        await place.end()
    }

    private func expectAsBefore(_ place: Place, _ kind: PrivateBus.Kind, _ key: Ledger.Key) async throws {
        let end = Loop.uptimeMilliseconds() + Int64(FloodFault.recovery)
        while Loop.uptimeMilliseconds() < end {
            guard place.permd.isRunning else {
                for line in place.permd.log.all.suffix(10) { Report.say("   \(line)") }
                return report.lose("\(kind.rawValue): permd exited during a flood with unread replies")
            }
            if let desk = try? place.permd.bus.connect() {
                let list = Place.message(BusNames.policy, "ListDecisions", [.properties([:])])
                let rows = try? await desk.call(list).body.first?.rows
                desk.close()
                if let rows, rows.contains(where: { Ledger.key($0) == key && Ledger.state($0) == "deny always" }) {
                    return report.count("decisions kept")
                }
            }
            await Place.pause(milliseconds: 20)
        }
        report.lose("\(kind.rawValue): permd did not answer within \(FloodFault.recovery) ms after a flood")
    }

    /// The median latency of GetStatus in microseconds.
    private func median(_ place: Place) async throws -> Double {
        var times: [Double] = []
        for _ in 0..<FloodFault.calls {
            let start = FloodFault.now()
            _ = try await place.call(BusNames.access, "GetStatus", [.strings(["camera"])])
            times.append(Double(FloodFault.now() - start) / 1000)
        }
        return times.sorted()[times.count / 2]
    }

    private static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// `permd-faults flooder`: keeps many calls in flight until its input ends.
@LoopActor
enum Flooder {
    /// Enough calls to keep permd busy all the time.
    static let width = 64
    private static var answers = 0

    static func main() async -> Int32 {
        guard let connection = try? Connection.open(.session) else { return 69 }
        for _ in 0..<width { more(connection) }
        while answers < width { await Place.pause(milliseconds: 1) }
        answers = 0
        Report.say("flooding")
        await Place.waitForInput()
        Report.say("answers \(answers)")
        return 0
    }

    private static func more(_ connection: Connection) {
        connection.call(Place.message(BusNames.access, "GetStatus", [.strings([])])) { _ in
            answers += 1
            more(connection)
        }
    }
}

/// `permd-faults unread-flooder ADDRESS`: makes calls as fast as the bus accepts them, without reading replies, until
/// its input ends.
enum UnreadFlooder {
    /// Bytes sent at once.
    private static let chunk = 64 << 10

    /// Reconnects whenever the bus closes the connection.
    static func main(_ address: String) -> Int32 {
        let path = String(address.dropFirst("unix:path=".count).prefix { $0 != "," })
        guard var peer = RawPeer(path: path) else { return 69 }
        var calls: [UInt8] = []
        while calls.count < chunk { calls += Attacker.status(peer) }
        Report.say("flooding")
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        var sent = 0
        while poll(&input, 1, 0) == 0 {
            // A send to a full socket fails after one second.
            if !peer.send(calls), let next = RawPeer(path: path) { peer = next }
            sent += calls.count
        }
        Report.say("\(sent >> 20)")
        return 0
    }
}
