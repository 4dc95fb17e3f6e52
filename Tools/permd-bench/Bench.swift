// The state shared by all figures: the bus, the services, the duration of measurements, and the report.

import Glibc

final class Bench {
    let address: String
    /// A temporary folder that is removed after the run.
    let folder: String
    let isQuick: Bool
    let client: BenchClient
    var report: Report
    /// The number of dialogs so far; each needs its own handle.
    var dialogs = 0
    private(set) var stored = 0

    var rounds: Int

    init(address: String, folder: String, isQuick: Bool, machine: [String: String]) throws {
        self.address = address
        self.folder = folder
        self.isQuick = isQuick
        rounds = isQuick ? 5 : 7
        client = try BenchClient(address)
        report = Report(machine: Report.machine(machine), isQuick: isQuick)
    }

    /// Returns `full`, or `quick` in a quick run.
    func amount(_ full: Int, quick: Int) -> Int { isQuick ? quick : full }

    func say(_ text: String) {
        print("   \(text)")
        fflush(nil)
    }

    // MARK: Services

    /// Restarts the daemon; stored decisions are kept.
    func restartPermd() throws {
        try client.end(Service.permd)
        _ = try client.start(Service.permd)
        try ownDecision()
    }

    func restartStore() throws {
        try client.end(Service.store)
        _ = try client.start(Service.store)
    }

    func process(_ service: String) throws -> ProcessLook { ProcessLook(pid: try client.process(of: service)) }

    /// Stores a decision for this program, so that GetStatus is answered from the store.
    private func ownDecision() throws {
        try client.call(Calls.decide(ownApp, false))
        let answer = try client.call(Calls.status())
        guard answer.tableValues == ["denied"] else {
            throw BenchFailure("permd does not identify this program as \(ownApp): \(answer.tableValues)")
        }
    }

    /// The app ID that permd gives this program.
    var ownApp: String { "exe:" + ownProgram }

    var ownProgram: String {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("/proc/self/exe", &path, path.count - 1)
        let bytes = path.prefix(max(0, length)).map { UInt8(bitPattern: $0) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Stops permd (SIGSTOP) while the peer is measured: it would read the peer's signal for each change.
    func withPermdStopped<Result>(_ body: () throws -> Result) throws -> Result {
        let pid = try client.process(of: Service.permd)
        kill(pid, SIGSTOP)
        defer {
            kill(pid, SIGCONT)
            // permd has read all queued signals when this call is answered.
            _ = try? client.call(Calls.status())
        }
        return try body()
    }

    // MARK: Stores

    /// Fills both stores up to `count` decisions, with many calls in flight.
    func fill(to count: Int) throws {
        guard count > stored else { return }
        say("storing \(count) decisions in each store")
        // permd limits the calls of a caller that it has not identified yet.
        try client.call(Calls.status())
        try client.pump(count - stored, inFlight: 256) { Calls.decide(Calls.app(self.stored + $0), true) }
        // The peer rewrites its file for each group of calls and uses memory for each call, hence large groups and a
        // restart after each.
        let group = 20_000
        for start in stride(from: stored, to: count, by: group) {
            let size = min(group, count - start)
            try withPermdStopped { try client.pump(size, inFlight: size) { Calls.permit(start + $0, true) } }
            try restartStore()
        }
        stored = count
    }

    /// Differs from call to call, so that every call causes a write.
    private var turn = 0
    func nextDecision() -> BenchMessage {
        turn += 1
        return Calls.decide(Calls.app(turn % stored), (turn / stored) % 2 == 1)
    }
    private var storeTurn = 0
    func nextPermission() -> BenchMessage {
        storeTurn += 1
        return Calls.permit(storeTurn % stored, (storeTurn / stored) % 2 == 1)
    }
}
