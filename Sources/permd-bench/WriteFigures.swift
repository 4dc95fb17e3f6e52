// How long a decision takes to be on disk, and what reading is like meanwhile.

import Dispatch
import Synchronization

extension Bench {
    /// One durable write at a time, both in turn; permd's median over the echo's.
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

    func measureWriteRate() throws {
        say("SetDecision, 64 in flight")
        func rate(_ count: Int, _ message: () -> BenchMessage) throws -> Double {
            let start = BenchClient.now()
            try client.pump(count, inFlight: 64) { _ in message() }
            return Double(count) * 1e9 / Double(BenchClient.now() - start)
        }
        let (own, peer) = (amount(10_000, quick: 1000), amount(2000, quick: 300))
        let rounds = try Rounds.interleaved(
            rounds,
            [
                ("permd", { [self] in try rate(own, nextDecision) }),
                ("SetPermission", { [self] in try withPermdStopped { try rate(peer, nextPermission) } }),
            ])
        report.add(
            Figure(
                "SetDecision, 64 in flight, \(stored) stored", "calls/s", rounds, "permd", against: "SetPermission",
                .atLeast(3)))
    }

    /// Reading while another client keeps 64 writes in flight.
    func measureReadsDuringWrites() throws {
        say("GetStatus while 64 writes are in flight")
        let seconds = isQuick ? 0.5 : 2.0
        let rounds = try Rounds.interleaved(
            rounds,
            [
                (
                    "permd",
                    { [self] in
                        let writes = BackgroundWrites(address, ofPermd: true, stored)
                        defer { writes.stop() }
                        return try p99(seconds: seconds) { Calls.status() }
                    }
                ),
                (
                    "Lookup",
                    { [self] in
                        try withPermdStopped {
                            let writes = BackgroundWrites(address, ofPermd: false, stored)
                            defer { writes.stop() }
                            return try p99(seconds: seconds) { Calls.lookup(7) }
                        }
                    }
                ),
            ])
        report.add(
            Figure(
                "GetStatus p99, 64 writes in flight", "µs", rounds, "permd", against: "Lookup", .atMost(0.1)))
        try restartStore()
    }

    /// For so long, one call after the other.
    func p99(seconds: Double, _ message: () -> BenchMessage) throws -> Double {
        var latencies = Latencies()
        let end = BenchClient.now() + UInt64(seconds * 1e9)
        while BenchClient.now() < end { latencies.add(try client.time(message())) }
        return latencies.percentile(99)
    }
}

/// A client on a thread of its own that keeps 64 writes in flight.
final class BackgroundWrites: Sendable {
    private let isOver = Atomic<Bool>(false)
    private let ended = DispatchSemaphore(value: 0)

    /// Returns when the writes are under way.
    init(_ address: String, ofPermd: Bool, _ stored: Int) {
        let started = DispatchSemaphore(value: 0)
        DispatchQueue.global().async { [self] in
            defer {
                started.signal()
                ended.signal()
            }
            guard let client = try? BenchClient(address) else { return }
            // permd takes only so many calls of somebody it does not know yet.
            if ofPermd { _ = try? client.call(Calls.status()) }
            var number = 0
            while !isOver.load(ordering: .relaxed) {
                let pumped: Void? = try? client.pump(256, inFlight: 64) { _ in
                    number += 1
                    let isGranted = (number / stored) % 2 == 1
                    return ofPermd
                        ? Calls.decide(Calls.app(number % stored), isGranted) : Calls.permit(number % stored, isGranted)
                }
                if pumped == nil { return }
                started.signal()
            }
        }
        started.wait()
    }

    func stop() {
        isOver.store(true, ordering: .relaxed)
        ended.wait()
    }
}
