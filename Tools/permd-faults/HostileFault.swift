// Hostile programs, sandboxed and not, run next to a well-behaved app and agent, which must be served meanwhile.

import DBus
import PermissionTestKit
import TestSupport

@LoopActor
final class HostileFault {
    private let milliseconds: Int64
    private let devices: MockDevices
    private let report = Report("hostile")
    private var dice: Dice

    init(_ seed: UInt64, seconds: Int, _ devices: MockDevices) {
        dice = Dice(seed: seed)
        milliseconds = Int64(seconds) * 1000
        self.devices = devices
    }

    func run() async -> Report {
        for kind in PrivateBus.Kind.allCases {
            do { try await play(kind) } catch { report.lose("\(kind.rawValue): \(error)") }
        }
        for what in ["honest answers", "decisions kept"] + Attack.greedy.map(\.rawValue) { report.expect(what) }
        return report
    }

    private func play(_ kind: PrivateBus.Kind) async throws {
        let round = try await HostileRound(kind, report, devices)
        let end = Loop.uptimeMilliseconds() + milliseconds
        try await round.run([.direct, .proxied, nil], Attack.greedy, dice.fork()) {
            while Loop.uptimeMilliseconds() < end, round.place.permd.isRunning {
                do { try await round.desk.serve() } catch { report.lose("\(kind.rawValue): \(error)") }
            }
        }
    }
}
