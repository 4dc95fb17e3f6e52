// Unmodified programs record from a real PipeWire: who is allowed gets the tone, and nobody else does.

import DBus
import Foundation
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

// Serialized because each test starts a whole sound server.
@Suite(.serialized, .timeLimit(.minutes(3)))
@LoopActor
struct RecordingTests {
    /// The refused recorder starts beside one that gets the tone.
    @Test(arguments: Recorder.Kind.allCases)
    func aRefusedProgramGetsNothing(_ kind: Recorder.Kind) async throws {
        let server = try await SoundServer()
        let allowed = try await Recorder(kind, "allowed", on: server)
        try await allowed.hears()
        let program = Recorder.app(kind, "refused", on: server).description
        try await server.permctl("deny", program, kind.permission.rawValue)
        let refused = try await Recorder(kind, "refused", on: server)
        try await allowed.hears(40)
        #expect(refused.tones == 0 && refused.isRunning)
        // The stream that is there goes on and off with the grant.
        try await server.permctl("grant", program, kind.permission.rawValue)
        try await refused.hears()
        try await server.permctl("deny", program, kind.permission.rawValue)
        if kind == .pulse { try await refused.isSilent() }
        try await refused.getsNoMore(beside: allowed)
        try await server.permctl("grant", program, kind.permission.rawValue)
        // GStreamer's pipewiresrc gets nothing through a second link, with or without permd.
        let last = kind == .camera ? try await Recorder(kind, "refused", on: server) : refused
        try await last.hears()
        await server.end()
    }

    /// The switch silences those who may record and those who were never asked about, and gives it back to both.
    @Test func aSwitchSilencesEveryRecorder() async throws {
        let server = try await SoundServer()
        let granted = try await Recorder(.pulse, "granted", on: server)
        try await server.permctl("grant", granted.app.description, "microphone")
        let other = try await Recorder(.pulse, "other", on: server)
        for recorder in [granted, other] { try await recorder.hears() }
        try await server.permctl("off", "microphone")
        for recorder in [granted, other] { try await recorder.isSilent() }
        let before = granted.tones + other.tones
        try await granted.isSilent(40)
        #expect(granted.tones + other.tones == before)
        try await server.permctl("on", "microphone")
        for recorder in [granted, other] { try await recorder.hears() }
        await server.end()
    }

    /// Without the script, the session manager makes links, which are cut at once. It may make one again, which carries
    /// sound until permd-pipewire has heard of it, and in the end makes no more. A client of pipewire-pulse 1.6 whose
    /// sources are hidden at its beginning records what the speaker plays instead.
    @Test func withoutTheScript() async throws {
        let server = try await SoundServer(isConfigured: false)
        try await server.log.first("the notice") { $0.contains("does not know permd") }
        let allowed = try await Recorder(.native, "allowed", on: server)
        try await allowed.hears()
        let program = Recorder.app(.native, "refused", on: server).description
        try await server.permctl("deny", program, "microphone")
        let refused = try await Recorder(.native, "refused", on: server)
        // Whether there is a link cannot be waited for: it may be cut before anybody else has heard of it.
        try await server.until("the stream", "[ $(pw-cli list-objects Node | grep -c 'node.name = \"pw-cat\"') -eq 2 ]")
        try await refused.getsNoMore(beside: allowed)
        try await server.permctl("grant", program, "microphone")
        try await refused.hears()
        await server.end()
    }

    /// A sandboxed program that may use the PulseAudio socket is asked about, and gets silence until then.
    @Test(arguments: Recorder.Kind.allCases)
    func aSandboxedProgramIsAskedAbout(_ kind: Recorder.Kind) async throws {
        let server = try await SoundServer()
        let agent = ScriptedAgent(try server.permd.bus.connect())
        try await agent.register()
        let sandbox = try await FlatpakSandbox("org.example.Call", on: server.permd.bus)
        let beside = try await Recorder(kind, "beside", on: server)
        let recorder = try await Recorder(kind, "recorder", on: server, through: sandbox)
        let prompt = try await agent.prompt(0)
        #expect(prompt.app == "flatpak:org.example.Call")
        #expect(prompt.items.first?["device_name"]?.stringValue == (kind == .camera ? "Test Picture" : "Test Tone"))
        try await beside.hears(20)
        if kind == .pulse { try await recorder.isSilent() }
        #expect(recorder.tones == 0)
        agent.answer(prompt, with: .grant(.once))
        try await recorder.hears()
        await recorder.end()
        await server.end()
    }

