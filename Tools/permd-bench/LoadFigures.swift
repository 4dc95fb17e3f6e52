// Behavior under load: throughput, and the latency of another caller.

import Glibc

extension Bench {
    /// Measures clients with 64 calls in flight each, and the 99th percentile of another client that makes one call at
    /// a time.
    func measureLoad() throws {
        for clients in [1, 2, 4] {
            say("GetStatus, \(clients) × 64 in flight, and of another caller")
            var waits = Rounds()
            func load(_ name: String, _ message: @escaping @Sendable () -> BenchMessage) -> () throws -> Double {
                { [self] in
                    let calls = BackgroundCalls(address, clients: clients, first: message) { _ in message() }
                    defer { calls.stop() }
                    let (rate, wait) = try measure(calls, message)
                    waits.add(wait, to: name)
                    return rate
                }
            }
            let rates = try Rounds.interleaved(
                rounds, warmUp: false, [("C echo", load("C echo", Calls.echo)), ("permd", load("permd", Calls.status))])
            report.add(
                Figure(
                    "GetStatus, \(clients) × 64 in flight", "calls/s", rates, "permd", against: "C echo", .atLeast(0.8))
            )
            report.add(
                Figure(
                    "GetStatus p99 of another caller, \(clients) × 64 in flight", "µs", waits, "permd",
                    against: "C echo", .atMost(1.5)))
        }
    }

    /// Returns the calls per second of all clients, including this one, and this one's 99th percentile in microseconds.
    private func measure(_ calls: BackgroundCalls, _ message: () -> BenchMessage) throws -> (Double, Double) {
        var latencies = Latencies()
        var own = 0
        let (before, start) = (calls.count, BenchClient.now())
        let end = start + UInt64((isQuick ? 0.5 : 2.0) * 1e9)
        while BenchClient.now() < end {
            latencies.add(try client.time(message()))
            own += 1
        }
        let seconds = Double(BenchClient.now() - start) / 1e9
        return (Double(calls.count - before + own) / seconds, latencies.percentile(99))
    }

    /// Measures the 99th percentile of a caller while another one floods the service without reading replies.
    func measureFlood() throws {
        say("GetStatus of another caller in a flood whose answers are not read")
        func wait(_ message: @escaping () -> BenchMessage) -> () throws -> Double {
            { [self] in
                let flood = try UnreadFlood(address, message)
                defer { flood.stop() }
                // Warms up until all queues of the bus are full.
                _ = try p99(seconds: isQuick ? 0.2 : 1, message)
                return try p99(seconds: isQuick ? 0.5 : 2, message)
            }
        }
        let rounds = try Rounds.interleaved(
            rounds, warmUp: false, [("C echo", wait(Calls.echo)), ("permd", wait(Calls.status))])
        report.add(
            Figure(
                "GetStatus p99 in a flood, answers unread", "µs", rounds, "permd", against: "C echo", .atMost(2)))
    }

    /// Measures durable writes of clients with 64 calls in flight each.
    func measureWriteRate() throws {
        for clients in [1, 4] {
            say("SetDecision, \(clients) × 64 in flight")
            func rate(ofPermd: Bool) throws -> Double {
                let calls = writing(clients: clients, ofPermd: ofPermd)
                defer { calls.stop() }
                let (before, start) = (calls.count, BenchClient.now())
                usleep(isQuick ? 500_000 : 2_000_000)
                return Double(calls.count - before) * 1e9 / Double(BenchClient.now() - start)
            }
            let rounds = try Rounds.interleaved(
                rounds,
                [
                    ("permd", { try rate(ofPermd: true) }),
                    ("SetPermission", { [self] in try withPermdStopped { try rate(ofPermd: false) } }),
                ])
            report.add(
                Figure(
                    "SetDecision, \(clients) × 64 in flight, \(stored) stored", "calls/s", rounds, "permd",
                    against: "SetPermission", .atLeast(3)))
        }
        try restartStore()
    }

    /// Keeps 64 writes per client in flight, each to a different decision.
    func writing(clients: Int, ofPermd: Bool) -> BackgroundCalls {
        let stored = stored
        return BackgroundCalls(
            address, clients: clients, first: { ofPermd ? Calls.status() : Calls.lookup(0) },
            { number in
                let isGranted = (number / stored) % 2 == 1
                return ofPermd
                    ? Calls.decide(Calls.app(number % stored), isGranted) : Calls.permit(number % stored, isGranted)
            })
    }
}
