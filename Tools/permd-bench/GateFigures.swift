// What permd-gate costs a service behind it: the same C service is called through it and directly.

import Glibc

extension Bench {
    func measureGate() throws {
        say("calls and signals through permd-gate")
        let (calls, signals) = (amount(2000, quick: 200), amount(20_000, quick: 1000))
        func times(_ service: String, _ share: Int) -> () throws -> Double {
            { [client] in
                percentile(share, of: try (0..<calls).map { _ in try client.time(Calls.property(service)) })
            }
        }
        for share in [50, 99] {
            let rounds = try Rounds.inTurns(
                rounds, [("directly", times(Service.echo, share)), ("permd", times(Service.gated, share))])
            let name = share == 50 ? "a property through `permd-gate`" : "the slowest of 100"
            report.add(Figure(name, "µs", rounds, against: "directly"))
        }
        func rate(_ service: String) -> () throws -> Double {
            { [client] in
                // With a match, signals of the other service would be received, too.
                let match = "type='signal',sender='\(service)',member='PropertiesChanged'"
                try client.call(Calls.bus("AddMatch", [.text(match)]))
                let rate = try client.rate(of: "PropertiesChanged", signals, after: Calls.notify(service, signals))
                try client.call(Calls.bus("RemoveMatch", [.text(match)]))
                return rate
            }
        }
        let rounds = try Rounds.inTurns(rounds, [("directly", rate(Service.echo)), ("permd", rate(Service.gated))])
        report.add(Figure("signals through it", "a second", rounds, against: "directly"))
        let gate = ProcessStatistics(pid: try client.process(of: Service.gated))
        let seconds = amount(60, quick: 5)
        let before = try gate.wakeUps()
        sleep(UInt32(seconds))
        let (memory, count) = ((try gate.privateMemory() * 100).rounded() / 100, Int(try gate.wakeUps() - before))
        say("permd-gate has \(memory) MB of private memory, and \(count) wake-ups in \(seconds) idle seconds")
    }
}
