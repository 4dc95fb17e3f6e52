// One program calls permd as fast as it can; another one's calls wait no longer than its.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit

@LoopActor
final class FloodFault {
    private let rounds: Int
    private let devices: MockDevices
    private let report = Report("flood")

    /// How many times longer than the flood's own calls the other program's may take, in the median: callers take turns,
    /// so what one has under way is not in front of another.
    private static let limit = 2.0
    private static let calls = 1500

    init(_ seed: UInt64, rounds: Int, _ devices: MockDevices) {
        self.rounds = rounds
        self.devices = devices
    }

    func run() async -> Report {
        do { try await play() } catch { report.lose("\(error)") }
        report.expect("calls of the flood")
        return report
    }

    private func play() async throws {
        let place = try await Place(devices)
        var ratios: [Double] = []
        for _ in 0..<rounds {
            _ = try await median(place)
            let idle = try await median(place)
            let flooder = try ChildProcess(
                BuiltProgram.own, ["flooder"], environment: place.permd.environment, standardInput: .pipe)
            var lines = flooder.lines.makeAsyncIterator()
            guard await lines.next() == "flooding" else { throw TestKitError("the flood does not begin") }
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
                "   median of GetStatus: \(Int(idle)) µs idle, \(Int(busy)) in a flood, whose own is \(Int(floods))"
            )
        }
        let ratio = ratios.sorted()[ratios.count / 2]
        report.count("% of the flood's own time", Int(ratio * 100))
        if ratio > FloodFault.limit {
            report.lose("another program's calls take \(ratio) times as long as the flood's")
        }
        await place.end()
    }

    /// Microseconds.
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

/// `permd-faults flooder`: many calls under way at all times, until its input ends.
@LoopActor
enum Flooder {
    /// As many as keep permd busy without a pause.
    static let width = 64
    private static var answers = 0

    static func main() async -> Int32 {
        guard let connection = try? Connection.open(.session) else { return 69 }
        for _ in 0..<width { more(connection) }
        while answers < width { await Place.pause(milliseconds: 1) }
        answers = 0
        Report.say("flooding")
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            var token: WatchToken?
            token = Loop.shared.watch(STDIN_FILENO, .readable) { _ in
                token?.cancel()
                token = nil
                continuation.resume()
            }
        }
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
