// Hostile programs, sandboxed and not, run next to a well-behaved app and agent. These must be served, nothing may be
// granted without the user, and permd must keep running within its limits.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport

@LoopActor
final class HostileFault {
    /// The attacks of each attacker: in a sandbox, in a sandbox behind a proxy, and outside any sandbox.
    struct Plan: Sendable {
        let name: String
        let direct: [Attack]
        let proxied: [Attack]
        let plain: [Attack]

        static let everything = Plan(
            name: "hostile callers", direct: Attack.allCases, proxied: Attack.ofProxied, plain: Attack.ofPlain)
        static let forgeries = Plan(
            name: "forged replies", direct: [.forged, .names, .leaving], proxied: [.forged], plain: [.forged, .leaving])
    }

    private let plan: Plan
    private let milliseconds: Int
    private let devices: MockDevices
    private let report: Report
    private var dice: Dice

    init(_ seed: UInt64, _ plan: Plan, seconds: Int, _ devices: MockDevices) {
        dice = Dice(seed: seed)
        self.plan = plan
        milliseconds = seconds * 1000
        self.devices = devices
        report = Report(plan.name)
    }

    func run() async -> Report {
        for kind in PrivateBus.Kind.allCases {
            do { try await play(kind) } catch { report.lose("\(kind.rawValue): \(error)") }
        }
        for attack in Set(plan.direct + plan.proxied + plan.plain) { report.expect(attack.rawValue) }
        for what in ["honest answers", "decisions kept"] { report.expect(what) }
        return report
    }

    private func play(_ kind: PrivateBus.Kind) async throws {
        let place = try await Place(bus: PrivateBus(kind), devices, settings: "[Prompts]\nAgentWaitSec=5\n")
        let limits = ProcessLimits(place, report, kind)
        let desk = try await HonestDesk(place, report, kind)
        try await desk.serve()
        limits.begin()
        let crowd = try await attackers(place)
        let end = Loop.uptimeMilliseconds() + Int64(milliseconds)
        var rounds = 0
        while Loop.uptimeMilliseconds() < end, place.permd.isRunning {
            do { try await desk.serve() } catch { report.lose("\(kind.rawValue): \(error)") }
            rounds += 1
        }
        for attacker in crowd { await attacker.stop(report) }
        guard place.permd.isRunning else {
            // The final log lines and the exit arrive on separate channels.
            let exit = await place.permd.stop(SIGKILL)
            for line in place.permd.log.all.suffix(20) { Report.say("   \(line)") }
            report.lose("\(kind.rawValue): permd ended unexpectedly: \(exit.map { "\($0)" } ?? "exit status unknown")")
            return await place.end()
        }
        // Afterwards, permd must serve as before.
        try await desk.serve()
        try await desk.check()
        await limits.end(answers: desk.served)
        await desk.end()
        await place.end()
    }

    private func attackers(_ place: Place) async throws -> [AttackerProcess] {
        [
            try await AttackerProcess(place, "org.example.Hostile", .direct, plan.direct, seed: dice.next()),
            try await AttackerProcess(place, "org.example.Hostile", .proxied, plan.proxied, seed: dice.next()),
            try await AttackerProcess(place, nil, .direct, plan.plain, seed: dice.next()),
        ]
    }
}

/// A process that attacks until it is stopped.
@LoopActor
final class AttackerProcess {
    private let process: ChildProcess
    private let sandbox: FlatpakSandbox?
    private let name: String

    /// - Parameter app: The app ID of the sandbox; nil for none.
    init(
        _ place: Place, _ app: String?, _ access: FlatpakSandbox.Access, _ attacks: [Attack], seed: UInt64
    ) async throws {
        let sandbox: FlatpakSandbox? =
            if let app { try await FlatpakSandbox(app, on: place.permd.bus, access: access) } else { nil }
        self.sandbox = sandbox
        name = app == nil ? "plain" : access.rawValue
        let words =
            (sandbox?.command ?? []) + [
                BuiltProgram.own, "attacker", "\(seed >> 1)", attacks.map(\.rawValue).joined(separator: ","),
            ]
        process = try ChildProcess(
            words[0], Array(words.dropFirst()),
            environment: place.permd.environment.merging(sandbox?.environment ?? [:]) { $1 }, standardInput: .pipe)
    }

    /// Stops the process and reports what it did.
    func stop(_ report: Report) async {
        process.closeInput()
        var isTold = false
        for await line in process.lines {
            let words = line.split(separator: " ").map(String.init)
            if words.count == 3, words[0] == "did" {
                report.count(words[2], Int(words[1]) ?? 0)
                isTold = true
            } else if words.first == "lost" {
                report.lose("\(name): \(line.dropFirst(5))")
            }
        }
        let exit = await process.waitForExit()
        if exit != .exited(0) || !isTold { report.lose("the \(name) attacker failed: \(exit)") }
    }
}
