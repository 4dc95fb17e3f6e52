// The latency of single calls.

extension Bench {
    /// Makes one call at a time; returns the median of each round in microseconds.
    private func median(_ count: Int, _ message: @escaping () -> BenchMessage) -> () throws -> Double {
        { [client] in try Latencies.of(count) { try client.time(message()) }.percentile(50) }
    }

    /// Returns the ratio of permd's median to the echo's, with the current number of decisions.
    func measureStatus() throws -> Double {
        say("GetStatus, with \(stored) decisions stored")
        let count = amount(2000, quick: 200)
        var number = 0
        let rounds = try Rounds.interleaved(
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
        if stored <= 1000 {
            report.add(Figure("GetStatus, one at a time", "µs", rounds, "permd", against: "C echo", .atMost(1.15)))
        }
        report.add(
            Figure("GetStatus, \(stored) decisions stored", "µs", rounds, "permd", against: "Lookup", .atMost(0.6)))
        return rounds.ratio("permd", to: "C echo")
    }

    /// Compares with polkitd, if it can be started.
    func measureAuthorization() throws {
        do { _ = try client.start(Service.polkit) } catch {
            return report.note("polkitd could not be started on this bus and is left out: \(error)")
        }
        say("GetStatus beside polkit's CheckAuthorization")
        let question = Calls.authorize(client.name)
        let rounds = try Rounds.interleaved(
            rounds,
            [
                ("CheckAuthorization", median(amount(300, quick: 50)) { question.again() }),
                ("permd", median(amount(300, quick: 50)) { Calls.status() }),
            ])
        report.add(
            Figure("GetStatus, beside polkitd", "µs", rounds, "permd", against: "CheckAuthorization", .nothing))
        try client.end(Service.polkit)
    }

    /// The time from a request to the agent's prompt, compared with three echo calls. The agent is a second connection
    /// of this process.
    func measurePrompt() throws {
        say("RequestAccess to the agent's Prompt")
        let agent = try BenchClient(address)
        try client.call(Calls.reset(ownApp))
        try agent.call(Calls.registerAgent("/agent"))
        let count = amount(300, quick: 30)
        let rounds = try Rounds.interleaved(
            rounds,
            [
                (
                    "three echoes",
                    { [client] in
                        try Latencies.of(count) {
                            try client.time(Calls.echo()) + client.time(Calls.echo())
                                + client.time(Calls.echo())
                        }.percentile(50)
                    }
                ),
                ("permd", { [self] in try Latencies.of(count) { try promptTime(agent) }.percentile(50) }),
            ])
        report.add(
            Figure("RequestAccess to the agent's Prompt", "µs", rounds, "permd", against: "three echoes", .atMost(1.5)))
        try restartPermd()
    }

    private func promptTime(_ agent: BenchClient) throws -> UInt64 {
        let request = client.nextRequest()
        let start = BenchClient.now()
        client.send(request.message)
        let prompt = try agent.nextCall("Prompt")
        let time = BenchClient.now() - start
        try client.withdraw(request.path, of: ownApp)
        agent.reply(to: try agent.nextCall("Withdraw"))
        // The prompt was withdrawn, so permd ignores this reply.
        agent.reply(to: prompt, [.text("dismissed"), .noDecisions])
        return time
    }
}

extension BenchClient {
    /// Returns a request with a new token, and the path of the object it will have.
    func nextRequest() -> (message: BenchMessage, path: String) {
        requests += 1
        let token = "r\(requests)"
        let owner = String(name.dropFirst().map { $0 == "." ? "_" : $0 })
        return (Calls.request(token), "/org/permd/request/\(owner)/\(token)")
    }

    /// Withdraws a request. permd throttles an app that does so repeatedly; the reset ends that.
    func withdraw(_ path: String, of app: String) throws {
        try call(Calls.close(path))
        try call(Calls.reset(app))
    }
}
