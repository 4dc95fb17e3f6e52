// What permd-pipewire lets through, how soon it acts, and what it costs, on a private PipeWire.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit

extension Bench {
    func measureSound() throws {
        let plan = SoundPlan(
            decisions: amount(100, quick: 5), runs: amount(100, quick: 5), idleSeconds: UInt32(amount(60, quick: 5)),
            players: amount(500, quick: 20), rounds: amount(3, quick: 1))
        let found = try SoundPlan.wait { try await SoundMeasurement(plan).run() }
        for leak in found.leaks {
            report.add(
                Figure(absolute: "\(leak.name), with the tone", "of \(leak.runs)", leak.leaked, "", nil, .atMost(0)))
        }
        for (name, values) in [("grant to the link", found.grants), ("taken back to its end", found.revocations)] {
            for (label, percentile, most) in [("median", 50.0, 10.0), ("p99", 99.0, 50.0)] {
                report.add(
                    Figure(
                        absolute: "\(name), \(label)", "ms", values.percentile(percentile) / 1000, "", nil,
                        .atMost(most)))
            }
        }
        report.add(Figure(absolute: "permd-pipewire, PSS", "MB", found.memory, "", nil, .atMost(7)))
        report.add(
            Figure(
                absolute: "permd-pipewire, wake-ups in \(plan.idleSeconds) s", "", found.wakeUps, "", nil, .atMost(0)))
        report.add(
            Figure(
                "one of \(plan.players) clients that play, until linked", "ms", found.players, "with permd-pipewire",
                against: "without it", .atMost(1.1)))
    }
}

/// How much is measured.
private struct SoundPlan: Sendable {
    let decisions: Int
    let runs: Int
    let idleSeconds: UInt32
    let players: Int
    let rounds: Int

    /// Waits for code that runs on the loop.
    static func wait<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) throws -> Result {
        let outcome = Outcome<Result>()
        Task {
            do { outcome.set(.success(try await body())) } catch { outcome.set(.failure(error)) }
        }
        return try outcome.get()
    }
}

/// A value that another thread waits for.
private final class Outcome<Value: Sendable>: Sendable {
    // SAFETY: written once before the semaphore is signalled, and read after it was waited for.
    private nonisolated(unsafe) var result: Result<Value, any Error>?
    private let isThere = DispatchSemaphore(value: 0)

    func set(_ result: Result<Value, any Error>) {
        self.result = result
        isThere.signal()
    }

    func get() throws -> Value {
        isThere.wait()
        guard let result else { throw BenchFailure("a measurement has no result") }
        return try result.get()
    }
}

private struct SoundResult: Sendable {
    struct Leak: Sendable {
        let name: String
        /// How many refused recorders got any of the tone.
        let leaked: Double
        let runs: Int
    }

    var leaks: [Leak] = []
    var grants = Latencies()
    var revocations = Latencies()
    var memory = 0.0
    var wakeUps = 0.0
    var players = Rounds()
}

@LoopActor
private final class SoundMeasurement {
    /// Recorders that start at the same moment.
    private static let together = 10

    private let plan: SoundPlan
    private var result = SoundResult()

    nonisolated init(_ plan: SoundPlan) { self.plan = plan }

    func run() async throws -> SoundResult {
        let server = try await SoundServer()
        try await measureIdle(server)
        try await measureDecisions(server)
        for isBusy in [false, true] {
            let load = isBusy ? try BusyProcessors() : nil
            try await measureLeaks(server, isBusy ? ", busy machine" : "")
            await load?.end()
        }
        await server.end()
        for _ in 0..<plan.rounds {
            result.players.add(try await timeOfPlayers(isEnforced: false), to: "without it")
            result.players.add(try await timeOfPlayers(isEnforced: true), to: "with permd-pipewire")
        }
        return result
    }

    private func measureIdle(_ server: SoundServer) async throws {
        guard let pid = server.enforcer else { throw BenchFailure("permd-pipewire does not run") }
        let look = ProcessLook(pid: pid)
        // What started just now settles.
        try await Task.sleep(for: .seconds(8))
        let before = try look.switches()
        try await Task.sleep(for: .seconds(Int(plan.idleSeconds)))
        result.wakeUps = try look.switches(since: before)
        result.memory = try look.memory()
    }

