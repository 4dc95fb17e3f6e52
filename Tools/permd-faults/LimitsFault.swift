// Attacks under limits on descriptors and memory, at the unit's values and far below: permd must keep running and serve
// once resources are free again.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport

@LoopActor
final class LimitsFault {
    private let rounds: Int
    private let devices: MockDevices
    private let report = Report("limits")
    private var dice: Dice

    /// Descriptor limits below the unit's, down to the lowest with which permd serves.
    private static let descriptors = [1024, 256, 128, 64]
    private static let attacks: [Attack] = [.descriptors, .huge, .storm, .unread, .closing]
    private static let milliseconds = 2000

    init(_ seed: UInt64, rounds: Int, _ devices: MockDevices) {
        dice = Dice(seed: seed)
        self.rounds = rounds
        self.devices = devices
    }

    func run() async -> Report {
        for round in 0..<rounds {
            for kind in PrivateBus.Kind.allCases {
                // The unit's own limit in the first round.
                let count = round == 0 ? UnitLimits.descriptors : dice.pick(LimitsFault.descriptors)
                do { try await play(kind, count) } catch {
                    report.lose("\(kind.rawValue), \(count) descriptors: \(error)")
                }
                do { try await tooFew(kind) } catch { report.lose("\(kind.rawValue): \(error)") }
            }
        }
        for what in ["rounds", "honest answers", "starts with too few descriptors"] { report.expect(what) }
        return report
    }

    private func play(_ kind: PrivateBus.Kind, _ count: Int) async throws {
        let group = MemoryGroup(bytes: UnitLimits.memory)
        defer { group?.remove() }
        let place = try await Place(
            bus: PrivateBus(kind), devices, settings: "[Prompts]\nAgentWaitSec=5\n",
            through: ["prlimit", "--nofile=\(count):\(count)"])
        // Done by this process, because programs with mock devices see another /sys.
        try group?.add(place.permd.pid)
        let desk = try await HonestDesk(place, report, kind)
        try await desk.serve()
        let limits = ProcessLimits(place, report, kind)
        limits.begin()
        var attackers: [AttackerProcess] = []
        for _ in 0..<2 {
            attackers.append(
                try await AttackerProcess(place, "org.example.Hostile", .direct, LimitsFault.attacks, seed: dice.next())
            )
        }
        await Place.pause(milliseconds: LimitsFault.milliseconds)
        for attacker in attackers { await attacker.stop(report) }
        report.count("rounds")
        report.count(group == nil ? "rounds without a control group" : "rounds with the unit's memory")
        if place.permd.isRunning {
            try await desk.serve()
            try await desk.check()
            await limits.end(answers: desk.served)
        } else {
            for line in place.permd.log.all.suffix(10) { Report.say("   \(line)") }
            report.lose("\(kind.rawValue): permd exited; limits: \(count) descriptors, \(UnitLimits.memory >> 20) MiB")
        }
        await desk.end()
        await place.end()
    }

    /// With fewer descriptors than it needs, permd must exit with an error message, or serve.
    private func tooFew(_ kind: PrivateBus.Kind) async throws {
        let count = dice.number(4...LimitsFault.descriptors.last! - 1)
        let bus = try await PrivateBus(kind)
        let root = try TemporaryFolder(["etc", "etc/permd", "sys"])
        var environment = bus.environment
        environment["DBUS_SYSTEM_BUS_ADDRESS"] = "unix:path=/nonexistent"
        let permd = try ChildProcess(
            "prlimit", ["--nofile=\(count):\(count)", BuiltProgram.path("permd"), "--root", root.path],
            environment: environment, standardError: .pipe)
        var said: [String] = []
        for await line in permd.errorLines {
            said.append(line)
            if line.contains("serves org.permd") { permd.terminate() }
        }
        let exit = await permd.waitForExit()
        report.count("starts with too few descriptors")
        if case .signaled(let signal) = exit {
            report.lose(
                "\(kind.rawValue): with \(count) descriptors, signal \(signal) ended permd: \(said.last ?? "no output")"
            )
        } else if said.isEmpty {
            report.lose("\(kind.rawValue): with \(count) descriptors, permd ended (\(exit)) without a message")
        }
        await bus.end()
    }
}

/// A control group with a memory limit, if root can create one.
struct MemoryGroup {
    private let path: String

    /// Returns nil if the memory controller is not available.
    init?(bytes: Int) {
        let name = "permd-faults-\(getpid())"
        let kinds = [
            ("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        ]
        for (parent, limit) in kinds {
            let path = "\(parent)/\(name)"
            guard mkdir(path, 0o755) == 0 || errno == EEXIST else { continue }
            // Opened without creating it: where there is no controller, this is an ordinary folder.
            if let file = fopen("\(path)/\(limit)", "r+e") {
                fputs("\(bytes)", file)
                if fclose(file) == 0 {
                    self.path = path
                    return
                }
            }
            rmdir(path)
        }
        return nil
    }

    /// Moves a process into the group.
    func add(_ process: Int32) throws(TestKitError) {
        let file = fopen("\(path)/cgroup.procs", "r+e")
        if let file { fputs("\(process)", file) }
        guard let file, fclose(file) == 0 else { throw TestKitError("process \(process) cannot be moved into \(path)") }
    }

    func remove() { rmdir(path) }
}
