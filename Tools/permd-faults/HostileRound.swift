// One permd with a well-behaved app and agent, and attackers beside them. Afterwards, permd serves as before, has decided
// nothing without the user, and has kept its limits.

import DBus
import Glibc
import PermissionTestKit
import TestSupport

@LoopActor
final class HostileRound {
    let place: Bench
    let desk: HonestDesk
    private let kind: PrivateBus.Kind
    private let report: Report

    /// - Parameter wrapper: A command that executes permd, such as `prlimit`.
    init(
        _ kind: PrivateBus.Kind, _ report: Report, _ devices: MockDevices, through wrapper: [String] = []
    ) async throws {
        self.kind = kind
        self.report = report
        place = try await Bench(
            bus: PrivateBus(kind), devices, settings: "[Prompts]\nAgentWaitSec=5\n", through: wrapper)
        desk = try await HonestDesk(place, report, kind)
        try await desk.serve()
    }

    /// Does something while an attacker attacks from each of these kinds of sandbox, or from outside any.
    func run(
        _ attackers: [FlatpakSandbox.Access?], _ attacks: [Attack], _ dice: Dice,
        meanwhile body: () async -> Void
    ) async throws {
        var dice = dice
        let limits = ProcessLimits(place, report, kind)
        limits.begin()
        var processes: [AttackerProcess] = []
        for access in attackers {
            processes.append(try await AttackerProcess(place, in: access, attacks, seed: dice.next()))
        }
        await body()
        for process in processes { await process.stop(report) }
        if place.permd.isRunning {
            try await desk.serve()
            try await desk.check()
            await limits.end(answers: desk.served)
        } else {
            // The final log lines and the exit arrive on separate channels.
            let exit = await place.permd.stop(SIGKILL)
            for line in place.permd.log.all.suffix(20) { Report.say("   \(line)") }
            report.lose("\(kind.rawValue): permd ended: \(exit.map { "\($0)" } ?? "exit status unknown")")
        }
        await desk.end()
        await place.end()
    }
}