    // MARK: Grants

    private func measureDecisions(_ server: SoundServer) async throws {
        print("   grants and their ends, while a program records")
        let app = Recorder.app(.native, "decided", on: server)
        let policy = try server.permd.bus.connect()
        func decide(_ decision: String) async throws {
            _ = try await policy.call(
                .call(
                    destination: BusNames.service, path: BusNames.root, interface: BusNames.policy,
                    member: "SetDecision",
                    [.string(app.description), .string("microphone"), .string(decision), .properties([:])]))
        }
        let links = try await LinkMonitor(server)
        try await decide("deny")
        let recorder = try await Recorder(.native, "decided", on: server)
        for _ in 0..<plan.decisions {
            let known = links.made.all.count
            let start = LinkMonitor.now
            try await decide("grant")
            result.grants.add(try await links.made.wait(for: known + 1)[known] &- start)
            let gone = links.ended.all.count
            let revoked = LinkMonitor.now
            try await decide("deny")
            result.revocations.add(try await links.ended.wait(for: gone + 1)[gone] &- revoked)
            // The link's other channels.
            try await Task.sleep(for: .milliseconds(100))
        }
        await recorder.end()
        await links.end()
    }

    // MARK: Players

    /// Connects clients that play one after the other. Returns the median of the times until they were linked, in
    /// milliseconds.
    private func timeOfPlayers(isEnforced: Bool) async throws -> Double {
        let server = try await SoundServer(isConfigured: isEnforced, isEnforced: isEnforced)
        let players = try ChildProcess(
            BuiltProgram.path("player"), ["\(plan.players)"], environment: server.environment, standardInput: .pipe)
        var times = Latencies()
        for await line in players.lines {
            times.add((UInt64(line) ?? 0) * 1000)
            if times.count == plan.players { break }
        }
        guard times.count == plan.players else { throw BenchFailure("a client that plays was not linked") }
        players.closeInput()
        _ = await players.waitForExit()
        await server.end()
        let median = times.percentile(50)
        print("   \(plan.players) clients that play, with\(isEnforced ? "" : "out") permd-pipewire: \(median) µs")
        return median / 1000
    }

    // MARK: Leaks

    private func measureLeaks(_ server: SoundServer, _ machine: String) async throws {
        let sandbox = try await FlatpakSandbox("org.example.Recorder", on: server.permd.bus)
        for (kind, box) in [(Recorder.Kind.native, nil), (.pulse, nil), (.pulse, sandbox)] {
            try await server.permctl("deny", Recorder.app(kind, "refused", on: server).description, "microphone")
            let name = (box == nil ? "refused \(kind) clients" : "undecided sandboxed \(kind) clients") + machine
            for together in [1, SoundMeasurement.together] {
                var leaked = 0
                var runs = 0
                while runs < plan.runs {
                    leaked += try await leaks(kind, box, together, on: server)
                    runs += together
                }
                print("   \(name), \(together) at once: \(leaked) of \(runs) got the tone")
                result.leaks.append(
                    SoundResult.Leak(name: "\(name), \(together) at once", leaked: Double(leaked), runs: runs))
            }
        }
    }

    /// Starts recorders beside one that may record, and returns how many of them got any of the tone until that had it.
    private func leaks(
        _ kind: Recorder.Kind, _ sandbox: FlatpakSandbox?, _ count: Int, on server: SoundServer
    ) async throws -> Int {
        var refused: [Recorder] = []
        for _ in 0..<count { refused.append(try await Recorder(kind, "refused", on: server, through: sandbox)) }
        let allowed = try await Recorder(kind, "allowed", on: server)
        try await allowed.hears(10)
        let leaked = refused.count { $0.tones > 0 }
        for recorder in refused + [allowed] { await recorder.end() }
        return leaked
    }
}

/// Keeps all processors busy.
@LoopActor
private final class BusyProcessors {
    private let processes: [ChildProcess]

    init() throws {
        processes = try (0..<ProcessInfo.processInfo.activeProcessorCount).map { _ in
            try ChildProcess("sh", ["-c", "while :; do :; done"])
        }
    }

    func end() async {
        for process in processes {
            process.terminate(SIGKILL)
            _ = await process.waitForExit()
        }
    }
}
