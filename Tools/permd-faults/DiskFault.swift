// Tests with a disk that is full, read-only or failing, and then works again. Requires root and a private mount
// namespace, which scripts/faults sets up.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit

@LoopActor
final class DiskFault {
    private let rounds: Int
    private let devices: MockDevices
    private let report = Report("disk")
    private var dice: Dice

    init(_ seed: UInt64, rounds: Int, _ devices: MockDevices) {
        dice = Dice(seed: seed)
        self.rounds = rounds
        self.devices = devices
    }

    func run() async -> Report {
        for round in 0..<rounds {
            do {
                switch round % 3 {
                case 0: try await full(round)
                case 1: try await readOnly(round)
                default: try await broken(round)
                }
            } catch {
                report.lose("round \(round): \(error)")
            }
            report.count("rounds")
        }
        for what in ["acknowledged", "refused", "full", "read-only", "broken", "killed"] { report.expect(what) }
        return report
    }

    // MARK: The three kinds of failure

    private func full(_ round: Int) async throws {
        let bus = try await PrivateBus()
        let folder = "\(bus.directory)/state"
        try await command("mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "none", folder)
        let place = try await Bench(bus: bus, devices)
        let ledger = Ledger(report)
        let when = "round \(round), full"
        try await decide(place, ledger, dice.number(1...30), when, mayFail: false)
        let filler = "\(folder)/filler"
        try fill(filler, leaving: dice.number(0...24) << 10)
        report.count("full")
        var refused = 0
        for _ in 0..<2000 where refused < 5 {
            refused += try await decide(place, ledger, 1, when, mayFail: true)
        }
        if refused == 0 { report.lose("\(when): no decision was refused although the disk is full") }
        if try await place.storeProblems().isEmpty { report.lose("\(when): ListProblems reports nothing") }
        // The user's answer may still fit if it needs fewer pages.
        try await ask(place, when)
        if dice.oneIn(2) { try await killed(place, ledger, when) }
        guard unlink(filler) == 0 else { throw TestKitError("\(filler) cannot be removed") }
        try await mended(place, ledger, when)
        try await command("umount", "-l", folder)
    }

    private func readOnly(_ round: Int) async throws {
        let bus = try await PrivateBus()
        let folder = "\(bus.directory)/state"
        try await command("mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "none", folder)
        let place = try await Bench(bus: bus, devices)
        let ledger = Ledger(report)
        let when = "round \(round), read-only"
        try await decide(place, ledger, dice.number(1...30), when, mayFail: false)
        // SIGKILL leaves SQLite's log, SIGTERM does not.
        await place.permd.stop(dice.oneIn(2) ? SIGKILL : SIGTERM)
        try await command("mount", "-o", "remount,ro", folder)
        try await place.permd.start()
        report.count("read-only")
        ledger.check(try await place.rows("ListDecisions"), when)
        let refused = try await decide(place, ledger, 5, when, mayFail: true)
        if refused < 5 { report.lose("\(when): \(5 - refused) decisions were accepted that cannot be on disk") }
        try await ask(place, when)
        if try await place.storeProblems().isEmpty { report.lose("\(when): ListProblems reports nothing") }
        try await command("mount", "-o", "remount,rw", folder)
        try await mended(place, ledger, when)
        try await command("umount", "-l", folder)
    }

    /// A file system that shut down after an error, as ext4 does: it becomes read-only under open files until it is
    /// mounted again.
    private func broken(_ round: Int) async throws {
        let bus = try await PrivateBus()
        let folder = "\(bus.directory)/state"
        let image = "\(bus.directory)/disk"
        try await command("truncate", "--size=4M", image)
        try await command("mkfs.ext4", "-q", "-F", image)
        try await command("mount", "-o", "loop", image, folder)
        let place = try await Bench(bus: bus, devices)
        let ledger = Ledger(report)
        let when = "round \(round), broken"
        try await decide(place, ledger, dice.number(1...30), when, mayFail: false)
        try await command("mount", "-o", "remount,abort", folder)
        report.count("broken")
        // A write may fail after it reached the disk, so a refused decision may or may not exist afterwards.
        let refused = try await decide(place, ledger, 5, when, mayFail: true)
        if refused == 0 { report.lose("\(when): no decision was refused although the disk fails") }
        try await ask(place, when)
        await place.permd.stop(SIGKILL)
        try await command("umount", folder)
        try await command("mount", "-o", "loop", image, folder)
        try await place.permd.start()
        ledger.check(try await place.rows("ListDecisions").filter { !isOwn($0) }, when)
        try await mended(place, ledger, when)
        try await command("umount", "-l", folder)
    }

    // MARK: Steps

    /// Makes random decisions. Returns how many were refused with the one permitted error.
    @discardableResult
    private func decide(
        _ place: Bench, _ ledger: Ledger, _ count: Int, _ when: String, mayFail: Bool
    ) async throws -> Int {
        var refused = 0
        for _ in 0..<count {
            let key = Ledger.Key(
                app:
                    "exe:/usr/bin/\(dice.oneIn(4) ? String(repeating: "long", count: 200) : "app")\(dice.number(0...99))",
                permission: dice.pick(Permission.allCases.map(\.rawValue)))
            let duration = dice.pick(["always", "until \(Crowd.farAway)"])
            let state = dice.oneIn(8) ? "" : "\(dice.pick(["grant", "deny"])) \(duration)"
            let error = await place.decide(key, state)
            if error == nil {
                ledger.acknowledged(key, state)
                report.count("acknowledged")
            } else if mayFail, error == ErrorKind.storeUnavailable.name {
                refused += 1
                // A reset takes effect at once, and is written as soon as that is possible.
                if state.isEmpty { ledger.tries(key, state) }
                report.count("refused")
            } else {
                report.lose("\(when): \(state) for \(key.app.prefix(40)): \(error ?? "")")
            }
        }
        return refused
    }

    /// The user grants a permission that cannot be stored: the app is notified of the grant, and it is in force.
    private func ask(_ place: Bench, _ when: String) async throws {
        let agent = ScriptedAgent(try place.permd.bus.connect(), otherwise: .grant(.always))
        try await agent.register()
        let app = try place.permd.bus.connect()
        defer { for connection in [agent.connection, app] { connection.close() } }
        let responses = EventLog<Message>()
        app.onSignal(interface: BusNames.request, member: "Response", addMatch: false) { responses.add($0) }
        _ = try await app.call(
            Bench.message(BusNames.access, "RequestAccess", [.strings(["camera"]), .properties([:])]))
        let response = try await responses.wait(for: 1)[0]
        let told = response.body.last?.properties?["statuses"]?.stringTable?["camera"]
        let status = try await app.call(Bench.message(BusNames.access, "GetStatus", [.strings(["camera"])]))
            .body.first?.stringTable?["camera"]
        if told != "granted" || status != "granted" {
            report.lose("\(when): the user granted; the app got \(told ?? "nothing"), then \(status ?? "nothing")")
        }
    }

    private func isOwn(_ row: [String: Value]) -> Bool { row["app"]?.stringValue == Bench.own }

    private func killed(_ place: Bench, _ ledger: Ledger, _ when: String) async throws {
        try await place.permd.restart(SIGKILL)
        report.count("killed")
        ledger.check(try await place.rows("ListDecisions").filter { !isOwn($0) }, "\(when), killed")
    }

    /// Checks that all acknowledged decisions exist and that new ones are accepted.
    private func mended(_ place: Bench, _ ledger: Ledger, _ when: String) async throws {
        let when = "\(when), mended"
        ledger.check(try await place.rows("ListDecisions").filter { !isOwn($0) }, when)
        try await decide(place, ledger, 5, when, mayFail: false)
        let problems = try await place.storeProblems()
        if !problems.isEmpty { report.lose("\(when): ListProblems still reports \(problems)") }
        try await killed(place, ledger, when)
        await place.end()
    }

    private func command(_ words: String...) async throws {
        let child = try ChildProcess(words[0], Array(words.dropFirst()))
        let exit = await child.waitForExit()
        guard exit == .exited(0) else { throw TestKitError("\(words.joined(separator: " ")): \(exit)") }
    }

    private func fill(_ path: String, leaving bytes: Int) throws {
        let fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard fd >= 0 else { throw TestKitError("\(path) cannot be created") }
        defer { close(fd) }
        let page = [UInt8](repeating: 1, count: 4096)
        var size = 0
        while true {
            let count = write(fd, page, page.count)
            if count <= 0 { break }
            size += count
        }
        guard errno == ENOSPC, ftruncate(fd, off_t(max(0, size - bytes))) == 0 else {
            throw TestKitError("\(path) could not fill the disk: error \(errno)")
        }
    }
}
