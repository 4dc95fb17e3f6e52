// The cost of a running permd: memory, wake-ups, and leaks.

import Glibc

extension Bench {
    private func settle() { usleep(isQuick ? 500_000 : 2_000_000) }

    /// Measures both services freshly started, with the same number of decisions, after one call each and then without
    /// any calls.
    func measureIdle() throws {
        say("memory, idle")
        try restartPermd()
        try restartStore()
        try client.call(Calls.lookup(1))
        settle()
        let (own, peer) = (try process(Service.permd), try process(Service.store))
        report.add(
            Figure(
                "memory, idle (PSS)", "MB", try own.memory(), "xdg-permission-store", try peer.memory(), .atMost(1.2)))
        report.add(
            Figure(
                absolute: "memory, idle (private dirty)", "MB", try own.dirty(), "xdg-permission-store",
                try peer.dirty(), .atMost(1)))
        let seconds = amount(60, quick: 5)
        say("wake-ups in \(seconds) idle seconds")
        let before = (try own.switches(), try peer.switches())
        sleep(UInt32(seconds))
        report.add(
            Figure(
                absolute: "wake-ups in \(seconds) idle seconds", "", try own.switches(since: before.0),
                "xdg-permission-store", try peer.switches(since: before.1), .atMost(0)))
    }

    func measureMemoryAfterWrites() throws {
        let count = amount(10_000, quick: 1000)
        say("memory after \(count) SetDecision")
        try restartPermd()
        settle()
        let look = try process(Service.permd)
        let before = try look.memory()
        try client.pump(count, inFlight: 64) { _ in self.nextDecision() }
        settle()
        report.add(
            Figure("memory after \(count) SetDecision", "MB", try look.memory(), "before", before, .atMost(1.1)))
    }

    func measureComingAndGoing() throws {
        let count = amount(10_000, quick: 500)
        say("\(count) clients connect, ask once and leave")
        let look = try process(Service.permd)
        func comeAndGo(_ count: Int) throws {
            for _ in 0..<count { try BenchClient(address).call(Calls.status()) }
            try client.call(Calls.status())
            settle()
        }
        try comeAndGo(count / 10)
        let before = (memory: try look.memory(), descriptors: try look.descriptors())
        try comeAndGo(count)
        report.add(
            Figure("memory after \(count) clients", "MB", try look.memory(), "before", before.memory, .atMost(1.05)))
        report.add(
            Figure(
                "descriptors after \(count) clients", "", try look.descriptors(), "before", before.descriptors,
                .atMost(1)))
    }

    /// The time from a call to a service that is not running, which the bus starts, to its first reply.
    func measureActivation() throws {
        say("start by the bus, with \(stored) decisions stored")
        func start(_ service: String, _ message: BenchMessage) throws -> Double {
            try client.end(service)
            // Until the bus has processed the exit and the disk is idle.
            usleep(50_000)
            return Double(try client.time(message)) / 1e6
        }
        let rounds = try Rounds.interleaved(
            rounds,
            [
                ("permd", { try start(Service.permd, Calls.status()) }),
                ("xdg-permission-store", { try start(Service.store, Calls.lookup(7)) }),
            ])
        report.add(
            Figure(
                "start to first answer, \(stored) stored", "ms", rounds, "permd", against: "xdg-permission-store",
                .atMost(0.75)))
    }
}
