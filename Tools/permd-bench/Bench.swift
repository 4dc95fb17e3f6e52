// What all figures share: the bus, the services, how long to measure, and the report.

import Glibc

final class Bench {
    let address: String
    /// A folder of ours that goes with the run.
    let folder: String
    let isQuick: Bool
    let client: BenchClient
    var report: Report
    /// Made so far: each has a handle of its own.
    var dialogs = 0
    /// How many decisions each store has.
    private(set) var stored = 0

    /// Rounds of each comparison.
    var rounds: Int

    init(address: String, folder: String, isQuick: Bool, machine: [String: String]) throws {
        self.address = address
        self.folder = folder
        self.isQuick = isQuick
        rounds = isQuick ? 5 : 7
        client = try BenchClient(address)
        report = Report(machine: Report.machine(machine), isQuick: isQuick)
    }

    /// As many as that, fewer in a quick run.
    func amount(_ full: Int, quick: Int) -> Int { isQuick ? quick : full }

    func say(_ text: String) {
        print("   \(text)")
        fflush(nil)
    }

    // MARK: Services

    /// Starts the daemon afresh; what it decided stays.
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

    /// We are an app with a decision, so that a status comes from what is stored.
    private func ownDecision() throws {
        try client.call(Calls.decide(ownApp, false))
        let answer = try client.call(Calls.status())
        guard answer.tableValues == ["denied"] else {
            throw BenchFailure("permd does not take us for \(ownApp): \(answer.tableValues)")
        }
    }

    /// As permd names this program.
    var ownApp: String { "exe:" + ownProgram }

    var ownProgram: String {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("/proc/self/exe", &path, path.count - 1)
        let bytes = path.prefix(max(0, length)).map { UInt8(bitPattern: $0) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Keeps permd still while its peer is measured: it would read what the peer tells of each change.
    func withPermdStopped<Result>(_ body: () throws -> Result) throws -> Result {
        let pid = try client.process(of: Service.permd)
        kill(pid, SIGSTOP)
        defer {
            kill(pid, SIGCONT)
            // It has read all of it when this is answered.
            _ = try? client.call(Calls.status())
        }
        return try body()
    }

    // MARK: Stores

    /// Fills both stores by calls, many under way at once, up to so many decisions.
    func fill(to count: Int) throws {
        guard count > stored else { return }
        say("storing \(count) decisions in each store")
        // permd takes only so many calls of somebody it does not know yet.
        try client.call(Calls.status())
        try client.pump(count - stored, inFlight: 256) { Calls.decide(Calls.app(self.stored + $0), true) }
        // The peer rewrites its file for each group of calls and keeps memory for each: large groups, and fresh starts.
        let group = 20_000
        for start in stride(from: stored, to: count, by: group) {
            let size = min(group, count - start)
            try withPermdStopped { try client.pump(size, inFlight: size) { Calls.permit(start + $0, true) } }
            try restartStore()
        }
        stored = count
    }

    /// Different each time, so that a write is one.
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
