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
            }
        }
        for what in ["rounds", "honest answers"] { report.expect(what) }
        return report
    }

    private func play(_ kind: PrivateBus.Kind, _ count: Int) async throws {
        let group = MemoryGroup(bytes: UnitLimits.memory)
        defer { group?.remove() }
        let round = try await HostileRound(
            kind, report, devices, through: ["prlimit", "--nofile=\(count):\(count)"])
        // Done by this process, because programs with mock devices see another /sys.
        try group?.add(round.place.permd.pid)
        report.count(group == nil ? "rounds without a control group" : "rounds with the unit's memory")
        try await round.run([.direct, .direct], LimitsFault.attacks, dice.fork()) {
            await Bench.pause(milliseconds: LimitsFault.milliseconds)
        }
        report.count("rounds")
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
