// The time from a request to its window on the screen.

import Foundation

extension Bench {
    /// Measures with both programs running, as for the second and later prompts, and with both started by the bus, as for
    /// the first one.
    func measureWindow(watcher path: String) throws {
        let watcher = try WindowWatcher(path)
        defer { watcher.leave() }
        try client.call(Calls.reset(ownApp))
        for isStarted in [false, true] {
            say(isStarted ? "a prompt's window, both programs started by the bus" : "a prompt's window")
            let rounds = try Rounds.inTurns(
                rounds,
                [
                    (
                        "permd",
                        { [self] in
                            if isStarted { try client.end(Service.agent) }
                            return try promptWindow(watcher)
                        }
                    ),
                    (
                        "portal-gtk",
                        { [self] in
                            if isStarted { try client.end(Service.gtk) }
                            return try dialogWindow(watcher)
                        }
                    ),
                ])
            let name = isStarted ? "prompt mapped, started by the bus" : "prompt mapped"
            report.add(Figure(name, "ms", rounds, against: "portal-gtk"))
        }
        try client.end(Service.agent)
        try client.end(Service.gtk)
        try restartPermd()
    }

    private func promptWindow(_ watcher: WindowWatcher) throws -> Double {
        let start = BenchClient.now()
        try client.call(Calls.request())
        let mapped = try watcher.next("org.permd.Agent")
        // A decision takes the prompt away at once; the prompt of a request that is withdrawn stays for a moment.
        try client.call(Calls.decide(ownApp, false))
        try client.call(Calls.reset(ownApp))
        usleep(WindowWatcher.pause)
        return Double(mapped - start) / 1e6
    }

    private func dialogWindow(_ watcher: WindowWatcher) throws -> Double {
        let handle = "/org/freedesktop/portal/desktop/request/bench/d\(BenchClient.now())"
        let start = BenchClient.now()
        client.send(Calls.dialog(handle))
        let mapped = try watcher.next("xdg-desktop-portal-gtk")
        try client.call(Calls.closeDialog(handle))
        usleep(WindowWatcher.pause)
        return Double(mapped - start) / 1e6
    }
}

/// Runs the program that reports mapped windows, one per line.
private final class WindowWatcher {
    /// Microseconds until a window has gone: permd-agent keeps its window for a prompt that follows within 200 ms, which
    /// would not be mapped again.
    static let pause: UInt32 = 500_000

    private let process = Process()
    private let lines: LineInput

    init(_ path: String) throws {
        let output = Pipe()
        lines = LineInput(output)
        process.executableURL = URL(filePath: path)
        process.standardOutput = output
        try process.run()
        guard try lines.next() == "ready" else { throw BenchFailure("the window watcher did not start") }
    }

    /// Returns when the next window of that program was mapped, in nanoseconds of the monotonic clock.
    func next(_ program: String) throws -> UInt64 {
        while true {
            let words = try lines.next().split(separator: " ")
            if words.count == 2, words[1] == program, let time = UInt64(words[0]) { return time }
        }
    }

    func leave() {
        process.terminate()
        process.waitUntilExit()
    }
}

/// Lines of a program that this one has started.
final class LineInput {
    private let pipe: Pipe
    private var rest: [UInt8] = []

    init(_ pipe: Pipe) { self.pipe = pipe }

    func next() throws -> String {
        while true {
            if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                defer { rest.removeSubrange(...end) }
                return String(decoding: rest[..<end], as: UTF8.self)
            }
            let bytes = pipe.fileHandleForReading.availableData
            guard !bytes.isEmpty else { throw BenchFailure("a program of the benchmark exited") }
            rest += bytes
        }
    }
}