    /// Without permd-pipewire nobody new records, and playing goes on.
    @Test func itFailsClosed() async throws {
        let server = try await SoundServer(isEnforced: false)
        let recorder = try await Recorder(.pulse, "recorder", on: server)
        let native = try await Recorder(.native, "native", on: server)
        let played = try await server.run(
            "pacat --playback --raw --latency-msec=50 /bin/sh && echo played")
        #expect(played == "played\n")
        #expect(recorder.chunks == 0 && native.chunks == 0)
        try await server.enforce()
        try await recorder.hears()
        try await native.hears()
        // Who may record does so without permd-pipewire.
        let links = try await server.run("pw-link --links --id | grep '|->'").split(separator: "\n")
        await server.stopEnforcing()
        try await recorder.hears()
        let late = try await Recorder(.native, "late", on: server)
        try await native.hears(40)
        #expect(late.chunks == 0)
        try await server.enforce()
        try await late.hears()
        // Nobody is cut off when permd-pipewire comes back: the links are still the same.
        let after = try await server.run("pw-link --links --id | grep '|->'").split(separator: "\n")
        #expect(links.count > 2 && Set(links).isSubset(of: after), "\(links) became \(after)")
        await server.end()
    }

    /// A prompt ends with the stream that it is about.
    @Test func aStreamGoesWhileItIsAskedAbout() async throws {
        let server = try await SoundServer()
        let agent = ScriptedAgent(try server.permd.bus.connect())
        try await agent.register()
        let sandbox = try await FlatpakSandbox("org.example.Call", on: server.permd.bus)
        let recorder = try await Recorder(.pulse, "recorder", on: server, through: sandbox)
        let prompt = try await agent.prompt(0)
        await recorder.end()
        #expect(try await agent.withdrawals.wait(for: 1)[0].path == prompt.path)
        await server.end()
    }

    /// A link that a program made for itself is cut, and told about.
    @Test func aLinkPastPermdIsCut() async throws {
        let server = try await SoundServer()
        let beside = try await Recorder(.pulse, "beside", on: server)
        try await beside.hears()
        let program = Recorder.app(.native, "refused", on: server).description
        let refused = try await Recorder(.native, "refused", on: server)
        try await refused.hears()
        try await server.permctl("deny", program, "microphone")
        try await refused.getsNoMore(beside: beside, 10)
        let before = refused.tones
        let linked = try await server.run(
            """
            output=$(pw-link -o | grep test_microphone | head -n 1)
            pw-link "$output" "$(pw-link -i | grep -e refused -e pw-cat | head -n 1)" 2>&1 && echo linked
            """)
        // The server may refuse the link itself.
        if try await server.run("pw-cli --version").contains("0.3.65") {
            #expect(linked == "linked\n")
            try await server.log.first("the bypass") { $0.contains("past permd") && $0.contains(program) }
        }
        try await beside.hears(20)
        // At most what one cycle of the graph can pass before the link is cut.
        #expect(refused.tones - before <= 2)
        await server.end()
    }

    @Test(arguments: SoundServer.Part.allCases)
    func partsRestart(_ part: SoundServer.Part) async throws {
        let server = try await SoundServer()
        let program = Recorder.app(.pulse, "refused", on: server).description
        try await server.permctl("deny", program, "microphone")
        await server.stop(part)
        try await server.start(part)
        // A WirePlumber 0.4 that is restarted links nothing to a source that is in use, with or without permd.
        let version = try await server.run("wireplumber --version")
        let isLost = part == .wireplumber && version.contains(" 0.4")
        if isLost {
            await server.stop(.pipewire)
            try await server.start(.pipewire)
        }
        if part == .pipewire || isLost {
            for other in [SoundServer.Part.wireplumber, .pulse] {
                await server.stop(other)
                try await server.start(other)
            }
        }
        let allowed = try await Recorder(.pulse, "allowed", on: server)
        try await allowed.hears()
        let refused = try await Recorder(.pulse, "refused", on: server)
        try await allowed.hears(40)
        #expect(refused.tones == 0 && server.isEnforcing)
        await server.end()
    }

    /// A sound server may send to the network, and listen there. Its clients are known as long as none came that way, which
    /// could claim to be any program.
    @Test func aServerOnTheNetwork() async throws {
        let server = try await SoundServer()
        let port = try LoopbackSocket(.tcp).port
        let modules = try await server.run(
            "pactl load-module module-rtp-send destination_ip=127.0.0.1"
                + " && pactl load-module module-native-protocol-tcp listen=127.0.0.1 port=\(port)")
        #expect(modules.split(separator: "\n").count == 2)
        let program = Recorder.app(.pulse, "refused", on: server).description
        try await server.permctl("deny", program, "microphone")
        let refused = try await Recorder(.pulse, "refused", on: server)
        let allowed = try await Recorder(.pulse, "allowed", on: server)
        try await allowed.hears(20)
        #expect(refused.tones == 0)

        let remote = try ChildProcess(
            "stdbuf", ["-oL", "pactl", "-s", "tcp:127.0.0.1:\(port)", "subscribe"], environment: server.environment)
        let events = EventLog<String>()
        Task { [lines = remote.lines] in for await line in lines { events.add(line) } }
        while events.all.isEmpty { try await server.run("pactl info") }
        let late = try await Recorder(.pulse, "late", on: server)
        try await server.log.first("the notice") { $0.contains("over TCP") }
        try await allowed.hears(40)
        #expect(late.tones == 0 && late.isRunning)
        remote.terminate(SIGTERM)
        try await late.hears()
        await server.end()
    }

