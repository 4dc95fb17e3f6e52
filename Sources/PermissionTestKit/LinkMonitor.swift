// When links of the test microphone are made and end.

public import DBus
import Glibc

/// Watches the links from the microphone of a ``SoundServer``.
@LoopActor
public final class LinkMonitor {
    /// When links were made and ended since, in nanoseconds of ``now``.
    public let made = EventLog<UInt64>()
    public let ended = EventLog<UInt64>()
    private let process: ChildProcess

    /// Returns when changes are seen.
    public init(_ server: SoundServer) async throws {
        process = try ChildProcess(
            "stdbuf", ["-oL", "pw-link", "--monitor", "--links"], environment: server.environment)
        let present = EventLog<String>()
        Task { [made, ended, lines = process.lines] in
            for await line in lines where line.contains("test_microphone") {
                if line.hasPrefix("=") {
                    present.add(line)
                } else if line.contains(" -> ") {
                    (line.hasPrefix("+") ? made : ended).add(LinkMonitor.now)
                }
            }
        }
        // The server's own, which keeps the microphone running.
        try await present.wait(for: 1)
    }

    /// The monotonic clock (clock_gettime(2)), in nanoseconds.
    public nonisolated static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    public func end() async {
        process.terminate(SIGTERM)
        _ = await process.waitForExit()
    }
}
