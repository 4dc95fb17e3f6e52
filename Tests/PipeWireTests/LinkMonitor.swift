// Watches which links from the test microphone are made.

import DBus
import PermissionTestKit
import TestSupport

@LoopActor
final class LinkMonitor {
    /// The links made since the monitor started.
    let made = EventLog<String>()
    private let process: ChildProcess

    /// Returns when changes are seen.
    init(_ server: SoundServer) async throws {
        process = try ChildProcess(
            "stdbuf", ["-oL", "pw-link", "--monitor", "--links"], environment: server.environment)
        let present = EventLog<String>()
        Task { [made, lines = process.lines] in
            for await line in lines where line.contains("test_microphone") {
                if line.hasPrefix("=") { present.add(line) }
                if line.hasPrefix("+"), line.contains(" -> ") { made.add(line) }
            }
        }
        // The server's own, which keeps the microphone running.
        try await present.wait(for: 1)
    }

    func end() async {
        process.terminate()
        _ = await process.waitForExit()
    }
}
