// Random calls at every interface, by a plain program and by one in a sandbox, on both buses: permd lives, answers and stays small.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit

@LoopActor
final class MessageFault {
    private let calls: Int
    private let devices: MockDevices
    private let report = Report("random messages")
    private var dice: Dice

    /// Calls of one process.
    private static let callsPerProcess = 600
    /// KiB that permd may have more in the end than after the first calls. A checking allocator keeps what is freed.
    private static let growth = getenv("ASAN_OPTIONS") == nil ? 48 << 10 : 768 << 10

    init(_ seed: UInt64, calls: Int, _ devices: MockDevices) {
        dice = Dice(seed: seed)
        self.calls = calls
        self.devices = devices
    }

    func run() async -> Report {
        for kind in PrivateBus.Kind.allCases {
            do { try await play(kind) } catch { report.lose("\(kind.rawValue): \(error)") }
        }
        for what in ["plain calls", "sandboxed calls", "answers", "refusals of the sandboxed"] { report.expect(what) }
        return report
    }

    private func play(_ kind: PrivateBus.Kind) async throws {
        let place = try await Place(bus: PrivateBus(kind), devices)
        let pid = place.permd.pid
        var left = calls / PrivateBus.Kind.allCases.count
        var first: Int?
        while left > 0 {
            let count = min(left, MessageFault.callsPerProcess)
            left -= count
            let half = count / 2
            try await callers(place, plain: count - half, sandboxed: half)
            guard await isAlive(place, pid) else {
                for line in place.permd.log.all.suffix(60) { Report.say("   \(line)") }
                return report.lose("permd died")
            }
            if first == nil { first = place.residentMemory() }
            // Of what they decided nothing is to be left for the next ones.
            if let error = await place.decide(Ledger.Key(app: "", permission: ""), "") {
                report.lose("Reset: \(error)")
            }
        }
        let grown = place.residentMemory() - (first ?? 0)
        report.count("KiB more memory", max(0, grown))
        if grown > MessageFault.growth { report.lose("permd grew by \(grown) KiB") }
        for _ in 0..<100 where try await !place.rows("ListRequests").isEmpty { await Place.pause(milliseconds: 20) }
        let queued = try await place.rows("ListRequests").count
        if queued > 0 { report.lose("\(queued) requests of programs that have left are still in the queue") }
        let exit = await place.permd.stop(SIGTERM)
        // Whatever it has to say of leaks and the like.
        if exit != .exited(0) {
            for line in place.permd.log.all.suffix(60) { Report.say("   \(line)") }
            report.lose("permd ended as \(exit.map { "\($0)" } ?? "nothing")")
        }
        await place.end()
    }

    private func isAlive(_ place: Place, _ pid: Int32) async -> Bool {
        guard kill(pid, 0) == 0 else { return false }
        return (try? await place.call(BusNames.access, "GetStatus", [.strings([])])) != nil
    }

    private func callers(_ place: Place, plain: Int, sandboxed: Int) async throws {
        // On the bus itself, or as most of them through a proxy.
        let sandbox = try await FlatpakSandbox(
            "org.example.Faults", on: place.permd.bus, access: dice.pick(FlatpakSandbox.Access.allCases))
        let environment = place.permd.environment
        let arguments = { (count: Int, dice: inout Dice) in ["caller", "\(dice.next() >> 1)", "\(count)"] }
        let children = [
            ("plain", try ChildProcess(BuiltProgram.own, arguments(plain, &dice), environment: environment)),
            (
                "sandboxed",
                try ChildProcess(
                    sandbox.command[0],
                    sandbox.command.dropFirst() + [BuiltProgram.own] + arguments(sandboxed, &dice),
                    environment: environment.merging(sandbox.environment) { $1 })
            ),
        ]
        for (kind, child) in children {
            var isTold = false
            for await line in child.lines {
                let words = line.split(separator: " ").map(String.init)
                switch words.first {
                case "calls":
                    report.count("\(kind) calls", Int(words[1]) ?? 0)
                    isTold = true
                case "answers": report.count("answers", Int(words[1]) ?? 0)
                case "error":
                    if kind == "sandboxed", words[2] == ErrorKind.accessDenied.name {
                        report.count("refusals of the sandboxed", Int(words[1]) ?? 0)
                    }
                    if words[2] == ErrorKind.failed.name {
                        report.lose("\(words[1]) calls were answered Failed: a bug")
                    }
                case "lost": report.lose("\(kind): \(line.dropFirst(5))")
                default: break
                }
            }
            let exit = await child.waitForExit()
            if exit != .exited(0) || !isTold { report.lose("the \(kind) caller ended as \(exit)") }
        }
        // It and its proxy are there until both are done.
        withExtendedLifetime(sandbox) {}
    }
}
