// The state shared by all figures: the bus, the services, what is stored, and the report.

import Glibc
import PermissionTestKit

final class Bench {
    /// The decisions stored while calls are measured.
    static let fewDecisions = 1000
    /// The decisions stored while the start is measured.
    static let manyDecisions = 16_000

    let address: String
    /// A temporary folder that is removed after the run.
    let folder: String
    let isQuick: Bool
    let client: BenchClient
    var report: Report
    private(set) var stored = 0
    /// Numbers of calls so far that must differ from each other.
    private var (decisions, permissions) = (0, 0)

    init(address: String, folder: String, isQuick: Bool, _ report: Report) throws {
        self.address = address
        self.folder = folder
        self.isQuick = isQuick
        self.report = report
        client = try BenchClient(address)
    }

    var rounds: Int { amount(7, quick: 2) }

    /// Returns `full`, or `quick` in a quick run.
    func amount(_ full: Int, quick: Int) -> Int { isQuick ? quick : full }

    func say(_ text: String) {
        print("   \(text)")
        fflush(nil)
    }

    // MARK: Services

    /// The app ID that permd gives this program.
    let ownApp = "exe:" + BuiltProgram.own

    /// Restarts the daemon; stored decisions are kept. There is one for this program, so that GetStatus is answered from
    /// the store.
    func restartPermd() throws {
        try restart(Service.permd)
        try client.call(Calls.decide(ownApp, false))
        let answer = try client.call(Calls.status())
        guard answer.firstTableValue == "denied" else {
            throw BenchFailure("permd does not identify this program as \(ownApp)")
        }
    }

    func restart(_ service: String) throws {
        try client.end(service)
        try client.start(service)
    }

    /// Stops permd (SIGSTOP) while the peer is measured: it would read the peer's signal for each change.
    func withPermdStopped<Result>(_ body: () throws -> Result) throws -> Result {
        let pid = try client.process(of: Service.permd)
        kill(pid, SIGSTOP)
        let result = Swift.Result { try body() }
        kill(pid, SIGCONT)
        // permd has read all queued signals when this call is answered.
        try client.call(Calls.status())
        return try result.get()
    }

    // MARK: Stores

    /// Fills both stores up to `count` decisions, with many calls in flight.
    func fill(to count: Int) throws {
        say("storing \(count) decisions in each store")
        // permd limits the calls of a caller that it has not identified yet.
        try client.call(Calls.status())
        try client.pump(count - stored, inFlight: 256) { Calls.decide(Calls.app(stored + $0), true) }
        // The peer rewrites its file for each group of calls and uses memory for each call, hence large groups and a
        // restart after each.
        let group = 20_000
        for start in stride(from: stored, to: count, by: group) {
            let size = min(group, count - start)
            try withPermdStopped { try client.pump(size, inFlight: size) { Calls.permit(start + $0, true) } }
            try restart(Service.store)
        }
        stored = count
    }

    /// Differs from call to call, so that every call causes a write.
    func nextDecision() -> BenchMessage {
        decisions += 1
        return Calls.decide(Calls.app(decisions % stored), (decisions / stored) % 2 == 1)
    }

    func nextPermission() -> BenchMessage {
        permissions += 1
        return Calls.permit(permissions % stored, (permissions / stored) % 2 == 1)
    }
}
