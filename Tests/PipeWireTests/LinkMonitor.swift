// Watches which links from the test microphone are made.

import DBus
import Foundation
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
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "links.lua").path
        process = try ChildProcess("wpexec", [script], environment: server.environment)
        let ready = EventLog<String>()
        Task { [made, lines = process.lines] in
            for await line in lines {
                if line == "ready" { ready.add(line) }
                if line.hasPrefix("test_microphone -> ") { made.add(line) }
            }
        }
        try await ready.wait(for: 1)
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
