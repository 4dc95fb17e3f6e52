// Parses the arguments, measures the figures in order, and prints the table.

import Foundation

enum BenchProgram {
    private static let usage = """
        Usage: permd-bench run ADDRESS FOLDER WATCHER [--quick] [--json FILE] [--machine KEY=VALUE]…
        Measures the services on the bus at ADDRESS, which must be able to start them. scripts/bench sets up such a bus.
        WATCHER is the program that reports mapped windows.
        """

    static func main(_ arguments: [String]) -> Int32 {
        do {
            if arguments.first != "run" { HungCallers.main(arguments) }
            try run(Array(arguments.dropFirst()))
            return 0
        } catch {
            FileHandle.standardError.write(Data("permd-bench: \(error)\n".utf8))
            return 1
        }
    }

    private static func run(_ arguments: [String]) throws {
        guard arguments.count >= 3 else { throw BenchFailure(usage) }
        var isQuick = false
        var json: String?
        var machine: [String: String] = [:]
        var rest = arguments.dropFirst(3)
        while let argument = rest.popFirst() {
            switch argument {
            case "--quick": isQuick = true
            case "--json": json = rest.popFirst()
            case "--machine":
                let parts = (rest.popFirst() ?? "").split(separator: "=", maxSplits: 1).map(String.init)
                if parts.count == 2 { machine[parts[0]] = parts[1] }
            default: throw BenchFailure("unknown argument \(argument)\n\(usage)")
            }
        }
        let bench = try Bench(
            address: arguments[0], folder: arguments[1], isQuick: isQuick, Report(machine: machine, isQuick: isQuick))
        // What was measured before a failure is printed, too.
        let outcome = Result { try measure(bench, watcher: arguments[2]) }
        print("\n\(bench.report.table)\n")
        try outcome.get()
        if let json { try bench.report.write(to: json) }
    }

    private static func measure(_ bench: Bench, watcher: String) throws {
        for service in [Service.echo, Service.permd, Service.store] { try bench.client.start(service) }
        try bench.fill(to: Bench.fewDecisions)
        try bench.restartPermd()
        try bench.measureOneAtATime()
        try bench.measureInFlight()
        try bench.measureWrite()
        try bench.measureIdle()
        try bench.measureWindow(watcher: watcher)
        try bench.measureHungFileSystem()
        try bench.measureGate()
        try bench.fill(to: bench.amount(Bench.manyDecisions, quick: 2 * Bench.fewDecisions))
        try bench.measureStart()
        for service in [Service.store, Service.permd, Service.echo] { try bench.client.end(service) }
    }
}
