// Kills PipeWire, WirePlumber, pipewire-pulse, permd-pipewire and permd at random while programs record. No program without
// a grant may get a sample of the microphone, also not by modules, nodes and links that it makes, and none with a grant may
// stay silent.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport

@LoopActor
final class SoundFault {
    private let seed: UInt64
    private let rounds: Int
    private let report = Report("sound")
    private var dice: Dice
    private var deck: [SoundVictims.Victim] = []

    /// The number of rounds before new servers are used, because logs and recordings grow.
    private static let roundsPerPlace = 10

    init(_ seed: UInt64, rounds: Int) {
        self.seed = seed
        self.rounds = rounds
        dice = Dice(seed: seed)
    }

    func run() async -> Report {
        await report.play(rounds, perPlace: SoundFault.roundsPerPlace) { try await play($0) }
        for victim in SoundVictims.Victim.allCases { report.expect(victim.count) }
        for trick in SoundThief.Trick.allCases { report.expect(trick.rawValue) }
        for role in SoundRound.Role.allCases { report.expect("\(role.rawValue) recorders") }
        return report
    }

    private func play(_ count: Int) async throws {
        let server = try await SoundServer()
        let victims = try await SoundVictims(server, report)
        for kind in Recorder.Kind.sounds {
            for (verb, role) in [("grant", SoundRound.Role.granted), ("deny", .refused)] {
                try await server.permctl(
                    verb, Recorder.app(kind, role.rawValue, on: server).description, kind.permission.rawValue)
            }
        }
        let sandbox = try await FlatpakSandbox("org.example.Call", on: server.permd.bus)
        let thieves = try await FlatpakSandbox("org.example.Thief", on: server.permd.bus)
        try await server.permctl("deny", thieves.app.description, "microphone")
        let tricks = SoundThief.Trick.allCases
        for _ in 1...count {
            let number = report.counted("rounds") + 1
            let round = SoundRound(server, victims, sandbox, thieves: thieves, report, dice.fork())
            report.count("rounds")
            let killed = (0..<dice.number(1...3)).map { _ in deal() }
            do { try await round.run(killing: killed, tricks[number % tricks.count]) } catch {
                round.lose("\(error)")
            }
            await round.reportLosses("seed \(seed), round \(number)")
            await round.end()
            // What a failure has left behind would fail the following rounds, too.
            if round.isLost { break }
        }
        await server.end()
    }

    /// Each victim in turn, in random order, so that few rounds have all of them.
    private func deal() -> SoundVictims.Victim {
        if deck.isEmpty { deck = SoundVictims.Victim.allCases.shuffled(using: &dice) }
        return deck.removeLast()
    }
}
