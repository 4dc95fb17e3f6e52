// Truncates, flips bits in and empties the store's files while permd is not running. permd must start, invent no
// decision, and report the damage.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit

@LoopActor
final class DamageFault {
    private let rounds: Int
    private let devices: MockDevices
    private let report = Report("damage")
    private var dice: Dice

    private static let decisions = 120
    /// The number of rounds before a new bus and store are used, because permd's log grows.
    private static let roundsPerPlace = 25
    /// Whether permd is killed at the next place, so that decisions are only in SQLite's log; otherwise it ends by
    /// itself and writes them to the database file. Alternating, since each kind of damage matters in one of the two.
    private var kills = true

    init(_ seed: UInt64, rounds: Int, _ devices: MockDevices) {
        dice = Dice(seed: seed)
        self.rounds = rounds
        self.devices = devices
    }

    func run() async -> Report {
        await report.play(rounds, perPlace: DamageFault.roundsPerPlace) { try await play($0) }
        for what in ["cut", "flipped", "emptied", "problems reported"] { report.expect(what) }
        return report
    }

    private func play(_ count: Int) async throws {
        let place = try await Bench(devices)
        let ledger = Ledger(report)
        for number in 0..<DamageFault.decisions {
            let key = Ledger.Key(
                app: "exe:/usr/bin/app\(number)", permission: dice.pick(Permission.allCases.map(\.rawValue)))
            let duration = dice.pick(["always", "always", "session", "until \(Crowd.farAway)"])
            let state = "\(dice.pick(["grant", "deny", "deny"])) \(duration)"
            if let error = await place.decide(key, state) { throw TestKitError("SetDecision failed: \(error)") }
            ledger.acknowledged(key, state)
        }
        await place.permd.stop(kills ? SIGKILL : SIGTERM)
        kills.toggle()
        let made = ledger.snapshot()
        let folders = [place.lastingFolder, place.sessionFolder].map { ($0, "\($0).whole") }
        for (folder, copy) in folders { try await DamageFault.copy(folder, copy) }
        for _ in 0..<count {
            for (folder, copy) in folders { try await DamageFault.copy(copy, folder) }
            let what = try damage(place)
            ledger.restore(made)
            try await examine(place, ledger, what)
            await place.permd.stop(SIGKILL)
            report.count("rounds")
        }
        await place.end()
    }

    private static func copy(_ source: String, _ target: String) async throws {
        for words in [["rm", "-rf", target], ["cp", "-a", source, target]] {
            let exit = try await ChildProcess(words[0], Array(words.dropFirst())).waitForExit()
            guard exit == .exited(0) else { throw TestKitError("\(words): \(exit)") }
        }
    }

    private func examine(_ place: Bench, _ ledger: Ledger, _ what: String) async throws {
        let when = "round \(report.counted("rounds") + 1), \(what)"
        let first = place.permd.log.all.count
        do {
            try await place.permd.start()
        } catch {
            report.lose("\(when): permd did not start: \(place.permd.log.all.dropFirst(first))")
            throw error
        }
        let pid = place.permd.pid
        let before = ledger.count
        var rows: [[String: Value]]?
        do throws(BusError) { rows = try await place.rows("ListDecisions") } catch {
            if error.name != ErrorKind.storeUnavailable.name { report.lose("\(when): ListDecisions: \(error)") }
        }
        ledger.check(rows ?? [], when, mayMiss: true)
        if place.permd.log.all.dropFirst(first).contains(where: { $0.contains("Fatal error") })
            || place.permd.pid != pid
        {
            report.lose("\(when): permd crashed")
        }
        let status = try await place.call(BusNames.access, "GetStatus", [.strings([])]).first?.stringTable ?? [:]
        // No decision was ever made for this program.
        if status.values.contains("granted") { report.lose("\(when): an unexpected grant: \(status)") }
        let problems = try await place.storeProblems()
        let missing = before - ledger.count
        report.count("decisions missing", missing)
        if !problems.isEmpty { report.count("problems reported") }
        // Log lines and replies arrive on different channels, so the log may lag behind.
        func isLogged() -> Bool {
            place.permd.log.all.dropFirst(first).contains { line in
                ["damage", "unknown now", "store", "cannot be", "could not be"].contains { line.contains($0) }
            }
        }
        // SQLite ignores what follows damage in its log, as it ignores a transaction that was not completed.
        // With other words in its file, the session is another one.
        let isReported = !["permd.db-wal", "session"].contains { what.contains($0) }
        for _ in 0..<200 where isReported && missing > 0 && !isLogged() { await Bench.pause(milliseconds: 5) }
        if isReported, missing > 0, problems.isEmpty {
            report.lose("\(when): \(missing) decisions are missing, and ListProblems does not report it")
        }
        if isReported, missing > 0, !isLogged() {
            report.lose("\(when): \(missing) decisions are missing, and the log does not report it")
        }
        let key = Ledger.Key(app: "exe:/usr/bin/after", permission: "camera")
        if let error = await place.decide(key, "deny always"), error != ErrorKind.storeUnavailable.name {
            report.lose("\(when): SetDecision: \(error)")
        }
    }

    /// Applies one kind of damage to one file at a random position. Returns a description.
    private func damage(_ place: Bench) throws -> String {
        let candidates =
            ["", "", "", "-wal"].map { "\(place.lastingFolder)/permd.db\($0)" }
            + ["\(place.sessionFolder)/session"]
        let path = dice.pick(candidates.filter { access($0, F_OK) == 0 })
        let name = String(path.split(separator: "/").last ?? "")
        var status = stat()
        guard stat(path, &status) == 0 else { throw TestKitError("\(path) cannot be examined") }
        let size = Int(status.st_size)
        let fd = open(path, O_RDWR | O_CLOEXEC)
        guard fd >= 0 else { throw TestKitError("\(path) cannot be opened") }
        defer { close(fd) }
        switch size == 0 ? 10 : dice.number(0...9) {
        case 0...2:
            let length = dice.number(0...size - 1)
            guard ftruncate(fd, off_t(length)) == 0 else { throw TestKitError("\(path) cannot be cut") }
            report.count("cut")
            return "\(name) cut to \(length) of \(size) bytes"
        case 3...8:
            let count = dice.pick([1, 1, 3, 20, 200])
            let start = dice.number(0...size - 1)
            let reach = dice.pick([1, 64, 4096, size])
            for _ in 0..<count {
                let offset = off_t(min(size - 1, start + dice.number(0...reach - 1)))
                var byte: UInt8 = 0
                guard pread(fd, &byte, 1, offset) == 1 else { throw TestKitError("\(path) cannot be read") }
                byte ^= UInt8(1 << dice.number(0...7))
                guard pwrite(fd, &byte, 1, offset) == 1 else { throw TestKitError("\(path) cannot be written") }
            }
            report.count("flipped")
            return "\(count) bits flipped in \(name) from \(start) within \(reach)"
        default:
            guard ftruncate(fd, 0) == 0 else { throw TestKitError("\(path) cannot be emptied") }
            report.count("emptied")
            return "\(name) emptied"
        }
    }
}
