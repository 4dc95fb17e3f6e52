// A sandboxed app whose microphone is denied, and that has others record for it, or links itself.

import DBus
import Glibc
import PermissionTestKit
import TestSupport

@LoopActor
final class SoundThief {
    enum Trick: String, CaseIterable {
        /// Modules of the PulseAudio server write to a pipe, which it reads.
        case modules
        /// A node that outlives its maker records, and the app reads its monitor.
        case lingering = "lingering nodes"
        /// The same, and the node says that it is another client's.
        case claiming = "lingering nodes of others"
        case links = "links of its own"
    }

    let trick: Trick
    /// An event for each module, node or link that was made or tried.
    let attempts = EventLog<Void>()
    private let script: ChildProcess
    private let reader: Recorder?
    private let pipe = EventLog<Void>()
    private let server: SoundServer
    /// PipeWire before 0.3.75 makes any link between known ports, which then exists for at most a cycle.
    private let canLink: Bool

    /// Chunks that contain a part of one cycle of the graph.
    private static let mostPerLink = 3

    init(_ trick: Trick, on server: SoundServer, through sandbox: FlatpakSandbox) async throws {
        (self.trick, self.server) = (trick, server)
        let name = "thief\(UInt32.random(in: 0...UInt32.max))"
        let read = "{ node.name = \(name) adapter.auto-port-config = { mode = dsp position = preserve } }"
        reader =
            trick == .modules
            ? nil
            : try await Recorder(
                .native, "thief", on: server, through: sandbox, options: ["--target", "0", "--properties", read])
        let release = try await server.run("pw-cli --version | grep -o '[0-9.]*$' | tail -n 1")
        let parts = release.split(whereSeparator: { !$0.isNumber }).compactMap { Int($0) }
        canLink = parts.lexicographicallyPrecedes([0, 3, 75])
        let ports = "timeout 5 pw-link --output --id | awk '$2 ~ /^test_microphone:/ { print $1; exit }'"
        let microphone = try await server.run(ports).split(separator: "\n").first ?? ""
        let arguments = [name, server.folder.file(name), "\(trick)", String(microphone)]
        script = try ChildProcess(
            sandbox.command[0],
            Array(sandbox.command.dropFirst()) + ["sh", "-c", SoundThief.scripts[trick]!, "sh"] + arguments,
            environment: server.environment)
        Task { [attempts, pipe, lines = script.lines] in
            for await line in lines {
                if line == "attempt" {
                    attempts.add(())
                } else if line.split(separator: " ").contains(where: { $0 != "0" }) {
                    pipe.add(())
                }
            }
        }
    }

    /// They get a name, a file, the trick and the port of the microphone.
    private static let scripts: [Trick: String] = [
        .modules: """
        load() { until timeout 5 pactl load-module "$@" >/dev/null 2>&1; do sleep 0.2; done; }
        load module-pipe-sink file="$2" sink_name="$1" format=s16le rate=48000 channels=1
        load module-loopback source=test_microphone sink="$1"
        echo attempt
        exec stdbuf -oL od -An -v -td2 -w2048 "$2"
        """,
        .lingering: lingering, .claiming: lingering,
        .links: """
        while sleep 0.2; do
            to=$(timeout 5 pw-link --input --id | awk -v port="$1:input_MONO" '$2 == port { print $1; exit }')
            [ -z "$to" ] || { echo attempt; timeout 5 pw-link "$4" "$to"; }
        done 2>/dev/null
        """,
    ]

    private static let lingering = """
        while sleep 0.2; do
            timeout 5 pw-link --output | grep -q "^$1-leak:" || {
                client=
                [ "$3" = lingering ] || client="client.id = $(timeout 5 pw-cli list-objects Client |
                    awk '$1 == "id" { id = $2 + 0 } /"pw-cat"|"pacat"|"arecord"/ { print id; exit }')"
                timeout 5 pw-cli create-node adapter "{ factory.name = support.null-audio-sink node.name = $1-leak
                    object.linger = true media.class = Stream/Input/Audio node.autoconnect = true
                    audio.position = [ MONO ] adapter.auto-port-config = { mode = dsp monitor = true }
                    $client }" >/dev/null
            }
            timeout 5 pw-link "$1-leak:monitor_MONO" "$1:input_MONO" && echo attempt
        done 2>/dev/null
        """

    /// Returns what it got beyond what it may, or nil.
    var loot: String? {
        let tones = (reader?.tones ?? 0) + pipe.all.count
        let most = trick == .links && canLink ? attempts.all.count * SoundThief.mostPerLink : 0
        return tones > most ? "got \(tones) tones by \(attempts.all.count) \(trick.rawValue)" : nil
    }

    func end() async {
        script.terminate(SIGKILL)
        _ = await script.waitForExit()
        await reader?.end()
    }

    /// Removes what thieves have left behind.
    static func cleanUp(_ server: SoundServer) async throws {
        try await server.run(
            """
            { for module in module-loopback module-pipe-sink; do timeout 5 pactl unload-module $module; done
            for node in $(timeout 5 pw-cli list-objects Node |
                awk '$1 == "id" { id = $2 + 0 } /-leak"/ { print id }'); do
                timeout 5 pw-cli destroy $node
            done; } >/dev/null 2>&1
            """)
    }
}
