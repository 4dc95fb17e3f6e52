// A sandboxed app makes calls that are many or costly to read. Other programs, new ones too, must be answered as before.

import DBus
import PermissionTestKit
import TestSupport

@LoopActor
final class CostlyFault {
    private let milliseconds: Int
    private let devices: MockDevices
    private let report = Report("costly")
    private var dice: Dice

    init(_ seed: UInt64, seconds: Int, _ devices: MockDevices) {
        dice = Dice(seed: seed)
        milliseconds = seconds * 1000
        self.devices = devices
    }

    func run() async -> Report {
        for kind in PrivateBus.Kind.allCases {
            for attack in Attack.costly {
                for access in attack == .arguments ? FlatpakSandbox.Access.allCases : [.direct] {
                    let what = "\(kind.rawValue), \(attack.rawValue), \(access.rawValue)"
                    do { try await play(kind, attack, access, what) } catch { report.lose("\(what): \(error)") }
                }
            }
        }
        for attack in Attack.costly { report.expect(attack.rawValue) }
        return report
    }

    private func play(
        _ kind: PrivateBus.Kind, _ attack: Attack, _ access: FlatpakSandbox.Access, _ what: String
    ) async throws {
        let place = try await Bench(bus: PrivateBus(kind), devices)
        let attacker = try await AttackerProcess(place, in: access, [attack], seed: dice.next())
        let latencies = try await Latencies(of: place) { [milliseconds] in
            await Bench.pause(milliseconds: milliseconds)
        }
        await attacker.stop(report)
        latencies.judge(what, report)
        if !place.permd.isRunning { report.lose("\(what): permd exited") }
        if place.permd.log.all.contains(where: { $0.contains("was lost") }) {
            report.lose("\(what): the bus disconnected permd")
        }
        await place.end()
    }
}
