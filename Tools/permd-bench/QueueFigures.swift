// The effect of a long queue on the next request and on other callers.

import Foundation

extension Bench {
    private static let waitingApps = 40
    private static let requestsEach = 25

    func measureLongQueue() throws {
        let (apps, each) = (amount(Bench.waitingApps, quick: 8), Bench.requestsEach)
        say("a request that joins \(apps * each) waiting ones")
        let agent = try BenchClient(address)
        try client.call(Calls.reset(ownApp))
        try agent.call(Calls.registerAgent("/agent"))
        let crowd = try Crowd(of: ownProgram, apps: apps, each: each, folder: folder, address: address)
        defer { crowd.leave() }
        let (joins, asks) = (amount(200, quick: 20), amount(2000, quick: 300))
        let read = { [client] in try Latencies.of(asks) { try client.time(Calls.status()) }.percentile(99) }
        let rounds = try Rounds.interleaved(
            rounds,
            [
                (
                    "joining none",
                    { [self] in
                        // Discards the prompts for the crowd's requests, which are over.
                        try agent.call(Calls.status())
                        agent.forgetCalls()
                        return try joinTime(joins, agent)
                    }
                ),
                ("idle", read),
                (
                    "joining many",
                    { [self] in
                        try crowd.ask()
                        return try joinTime(joins, nil)
                    }
                ),
                (
                    "many waiting",
                    {
                        defer { try? crowd.withdraw() }
                        return try read()
                    }
                ),
            ])
        report.add(
            Figure(
                "a request joining \(apps * each) waiting", "µs", rounds, "joining many", against: "joining none",
                .atMost(1.5)))
        report.add(
            Figure(
                "GetStatus p99 with \(apps * each) waiting", "µs", rounds, "many waiting", against: "idle", .atMost(2)))
        try restartPermd()
    }

    /// The time from `RequestAccess` to its reply; the request is then withdrawn. With an agent, the request is the one
    /// being shown.
    private func joinTime(_ count: Int, _ agent: BenchClient?) throws -> Double {
        try Latencies.of(count) {
            let request = client.nextRequest()
            let time = try client.time(request.message)
            if let agent {
                let prompt = try agent.nextCall("Prompt")
                try client.withdraw(request.path, of: ownApp)
                agent.reply(to: try agent.nextCall("Withdraw"))
                agent.reply(to: prompt, [.text("dismissed"), .noDecisions])
            } else {
                try client.withdraw(request.path, of: ownApp)
            }
            return time
        }.percentile(50)
    }
}

/// Many apps, each a program with its own path, so that none exceeds the limit of waiting requests per app.
private final class Crowd {
    private var members: [(process: Process, input: Pipe, output: Pipe)] = []

    init(of program: String, apps: Int, each: Int, folder: String, address: String) throws {
        let original = "\(folder)/app-0"
        try FileManager.default.copyItem(atPath: program, toPath: original)
        for number in 1...apps {
            let path = "\(folder)/app-\(number)"
            try FileManager.default.linkItem(atPath: original, toPath: path)
            let process = Process()
            let (input, output) = (Pipe(), Pipe())
            process.executableURL = URL(filePath: path)
            process.arguments = ["waiting", address, String(each)]
            process.standardInput = input
            process.standardOutput = output
            try process.run()
            members.append((process, input, output))
        }
    }

    /// Returns when all requests are waiting.
    func ask() throws { try all("ask") }
    func withdraw() throws { try all("withdraw") }

    private func all(_ word: String) throws {
        for member in members { try member.input.fileHandleForWriting.write(contentsOf: Data("\(word)\n".utf8)) }
        for member in members where try member.output.fileHandleForReading.read(upToCount: 3) != Data("ok\n".utf8) {
            throw BenchFailure("an app of the crowd failed to \(word)")
        }
    }

    func leave() {
        for member in members { try? member.input.fileHandleForWriting.close() }
        for member in members { member.process.waitUntilExit() }
        members = []
    }
}

/// One app of the crowd: requests and withdraws on command, until its input ends.
enum WaitingApp {
    static func run(_ address: String, _ count: Int) throws {
        let client = try BenchClient(address)
        var paths: [String] = []
        while let word = readLine() {
            switch word {
            case "ask":
                for _ in 0..<count {
                    let request = client.nextRequest()
                    try client.call(request.message)
                    paths.append(request.path)
                }
            default:
                for path in paths.reversed() { try client.withdraw(path, of: "exe:" + CommandLine.arguments[0]) }
                paths = []
            }
            print("ok")
            fflush(nil)
        }
    }
}
