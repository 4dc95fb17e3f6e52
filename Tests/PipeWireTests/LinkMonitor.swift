// Watches which links from the test microphone are made.

import DBus
import Glibc
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

    /// A script that makes a node which outlives its maker and records. Its arguments: the node's name, further properties of
    /// it, and an option of pw-cli.
    static let makeLingeringNode = """
        exec pw-cli $3 create-node adapter "{ factory.name = support.null-audio-sink node.name = $1 object.linger = true
            media.class = Stream/Input/Audio node.autoconnect = true audio.position = [ FL FR ] $2 }" >/dev/null
        """

    /// Makes such a node as a person does, and returns the first link from the microphone. The program stays until then, so
    /// that it can be identified.
    func linkOfPersonsNode(_ name: String, on server: SoundServer) async throws -> String {
        let maker = try ChildProcess(
            "sh", ["-c", LinkMonitor.makeLingeringNode, "sh", name, "", "--monitor"], environment: server.environment)
        let link = try await made.wait(for: 1)[0]
        maker.terminate(SIGKILL)
        _ = await maker.waitForExit()
        return link
    }

    func end() async {
        process.terminate()
        _ = await process.waitForExit()
    }
}