    /// Its connections are in another network namespace, of which the kernel does not report who holds them.
    @Test func aSandboxWithoutNetwork() async throws {
        let server = try await SoundServer()
        let agent = ScriptedAgent(try server.permd.bus.connect())
        try await agent.register()
        let sandbox = try await FlatpakSandbox("org.example.Recorder", on: server.permd.bus, isolation: .network)
        let recorder = try await Recorder(.pulse, "recorder", on: server, through: sandbox)
        let prompt = try await agent.prompt(0)
        #expect(prompt.app == "flatpak:org.example.Recorder")
        let beside = try await Recorder(.pulse, "beside", on: server)
        try await beside.hears(20)
        #expect(recorder.tones == 0)
        agent.answer(prompt, with: .grant(.once))
        try await recorder.hears()
        let late = try await Recorder(.pulse, "late", on: server)
        try await late.hears()
        await server.end()
    }

    /// Programs of two sandboxes know themselves by the same number, as those of flatpaks often do.
    @Test func sandboxesWithTheSameProcessIDs() async throws {
        let server = try await SoundServer()
        let agent = ScriptedAgent(try server.permd.bus.connect())
        try await agent.register()
        let sandboxes = [
            try await FlatpakSandbox("org.example.Music", on: server.permd.bus, isolation: .processes),
            try await FlatpakSandbox("org.example.Memo", on: server.permd.bus, isolation: [.processes, .network]),
        ]
        var recorders: [Recorder] = []
        for sandbox in sandboxes {
            recorders.append(try await Recorder(.pulse, "recorder", on: server, through: sandbox))
        }
        for number in recorders.indices {
            let prompt = try await agent.prompt(number)
            let recorder = try #require(recorders.first { $0.app.description == prompt.app })
            #expect(recorder.tones == 0)
            agent.answer(prompt, with: .grant(.once))
            try await recorder.hears()
        }
        #expect(recorders[0].pid == recorders[1].pid)
        await server.end()
    }

    /// A sandboxed program is not believed that it is one that may record.
    @Test(arguments: [[], .network] as [FlatpakSandbox.Isolation])
    func aFalseProcessID(_ isolation: FlatpakSandbox.Isolation) async throws {
        let server = try await SoundServer()
        let allowed = try await Recorder(.pulse, "allowed", on: server)
        try await allowed.hears()
        let sandbox = try await FlatpakSandbox("org.example.Recorder", on: server.permd.bus, isolation: isolation)
        let recorder = try await Recorder(
            .pulse, "recorder", on: server, through: sandbox,
            options: ["--property=application.process.id=\(allowed.pid)"])
        try await recorder.isSilent()
        try await allowed.hears(40)
        #expect(recorder.tones == 0 && recorder.isRunning)
        await server.end()
    }

    /// One program in a sandbox says that it is outside, while others there say that they are that one, and leave: for a
    /// moment, there are as many clients that claim to be it as it has connections.
    @Test func clientsOfConnectionsThatHaveGone() async throws {
        let server = try await SoundServer()
        let allowed = try await Recorder(.pulse, "allowed", on: server)
        try await allowed.hears()
        let sandbox = try await FlatpakSandbox("org.example.Recorder", on: server.permd.bus)
        let recorder = try await Recorder(
            .pulse, "recorder", on: server, through: sandbox,
            options: ["--property=application.process.id=\(allowed.pid)"])
        try await recorder.isSilent()
        let script = """
            for i in $(seq 200); do
                for j in 1 2 3; do PULSE_PROP="application.process.id=$0" pactl info >/dev/null & done
                wait
            done
            """
        let crowd = try ChildProcess(
            sandbox.command[0], Array(sandbox.command.dropFirst()) + ["sh", "-c", script, "\(recorder.pid)"],
            environment: server.environment)
        _ = await crowd.waitForExit()
        #expect(recorder.tones == 0 && recorder.isRunning)
        await server.end()
    }

    /// While permd is away, who has a grant records on, and nobody new does.
    @Test func permdRestarts() async throws {
        let server = try await SoundServer()
        let old = try await Recorder(.pulse, "old", on: server)
        try await old.hears()
        await server.permd.stop(SIGKILL)
        let new = try await Recorder(.native, "new", on: server)
        try await old.hears(40)
        #expect(new.tones == 0)
        try await server.permd.start()
        try await new.hears()
        try await old.hears()
        await server.end()
    }
}
