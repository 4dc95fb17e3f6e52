// Kills permd at random times under a random load. Afterwards, exactly the acknowledged decisions must exist.

import DBus
import Glibc
import PermissionTestKit

@LoopActor
final class KillFault {
    private let rounds: Int
    private let devices: MockDevices
    private let report = Report("kill")
    private var dice: Dice
    private var ledger: Ledger

    /// The number of rounds before a new bus and store are used, because logs and histories grow.
    private static let roundsPerPlace = 50

    init(_ seed: UInt64, rounds: Int, _ devices: MockDevices) {
        dice = Dice(seed: seed)
        self.rounds = rounds
        self.devices = devices
        ledger = Ledger(report)
    }

    func run() async -> Report {
        await report.play(rounds, perPlace: KillFault.roundsPerPlace) { try await play($0) }
        for what in ["decisions stored", "answers received", "prompts", "killed while starting"] { report.expect(what) }
        return report
    }

    private func play(_ count: Int) async throws {
        ledger = Ledger(report)
        let place = try await Bench(devices)
        let watcher = try place.permd.bus.connect()
        let crowd = Crowd(try place.permd.bus.connect(), report, ledger, dice.fork())
        for round in 1...count {
            let when = "round \(report.counted("rounds") + 1)"
            ledger.check(try await place.rows("ListDecisions"), when)
            let queued = try await place.rows("ListRequests").count
            if queued > 0 { report.lose("\(when): \(queued) requests are in the queue after a restart") }
            await KillLoad(place, watcher, crowd, ledger, report, dice.fork()).run(killAfter: dice.number(1...70))
            crowd.forget()
            report.count("rounds")
            if round % 8 == 0 { try await killWhileStarting(place) }
            try await place.permd.start()
        }
        ledger.check(try await place.rows("ListDecisions"), "at the end")
        for connection in [watcher, crowd.connection] { connection.close() }
        await place.end()
    }

    private func killWhileStarting(_ place: Bench) async throws {
        let child = try place.permd.run()
        await Bench.pause(milliseconds: dice.number(1...25))
        child.terminate(SIGKILL)
        _ = await child.waitForExit()
        report.count("killed while starting")
    }
}
