// Removes or replaces the store's files and the rules while decisions are made. Afterwards, every decision that was
// acknowledged since must exist, or the answer must have been StoreUnavailable; restrictions must stay in force.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit

@LoopActor
final class AwayFault {
    private let rounds: Int
    private let devices: MockDevices
    private let report = Report("files taken away")
    private var dice: Dice

    private enum Target: String, CaseIterable { case lasting, session, rules }
    private enum Harm: String, CaseIterable {
        case removed, moved, fifo, folder, other
    }

    private static let rule = "[Rule kept]\nApps=exe:/usr/bin/kept\nPermissions=camera\nAction=restrict\n"
    /// The time in milliseconds during which rules are checked to stay in force after a reload.
    private static let watched = 60

    init(_ seed: UInt64, rounds: Int, _ devices: MockDevices) {
        dice = Dice(seed: seed)
        self.rounds = rounds
        self.devices = devices
    }

    func run() async -> Report {
        for round in 0..<rounds {
            let kind = PrivateBus.Kind.allCases[round % PrivateBus.Kind.allCases.count]
            let target = Target.allCases[round / 2 % Target.allCases.count]
            do { try await play(kind, target, round) } catch {
                report.lose("round \(round), \(target.rawValue): \(error)")
            }
            report.count("rounds")
        }
        for what in ["acknowledged"] + Target.allCases.map(\.rawValue) { report.expect(what) }
        return report
    }

    private func play(_ kind: PrivateBus.Kind, _ target: Target, _ round: Int) async throws {
        let place = try await Place(bus: PrivateBus(kind), devices, rules: ["10-kept.conf": AwayFault.rule])
        let ledger = Ledger(report)
        _ = await decide(place, ledger, dice.number(1...20), target, "round \(round), before")
        let path = try pick(place, target)
        let harm = harm(of: target, path)
        guard carryOut(harm, path) else { throw TestKitError("\(path) cannot be harmed: error \(errno)") }
        report.count(target.rawValue)
        // permd opens what is at the path then, and re-creates nothing from memory.
        if target == .lasting { ledger.mayLoseAll() }
        let when = "round \(round), \(path.split(separator: "/").suffix(2).joined(separator: "/")) \(harm.rawValue)"
        let told = await decide(place, ledger, dice.number(1...10), target, when)
        try await checkRule(place, when)
        guard place.permd.isRunning else { return report.lose("\(when): permd exited") }
        try await place.permd.restart(SIGKILL)
        // If a decision was acknowledged after the removal, it must be in an existing file. If none was, all may be lost
        // with the file.
        let mayMiss = target != .rules && told == 0
        do throws(BusError) {
            ledger.check(try await place.rows("ListDecisions"), when, mayMiss: mayMiss)
        } catch {
            // A store that cannot be read must not be reported as empty.
            if !mayMiss || error.name != ErrorKind.storeUnavailable.name { report.lose("\(when): \(error)") }
        }
        if target == .rules { try await checkRule(place, "\(when), after a restart") }
        await place.end()
    }

    // MARK: Removing files

    private func pick(_ place: Place, _ target: Target) throws -> String {
        let folder =
            switch target {
            case .lasting: place.lastingFolder
            case .session: place.sessionFolder
            case .rules: "\(place.permd.root.path)/etc/permd/policy.d"
            }
        let files = TemporaryFolder.entries(of: folder).sorted()
        guard !files.isEmpty else { throw TestKitError("\(folder) is empty") }
        return dice.oneIn(4) ? folder : "\(folder)/\(dice.pick(files))"
    }

    /// Rule files are not removed, and their folder is not replaced by an empty one, because that would legitimately
    /// end the rule.
    private func harm(of target: Target, _ path: String) -> Harm {
        guard target == .rules else { return dice.pick(Harm.allCases) }
        return dice.pick(path.hasSuffix("policy.d") ? [.fifo, .other] : [.fifo, .folder])
    }

    private func carryOut(_ harm: Harm, _ path: String) -> Bool {
        report.count(harm.rawValue)
        let aside = "\(path)-aside"
        guard rename(path, aside) == 0 else { return false }
        switch harm {
        case .moved: return true
        case .removed:
            TemporaryFolder.remove(aside)
            return true
        case .fifo: return mkfifo(path, 0o600) == 0
        case .folder: return mkdir(path, 0o700) == 0
        case .other:
            guard let file = fopen(path, "we") else { return false }
            fputs("something else", file)
            return fclose(file) == 0
        }
    }

    // MARK: Checks

    /// Makes random decisions in the database that is harmed. Returns how many were acknowledged.
    private func decide(
        _ place: Place, _ ledger: Ledger, _ count: Int, _ target: Target, _ when: String
    ) async -> Int {
        var told = 0
        for _ in 0..<count {
            let key = Ledger.Key(
                app: "exe:/usr/bin/app\(dice.number(0...40))",
                permission: dice.pick(Permission.allCases.map(\.rawValue)))
            let duration = target == .session ? "session" : dice.pick(["always", "until \(Crowd.farAway)"])
            let state = "\(dice.pick(["grant", "deny"])) \(duration)"
            switch await place.decide(key, state) {
            case nil:
                ledger.acknowledged(key, state)
                report.count("acknowledged")
                told += 1
            case ErrorKind.storeUnavailable.name: report.count("refused")
            case let error?: report.lose("\(when): \(state) for \(key): \(error)")
            }
        }
        return told
    }

    /// Checks that the rule is in force, also after a reload.
    private func checkRule(_ place: Place, _ when: String) async throws {
        place.permd.signal(SIGHUP)
        let end = Loop.uptimeMilliseconds() + Int64(AwayFault.watched)
        repeat {
            let rules = try await place.call(BusNames.policy, "ListRestrictions").first?.rows ?? []
            guard rules.contains(where: { $0["rule"] == .string("kept") }) else {
                return report.lose("\(when): the restriction is no longer in force")
            }
            await Place.pause(milliseconds: 5)
        } while Loop.uptimeMilliseconds() < end
    }
}
