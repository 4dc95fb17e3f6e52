// The time from a request to its window on the screen.

import Foundation

extension Bench {
    /// Measures window latency. `path` is the program that reports when a window is mapped.
    func measureWindow(watcher path: String) throws {
        let watcher = try WindowWatcher(path)
        defer { watcher.leave() }
        try client.call(Calls.reset(ownApp))
        // With both programs running, as for the second and later prompts. The bus started the agent at the first
        // prompt.
        say("a window, both programs running")
        let running = try Rounds.interleaved(
            rounds,
            [
                ("permd", { [self] in try promptWindow(watcher) }),
                ("portal-gtk", { [self] in try dialogWindow(watcher) }),
            ])
        report.add(Figure("window mapped, agent running", "ms", running, "permd", against: "portal-gtk", .atMost(0.7)))
        say("a window, both programs started by the bus")
        let started = try Rounds.interleaved(
            rounds,
            [
                (
                    "permd",
                    { [self] in
                        try client.end(Service.agent)
                        return try promptWindow(watcher)
                    }
                ),
                (
                    "portal-gtk",
                    { [self] in
                        try client.end(Service.gtk)
                        return try dialogWindow(watcher)
                    }
                ),
            ])
        report.add(
            Figure(
                "window mapped, agent started by the bus", "ms", started, "permd", against: "portal-gtk", .atMost(0.7)))
        try client.end(Service.agent)
        try client.end(Service.gtk)
    }

    private func promptWindow(_ watcher: WindowWatcher) throws -> Double {
        let request = client.nextRequest()
        let start = BenchClient.now()
        client.send(request.message)
        let mapped = try watcher.next("permd-agent")
        try client.withdraw(request.path, of: ownApp)
        usleep(WindowWatcher.pause)
        return Double(mapped - start) / 1e6
    }

    private func dialogWindow(_ watcher: WindowWatcher) throws -> Double {
        dialogs += 1
        let handle = "/org/freedesktop/portal/desktop/request/bench/d\(dialogs)"
        let start = BenchClient.now()
        client.send(Calls.dialog(handle))
        let mapped = try watcher.next("xdg-desktop-portal-gtk")
        try client.call(Calls.closeDialog(handle))
        usleep(WindowWatcher.pause)
        return Double(mapped - start) / 1e6
    }
}

/// Runs the program that reports mapped windows, one per line.
final class WindowWatcher {
    /// Microseconds until a window has gone: permd-agent keeps its window for a prompt that follows within 200 ms, which
    /// would not be mapped again.
    static let pause: UInt32 = 500_000

    private let process = Process()
    private let output = Pipe()
    private var rest: [UInt8] = []

    init(_ path: String) throws {
        process.executableURL = URL(filePath: path)
        process.standardOutput = output
        try process.run()
        guard try line() == "ready" else { throw BenchFailure("the window watcher did not start") }
    }

    /// Returns when the next window of that program was mapped, in nanoseconds of the monotonic clock.
    func next(_ program: String) throws -> UInt64 {
        while true {
            let words = try line().split(separator: " ")
            if words.count == 2, words[1] == program, let time = UInt64(words[0]) { return time }
        }
    }

    func leave() {
        process.terminate()
        process.waitUntilExit()
    }

    private func line() throws -> String {
        while true {
            if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: rest[..<end], as: UTF8.self)
                rest.removeSubrange(...end)
                return line
            }
            let bytes = output.fileHandleForReading.availableData
            guard !bytes.isEmpty else { throw BenchFailure("the window watcher exited") }
            rest += bytes
        }
    }
}
