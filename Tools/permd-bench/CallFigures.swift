// Calls: one at a time, many in flight, durable writes, and the first one after a start.

import Glibc

extension Bench {
    /// Makes one call at a time; returns the median of each round in microseconds.
    private func median(_ count: Int, _ message: @escaping () -> BenchMessage) -> () throws -> Double {
        { [client] in
            let times = try (0..<count).map { _ in try client.time(message()) }
            return percentile(50, of: times)
        }
    }

    func measureOneAtATime() throws {
        say("GetStatus, one at a time")
        let count = amount(2000, quick: 200)
        var number = 0
        let rounds = try Rounds.inTurns(
            rounds,
            [
                ("C echo", median(count) { Calls.echo() }),
                ("permd", median(count) { Calls.status() }),
                (
                    "Lookup",
                    median(count) { [self] in
                        number += 1
                        return Calls.lookup(number % stored)
                    }
                ),
            ])
        report.add(Figure("`GetStatus`, one at a time", "µs", rounds, against: "C echo"))
        report.add(Figure("`GetStatus`, one at a time", "µs", rounds, against: "Lookup"))
    }

    func measureInFlight() throws {
        say("GetStatus, 64 in flight")
        let count = amount(50_000, quick: 2000)
        func rate(_ message: BenchMessage) -> () throws -> Double {
            { [client] in
                let start = BenchClient.now()
                try client.pump(count, inFlight: 64) { _ in message.copy() }
                return Double(count) * 1e9 / Double(BenchClient.now() - start)
            }
        }
        let rounds = try Rounds.inTurns(rounds, [("C echo", rate(Calls.echo())), ("permd", rate(Calls.status()))])
        report.add(Figure("`GetStatus`, 64 in flight", "calls/s", rounds, against: "C echo"))
    }

    func measureWrite() throws {
        say("a durable write")
        let (own, peer) = (amount(200, quick: 30), amount(40, quick: 5))
        let rounds = try Rounds.inTurns(
            rounds,
            [
                ("permd", median(own) { [self] in nextDecision() }),
                (
                    "SetPermission",
                    { [self] in try withPermdStopped { try median(peer) { [self] in nextPermission() }() } }
                ),
            ])
        report.add(Figure("`SetDecision`, on disk, \(stored) stored", "µs", rounds, against: "SetPermission"))
    }

    /// The time from a call to a service that is not running, which the bus starts, to its first reply.
    func measureStart() throws {
        say("start by the bus, with \(stored) decisions stored")
        func start(_ service: String, _ message: BenchMessage) -> () throws -> Double {
            { [client] in
                try client.end(service)
                // Until the bus has processed the exit and the disk is idle.
                usleep(50_000)
                return Double(try client.time(message.copy())) / 1e6
            }
        }
        let rounds = try Rounds.inTurns(
            rounds,
            [
                ("permd", start(Service.permd, Calls.status())),
                ("xdg-permission-store", start(Service.store, Calls.lookup(7))),
            ])
        report.add(
            Figure("start to first answer, \(stored) stored", "ms", rounds, against: "xdg-permission-store"))
    }
}
