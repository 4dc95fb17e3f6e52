// A thousand callers whose script is on a file system that never answers, and what another caller notices of them.

import DBus
import Foundation
import PermissionTestKit
import TestSupport

extension Bench {
    /// Each caller is a connection to the bus, and each group is on a file system of its own.
    private static let hungCallers = (count: 1000, groups: 4)

    func measureHungFileSystem() throws {
        let (count, groups) = Bench.hungCallers
        say("GetStatus beside \(count) callers on a hung file system")
        // Less than the time after which permd gives the callers up.
        let seconds = isQuick ? 1.0 : 2.0
        let rounds = try Rounds.inTurns(
            rounds,
            [
                ("idle", { [self] in try slowest(seconds) }),
                (
                    "permd",
                    { [self] in
                        let callers = try (0..<groups).map { _ in
                            try HungCallers(count / groups, folder: folder, address: address)
                        }
                        defer { for group in callers { group.leave() } }
                        return try slowest(seconds)
                    }
                ),
            ])
        report.add(
            Figure("`GetStatus` p99, \(count) callers on a hung file system", "µs", rounds, against: "idle")
        )
    }

    /// Makes one call at a time for `seconds`; returns the 99th percentile in microseconds.
    private func slowest(_ seconds: Double) throws -> Double {
        var times: [UInt64] = []
        let end = BenchClient.now() + UInt64(seconds * 1e9)
        while BenchClient.now() < end { times.append(try client.time(Calls.status())) }
        return percentile(99, of: times)
    }
}

/// The program of the callers: this one, under the name of an interpreter and with a script as its first argument, which
/// is how permd identifies it.
final class HungCallers {
    private let process = Process()
    private let input = Pipe()

    /// Returns when all of them have called permd.
    init(_ count: Int, folder: String, address: String) throws {
        let (program, script) = ("\(folder)/node", "\(folder)/script")
        if !FileManager.default.fileExists(atPath: program) {
            try FileManager.default.copyItem(atPath: BuiltProgram.own, toPath: program)
            try Data().write(to: URL(filePath: script))
        }
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        // The file system is in a mount namespace of their own, and ends with them.
        process.arguments = Superuser.mountNamespace(":") + [program, script, address, "\(count)"]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        guard try LineInput(output).next() == "called" else { throw BenchFailure("the callers did not call") }
    }

    func leave() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// The program, which ends with its input.
    ///
    /// - Parameter arguments: The script, the address of the bus and the number of callers.
    static func main(_ arguments: [String]) -> Never {
        guard arguments.count == 3, let count = Int(arguments[2]) else { exit(64) }
        Loop.shared.adoptCurrentThread()
        Loop.shared.post {
            Task(executorPreference: Loop.shared) {
                do {
                    let hung = try await HungFileSystem(over: arguments[0])
                    let callers = try (0..<count).map { _ in try BenchClient(arguments[1]) }
                    for caller in callers { caller.send(Calls.status(), atOnce: true) }
                    print("called")
                    fflush(nil)
                    while readLine() != nil {}
                    try await hung.end()
                    exit(0)
                } catch {
                    FileHandle.standardError.write(Data("permd-bench: \(error)\n".utf8))
                    exit(1)
                }
            }
        }
        Loop.shared.run()
        exit(1)
    }
}
