// Makes random calls to every interface, from a plain and from a sandboxed program, on both buses: permd must keep
// running, answer every call, and not grow.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport

@LoopActor
final class MessageFault {
    private let calls: Int
    private let devices: MockDevices
    private let report = Report("random messages")
    private var dice: Dice

    /// The number of calls per process.
    private static let callsPerProcess = 600
    /// The growth in KiB permitted after the first calls. Sanitizers keep freed memory.
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
                return report.lose("permd exited or does not answer")
            }
            if first == nil { first = place.residentMemory() }
            // The callers' decisions must not affect the next callers.
            if let error = await place.decide(Ledger.Key(app: "", permission: ""), "") {
                report.lose("Reset: \(error)")
            }
        }
        let grown = place.residentMemory() - (first ?? 0)
        report.count("KiB more memory", max(0, grown))
        if grown > MessageFault.growth { report.lose("permd grew by \(grown) KiB") }
        for _ in 0..<100 where try await !place.rows("ListRequests").isEmpty { await Place.pause(milliseconds: 20) }
        let queued = try await place.rows("ListRequests").count
        if queued > 0 { report.lose("\(queued) requests of disconnected programs are still in the queue") }
        let exit = await place.permd.stop(SIGTERM)
        // The log contains reports of sanitizers, such as leaks.
        if exit != .exited(0) {
            for line in place.permd.log.all.suffix(60) { Report.say("   \(line)") }
            report.lose("permd ended unexpectedly: \(exit.map { "\($0)" } ?? "exit status unknown")")
        }
        await place.end()
    }

    private func isAlive(_ place: Place, _ pid: Int32) async -> Bool {
        guard kill(pid, 0) == 0 else { return false }
        return (try? await place.call(BusNames.access, "GetStatus", [.strings([])])) != nil
    }

    private func callers(_ place: Place, plain: Int, sandboxed: Int) async throws {
        // Either directly on the bus or, like most sandboxed programs, through a proxy.
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
                        report.lose("\(words[1]) calls were answered with Failed, which is a bug in permd")
                    }
                case "lost": report.lose("\(kind): \(line.dropFirst(5))")
                default: break
                }
            }
            let exit = await child.waitForExit()
            if exit != .exited(0) || !isTold { report.lose("the \(kind) caller failed: \(exit)") }
        }
        // The sandbox and its proxy must exist until both callers are done.
        withExtendedLifetime(sandbox) {}
    }
}
