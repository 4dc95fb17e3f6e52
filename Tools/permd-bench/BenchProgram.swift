// Parses the arguments, measures the figures in order, and prints the table.

import Foundation

enum BenchProgram {
    private static let usage = """
        Usage: permd-bench run ADDRESS FOLDER [--quick] [--only windows|load|usage|sound] [--rounds NUMBER]
                   [--json FILE] [--watcher PROGRAM] [--mockdevices PROGRAM] [--machine KEY=VALUE]…
        Measures the services on the bus at ADDRESS, which must be able to start them. scripts/bench sets up such a bus.

        """

    static func main(_ arguments: [String]) -> Int32 {
        do {
            switch arguments.first {
            case "run" where arguments.count >= 3: try run(arguments)
            case "idle" where arguments.count == 2:
                // Most descriptors of programs are sockets and pipes.
                var ends: [Int32] = [-1, -1]
                for _ in 0..<(Int(arguments[1]) ?? 0) / 2 { pipe(&ends) }
                while true { pause() }
            case "waiting" where arguments.count == 3: try WaitingApp.run(arguments[1], Int(arguments[2]) ?? 0)
            default:
                FileHandle.standardError.write(Data(usage.utf8))
                return 64
            }
            return 0
        } catch {
            FileHandle.standardError.write(Data("permd-bench: \(error)\n".utf8))
            return 1
        }
    }

    /// What can be measured alone.
    private enum Part: String { case windows, load, usage, sound }

    private static func run(_ arguments: [String]) throws {
        var isQuick = false
        var part: Part?
        var rounds: Int?
        var (json, watcher, mockDevices): (String?, String?, String?) = (nil, nil, nil)
        var machine: [String: String] = [:]
        var rest = arguments.dropFirst(3)
        while let argument = rest.popFirst() {
            switch argument {
            case "--quick": isQuick = true
            case "--only":
                part = rest.popFirst().flatMap(Part.init)
                if part == nil { throw BenchFailure("--only requires the name of a part\n\(usage)") }
            case "--mockdevices": mockDevices = rest.popFirst()
            case "--rounds":
                guard let count = rest.popFirst().flatMap(Int.init), count > 0 else {
                    throw BenchFailure("--rounds requires a positive number\n\(usage)")
                }
                rounds = count
            case "--json": json = rest.popFirst()
            case "--watcher": watcher = rest.popFirst()
            case "--machine":
                let parts = (rest.popFirst() ?? "").split(separator: "=", maxSplits: 1).map(String.init)
                if parts.count == 2 { machine[parts[0]] = parts[1] }
            default: throw BenchFailure("unknown argument \(argument)\n\(usage)")
            }
        }
        let bench = try Bench(address: arguments[1], folder: arguments[2], isQuick: isQuick, machine: machine)
        if let rounds { bench.rounds = rounds }
        let outcome = Result { try measure(bench, part, watcher: watcher, mockDevices: mockDevices) }
        // What was measured before a failure is printed, too.
        print("\n\(bench.report.table)\n")
        for note in bench.report.notes { print("Note: \(note)") }
        let missed = bench.report.missed
        if !missed.isEmpty { print("Missed: \(missed.joined(separator: "; "))") }
        try outcome.get()
        if missed.isEmpty { print("All figures are met.") }
        if let json { try bench.report.write(to: json) }
    }

    /// Measures a part, or all of them.
    private static func measure(_ bench: Bench, _ part: Part?, watcher: String?, mockDevices: String?) throws {
        switch part {
        case .windows: try measureWindow(bench, watcher: watcher)
        case .load: try measureLoad(bench)
        case .usage:
            _ = try bench.client.start(Service.permd)
            try measureUsage(bench, mockDevices)
        case .sound: try bench.measureSound()
        case nil:
            try measureServices(bench, watcher: watcher)
            try measureUsage(bench, mockDevices)
            try bench.measureSound()
        }
    }

    private static func measureUsage(_ bench: Bench, _ mockDevices: String?) throws {
        guard let mockDevices else { throw BenchFailure("measuring uses requires --mockdevices\n\(usage)") }
        try bench.measureUsage(mockDevices: mockDevices)
    }

    private static func measureServices(_ bench: Bench, watcher: String?) throws {
        for service in [Service.echo, Service.permd, Service.store] { _ = try bench.client.start(service) }
        // In ascending order, so that each store is filled only once.
        let sizes = bench.isQuick ? [200, 1000] : [1000, 10_000, 100_000]
        let writesWanted = [0.2, 0.02]
        var (reads, writes): ([Double], [Double]) = ([], [])
        for (stage, size) in sizes.enumerated() {
            try bench.fill(to: size)
            if stage == 0 { try bench.measureIdle() }
            try bench.restartPermd()
            reads.append(try bench.measureStatus())
            writes.append(
                try bench.measureWrite(!bench.isQuick && stage < writesWanted.count ? writesWanted[stage] : nil))
            if stage == 0 { try measureSmall(bench) }
        }
        let (first, last) = (sizes[0], sizes[sizes.count - 1])
        // Ratios to the echo service, which was measured in turn with permd at each size.
        bench.report.add(
            Figure(
                "GetStatus over the echo's, \(last) stored", "×", reads[reads.count - 1], "with \(first)", reads[0],
                .atMost(1.1)))
        bench.report.add(
            Figure(
                "SetDecision over the echo's, \(last) stored", "×", writes[writes.count - 1], "with \(first)",
                writes[0], .atMost(1.5)))
        try bench.measureActivation()
        if let watcher { try bench.measureWindow(watcher: watcher) }
        for service in [Service.store, Service.permd, Service.echo] { try bench.client.end(service) }
    }

    private static func measureWindow(_ bench: Bench, watcher: String?) throws {
        guard let watcher else { throw BenchFailure("measuring windows requires --watcher\n\(usage)") }
        for service in [Service.echo, Service.permd] { _ = try bench.client.start(service) }
        try bench.measureWindow(watcher: watcher)
        for service in [Service.permd, Service.echo] { try bench.client.end(service) }
    }

    /// Measures throughput and latency under load.
    private static func measureLoad(_ bench: Bench) throws {
        for service in [Service.echo, Service.permd, Service.store] { _ = try bench.client.start(service) }
        try bench.fill(to: 1000)
        try bench.restartPermd()
        _ = try bench.measureStatus()
        try bench.measureLoad()
        try bench.measureFlood()
        try bench.measureWriteRate()
        try bench.measureReadsDuringWrites()
        for service in [Service.store, Service.permd, Service.echo] { try bench.client.end(service) }
    }

    /// Measures what does not depend on the number of stored decisions.
    private static func measureSmall(_ bench: Bench) throws {
        try bench.measureLoad()
        try bench.measureFlood()
        try bench.measureAuthorization()
        try bench.measureWriteRate()
        try bench.measureReadsDuringWrites()
        try bench.measurePrompt()
        try bench.measureLongQueue()
        try bench.measureMemoryAfterWrites()
        try bench.measureComingAndGoing()
    }
}
