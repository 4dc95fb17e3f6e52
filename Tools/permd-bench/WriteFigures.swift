// The latency of durable writes, and of reads during writes.

import Dispatch
import Synchronization

extension Bench {
    /// Measures one durable write at a time, in turn with the echo; returns the ratio of permd's median to the echo's.
    func measureWrite(_ wanted: Double?) throws -> Double {
        say("SetDecision, one at a time, with \(stored) decisions stored")
        let (own, peer) = (amount(200, quick: 30), amount(stored > 1000 ? 10 : 40, quick: 5))
        var measurements: [(name: String, run: () throws -> Double)] = [
            (
                "C echo",
                { [client] in try Latencies.of(own) { try client.time(Calls.echo()) }.percentile(50) }
            ),
            (
                "permd",
                { [self] in try Latencies.of(own) { try client.time(nextDecision()) }.percentile(50) }
            ),
        ]
        if wanted != nil {
            measurements.append(
                (
                    "SetPermission",
                    { [self] in
                        try withPermdStopped {
                            try Latencies.of(peer) { try client.time(nextPermission()) }.percentile(50)
                        }
                    }
                ))
        }
        let rounds = try Rounds.interleaved(rounds, measurements)
        if let wanted {
            report.add(
                Figure(
                    "SetDecision, durable, \(stored) stored", "µs", rounds, "permd", against: "SetPermission",
                    .atMost(wanted)))
        }
        return rounds.ratio("permd", to: "C echo")
    }

    /// Measures reads while another client keeps 64 writes in flight.
    func measureReadsDuringWrites() throws {
        say("GetStatus while 64 writes are in flight")
        let seconds = isQuick ? 0.5 : 2.0
        let rounds = try Rounds.interleaved(
            rounds,
            [
                (
                    "permd",
                    { [self] in
                        let writes = writing(clients: 1, ofPermd: true)
                        defer { writes.stop() }
                        return try p99(seconds: seconds) { Calls.status() }
                    }
                ),
                (
                    "Lookup",
                    { [self] in
                        try withPermdStopped {
                            let writes = writing(clients: 1, ofPermd: false)
                            defer { writes.stop() }
                            return try p99(seconds: seconds) { Calls.lookup(7) }
                        }
                    }
                ),
            ])
        report.add(
            Figure(
                "GetStatus p99, 64 writes in flight", "µs", rounds, "permd", against: "Lookup", .atMost(0.2)))
        try restartStore()
    }

    /// Makes one call at a time for `seconds` and returns the 99th percentile in microseconds.
    func p99(seconds: Double, _ message: () -> BenchMessage) throws -> Double {
        var latencies = Latencies()
        let end = BenchClient.now() + UInt64(seconds * 1e9)
        while BenchClient.now() < end { latencies.add(try client.time(message())) }
        return latencies.percentile(99)
    }
}

/// Clients on threads of their own that keep 64 calls in flight each.
final class BackgroundCalls: Sendable {
    private let isOver = Atomic<Bool>(false)
    private let answered = Atomic<Int>(0)
    private let ended = DispatchSemaphore(value: 0)
    private let clients: Int
    private let start: UInt64

    /// Returns when all clients have calls in flight. `first` is answered before; `message` makes each further call.
    init(
        _ address: String, clients: Int = 1, first: @escaping @Sendable () -> BenchMessage,
        _ message: @escaping @Sendable (Int) -> BenchMessage
    ) {
        self.clients = clients
        let started = DispatchSemaphore(value: 0)
        start = BenchClient.now()
        for client in 0..<clients {
            DispatchQueue.global().async { [self] in
                defer {
                    started.signal()
                    ended.signal()
                }
                guard let connection = try? BenchClient(address), (try? connection.call(first())) != nil else { return }
                var number = client
                while !isOver.load(ordering: .relaxed) {
                    let pumped: Void? = try? connection.pump(256, inFlight: 64) { _ in
                        number += clients
                        return message(number)
                    }
                    if pumped == nil { return }
                    answered.add(256, ordering: .relaxed)
                    started.signal()
                }
            }
        }
        for _ in 0..<clients { started.wait() }
    }

    func stop() {
        isOver.store(true, ordering: .relaxed)
        for _ in 0..<clients { ended.wait() }
    }

    var count: Int { answered.load(ordering: .relaxed) }
}
