// A real PipeWire on which things change and go away while programs record, or wait to.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(3)))
@LoopActor
struct BadDayTests {
    private func agent(on server: SoundServer) async throws -> ScriptedAgent {
        let agent = ScriptedAgent(try server.permd.bus.connect())
        try await agent.register()
        return agent
    }

    /// Returns when it has gone.
    private func unplugMicrophone(of server: SoundServer) async throws {
        try await server.run(
            """
            id=$(pw-cli list-objects Node | awk '$1 == "id" { id = $2 } /"test_microphone"/ { print id + 0 }')
            pw-cli destroy "$id"
            """)
        try await server.until("its end", "! pw-cli list-objects Node | grep test_microphone")
    }

    /// A change of who is asked applies to running streams.
    @Test func whoIsAskedChanges() async throws {
        let server = try await SoundServer()
        let agent = try await agent(on: server)
        let recorder = try await Recorder(.pulse, "recorder", on: server)
        try await recorder.hears()
        try server.permd.root.write("[Enforcement]\nAsk=all\n", to: "etc/permd/permd.conf")
        let prompt = try await agent.prompt(0)
        #expect(prompt.app == recorder.app.description)
        try await recorder.isSilent()
        try server.permd.root.write("[Enforcement]\nAsk=none\n", to: "etc/permd/permd.conf")
        try await recorder.hears()
        #expect(try await agent.withdrawals.wait(for: 1)[0].path == prompt.path)
        await server.end()
    }

    /// Where nobody is asked, sandboxed programs record as well, also those that were denied.
    @Test func nobodyIsAsked() async throws {
        let server = try await SoundServer(settings: "[Enforcement]\nAsk=none\n")
        let sandbox = try await FlatpakSandbox("org.example.Call", on: server.permd.bus)
        try await server.permctl("deny", "flatpak:org.example.Call", "microphone")
        for kind in [Recorder.Kind.pulse, .pulse, .pulse, .native] {
            let recorder = try await Recorder(kind, "recorder", on: server, through: sandbox)
            try await recorder.hears()
            await recorder.end()
        }
        await server.end()
    }

    /// A stream whose grant ends by its time is asked about at once.
    @Test func aGrantEnds() async throws {
        let server = try await SoundServer()
        let agent = try await agent(on: server)
        let sandbox = try await FlatpakSandbox("org.example.Call", on: server.permd.bus)
        try await server.permctl("grant", "flatpak:org.example.Call", "microphone")
        let recorder = try await Recorder(.pulse, "recorder", on: server, through: sandbox)
        try await recorder.hears()
        try await server.permctl("grant", "flatpak:org.example.Call", "microphone", "--for", "2s")
        let prompt = try await agent.prompt(0)
        try await recorder.isSilent()
        agent.answer(prompt, with: .grant(.once))
        try await recorder.hears()
        await server.end()
    }

    /// A program that cannot be identified when its stream begins is looked at again.
    @Test(arguments: [Recorder.Kind.pulse, .native])
    func whoItIsBecomesKnown(_ kind: Recorder.Kind) async throws {
        let server = try await SoundServer()
        let agent = try await agent(on: server)
        let sandbox = try await FlatpakSandbox("org.example.Call", on: server.permd.bus, info: "[Application]\n")
        let recorder = try await Recorder(kind, "recorder", on: server, through: sandbox)
        try await server.until("the stream", "pw-dump | grep Stream/Input/Audio")
        let before = try await Recorder(.native, "before", on: server)
        try await before.hears(20)
        #expect(recorder.tones == 0 && recorder.isRunning && agent.prompts.all.isEmpty)
        try sandbox.setInfo("[Application]\nname=org.example.Call\n")
        let after = try await Recorder(.native, "after", on: server)
        try await after.hears()
        let prompt = try await agent.prompt(0)
        #expect(prompt.app == "flatpak:org.example.Call")
        agent.answer(prompt, with: .grant(.once))
        try await recorder.hears()
        await server.end()
    }

    /// Clients of PulseAudio give up a stream that gets no data for 25 seconds; with silence, it lives until the answer.
    @Test func anAnswerAfterHalfAMinute() async throws {
        let server = try await SoundServer()
        let agent = try await agent(on: server)
        let sandbox = try await FlatpakSandbox("org.example.Call", on: server.permd.bus)
        let recorder = try await Recorder(.pulse, "recorder", on: server, through: sandbox)
        let prompt = try await agent.prompt(0)
        // Half a minute of samples, 1024 of 44,100 each second in a chunk.
        for _ in 0..<3 { try await recorder.isSilent(44_100 * 10 / 1024) }
        #expect(recorder.tones == 0 && recorder.isRunning)
        agent.answer(prompt, with: .grant(.once))
        try await recorder.hears()
        await server.end()
    }

    /// WirePlumber hides the sources from the clients of sandboxes when it sees them, here after permd-pipewire has allowed
    /// one to record.
    @Test func theSessionManagerIsLate() async throws {
        let server = try await SoundServer()
        let sandbox = try await FlatpakSandbox("org.example.Call", on: server.permd.bus)
        try await server.permctl("grant", "flatpak:org.example.Call", "microphone")
        let monitor = try ChildProcess(
            "dbus-monitor", ["--session", "member=GetAccessFor"], environment: server.environment)
        let calls = EventLog<String>()
        Task { [lines = monitor.lines] in for await line in lines { calls.add(line) } }
        // It is told its name when it monitors.
        try await calls.wait(for: 1)
        let links = try await LinkMonitor(server)
        server.send(SIGSTOP, to: .wireplumber)
        let recorder = try await Recorder(.native, "recorder", on: server, through: sandbox)
        try await calls.first("a question to permd") { $0.contains("GetAccessFor") }
        // permd has answered this later, so permd-pipewire has its answer.
        try await server.permctl("status")
        server.send(SIGCONT, to: .wireplumber)
        try await recorder.hears()
        // Longer than the script tries again for.
        try await recorder.hears(120)
        #expect(links.made.all.count == 2, "\(links.made.all)")
        await links.end()
        await server.end()
    }

    /// PipeWire passes no changes of the session manager's metadata on any more once a program has left that had just begun to
    /// follow it. permd-pipewire still learns that it runs for the first time, so that the sound server is nobody's module.
    @Test func noChangesArePassedOn() async throws {
        let server = try await SoundServer(isEnforced: false)
        server.send(SIGSTOP, to: .wireplumber)
        let follower = try ChildProcess(
            "stdbuf", ["-oL", "pw-metadata", "--name", "permd", "--monitor"], environment: server.environment)
        let said = EventLog<String>()
        Task { [lines = follower.lines] in for await line in lines { said.add(line) } }
        try await said.first("the metadata") { $0.contains("Found") }
        try await server.run("pw-link --links")
        follower.terminate(SIGKILL)
        _ = await follower.waitForExit()
        server.send(SIGCONT, to: .wireplumber)
        try await server.enforce()
        let links = try await LinkMonitor(server)
        #expect(try await links.linkOfPersonsNode("mine", on: server).contains("mine"))
        await links.end()
        await server.end()
    }

    /// A microphone that is plugged in while a sandboxed program may record replaces the one that is unplugged.
    @Test func anotherMicrophone() async throws {
        let server = try await SoundServer()
        let sandbox = try await FlatpakSandbox("org.example.Call", on: server.permd.bus)
        try await server.permctl("grant", "flatpak:org.example.Call", "microphone")
        let recorder = try await Recorder(.native, "recorder", on: server, through: sandbox)
        try await recorder.hears()
        try await server.run(
            """
            pw-cli create-node adapter '{
                factory.name = audiotestsrc node.name = second_microphone media.class = Audio/Source
                priority.session = 1001 object.linger = true audio.channels = 1 audio.position = [ FL ] }'
            """)
        try await server.until("the second microphone", "\(SoundServer.scripts)/drive second_microphone")
        try await unplugMicrophone(of: server)
        try await recorder.hears()
        await server.end()
    }

    /// A grant that ends while there is no sound server does not count for the next one.
    @Test func aGrantEndsWhileTheServerRestarts() async throws {
        let server = try await SoundServer()
        let agent = try await agent(on: server)
        let sandbox = try await FlatpakSandbox("org.example.Call", on: server.permd.bus)
        try await server.permctl("grant", "flatpak:org.example.Call", "microphone")
        let before = try await Recorder(.native, "before", on: server, through: sandbox)
        try await before.hears()
        for part in SoundServer.Part.allCases { await server.stop(part) }
        try await server.permctl("grant", "flatpak:org.example.Call", "microphone", "--for", "1s")
        let status = "\(BuiltProgram.path("permctl")) status flatpak:org.example.Call"
        try await server.until(
            "the grant's end", "\(status) | grep '^microphone .* no microphone' && ! \(status) | grep granted")
        for part in SoundServer.Part.allCases { try await server.start(part) }
        let after = try await Recorder(.pulse, "after", on: server, through: sandbox)
        let prompt = try await agent.prompt(0)
        try await after.isSilent()
        #expect(after.tones == 0)
        agent.answer(prompt, with: .grant(.once))
        try await after.hears()
        await server.end()
    }

    /// The microphone is unplugged while its prompt is shown. The recorder then may end, as it does without permd.
    @Test func theSourceGoesWhileItIsAskedAbout() async throws {
        let server = try await SoundServer()
        let agent = try await agent(on: server)
        let sandbox = try await FlatpakSandbox("org.example.Call", on: server.permd.bus)
        let recorder = try await Recorder(.pulse, "recorder", on: server, through: sandbox)
        let prompt = try await agent.prompt(0)
        try await unplugMicrophone(of: server)
        agent.answer(prompt, with: .grant(.always))
        #expect(recorder.tones == 0 && server.isEnforcing)
        await server.end()
    }

    /// Properties as long as the kernel lets a program pass them harm nobody else.
    @Test func longProperties() async throws {
        let server = try await SoundServer()
        let beside = try await Recorder(.pulse, "beside", on: server)
        try await beside.hears()
        try await server.run(
            """
            long=$(printf '%120000s' | tr ' ' x)
            for name in application.name media.class media.name node.name node.description pipewire.sec.pid; do
                PIPEWIRE_PROPS="{ $name = \\"$long\\" }" timeout 0.5 pw-record \(server.folder.file("sound"))
            done
            """)
        try await beside.hears()
        let late = try await Recorder(.native, "late", on: server)
        try await late.hears()
        #expect(server.isEnforcing)
        await server.end()
    }

    /// A sandboxed program whose files do not answer gets nothing, and keeps nobody waiting.
    @Test func aFileSystemThatHangs() async throws {
        let server = try await SoundServer()
        let sandbox = try await FlatpakSandbox("org.example.Call", on: server.permd.bus)
        try await server.permctl("grant", "flatpak:org.example.Call", "microphone")
        let recorder = try await Recorder(.pulse, "recorder", on: server, through: sandbox)
        try await recorder.hears()
        await server.stopEnforcing()
        let hung = try await HungFileSystem(over: "/.flatpak-info", in: recorder.pid)
        try await server.enforce()
        let late = try await Recorder(.native, "late", on: server)
        try await late.hears()
        try await recorder.isSilent()
        let before = recorder.tones
        try await late.hears(20)
        #expect(recorder.tones == before && server.isEnforcing)
        try await hung.end()
        await recorder.end()
        await server.end()
    }

    /// permd-pipewire begins, also while the session manager hangs.
    @Test func aSessionManagerThatHangs() async throws {
        let server = try await SoundServer()
        let recorder = try await Recorder(.native, "recorder", on: server)
        try await recorder.hears()
        await server.stopEnforcing()
        server.send(SIGSTOP, to: .wireplumber)
        try await server.enforce()
        try await recorder.hears()
        server.send(SIGCONT, to: .wireplumber)
        let late = try await Recorder(.native, "late", on: server)
        try await late.hears()
        await server.end()
    }

    /// A script that a newer session manager cannot run does not end the sound; links are cut by permd-pipewire then.
    /// WirePlumber 0.4, which gets no newer versions, runs it.
    @Test func aBrokenScript() async throws {
        let server = try await SoundServer(isEnforced: false)
        try await server.run(
            """
            for script in "$XDG_CONFIG_HOME" "$XDG_DATA_HOME"; do
                sed -i '1i assert (not SimpleEventHook)' "$script/wireplumber/scripts/permd/capture.lua"
            done
            """)
        for part in SoundServer.Part.allCases { await server.stop(part) }
        for part in SoundServer.Part.allCases { try await server.start(part) }
        try await server.enforce()
        if !(try await server.run("wireplumber --version").contains(" 0.4")) {
            try await server.log.first("the notice") { $0.contains("does not know permd") }
        }
        let allowed = try await Recorder(.native, "allowed", on: server)
        try await allowed.hears()
        let played = try await server.run("pacat --playback --raw --latency-msec=50 /bin/sh && echo played")
        #expect(played == "played\n")
        let program = Recorder.app(.native, "refused", on: server).description
        try await server.permctl("deny", program, "microphone")
        let refused = try await Recorder(.native, "refused", on: server)
        try await allowed.hears(40)
        #expect(refused.tones <= 4)
        await server.end()
    }

    /// Many at once: who is refused gets nothing, who is allowed gets the tone.
    @Test(arguments: [Recorder.Kind.pulse, .native])
    func manyAtOnce(_ kind: Recorder.Kind) async throws {
        let server = try await SoundServer()
        let allowed = try await Recorder(kind, "allowed", on: server)
        try await allowed.hears()
        try await server.permctl(
            "deny", Recorder.app(kind, "refused", on: server).description, kind.permission.rawValue)
        var refused: [Recorder] = []
        for _ in 0..<20 { refused.append(try await Recorder(kind, "refused", on: server)) }
        try await allowed.hears(40)
        let late = try await Recorder(kind, "late", on: server)
        try await late.hears()
        #expect(refused.allSatisfy { $0.tones == 0 })
        #expect(server.isEnforcing)
        await server.end()
    }

    /// An app with a thousand streams is asked about once, and others record on.
    @Test func aThousandStreams() async throws {
        if StreamFlood.isThisProcess { return try StreamFlood.run(1000) }
        let server = try await SoundServer(settings: "[Enforcement]\nAsk=all\n")
        let agent = try await agent(on: server)
        for name in ["beside", "late"] {
            try await server.permctl("grant", Recorder.app(.pulse, name, on: server).description, "microphone")
        }
        let beside = try await Recorder(.pulse, "beside", on: server)
        try await beside.hears()
        let flood = try StreamFlood.start("aThousandStreams", on: server)
        let prompt = try await agent.prompt(0)
        try await server.until(
            "the streams", "[ $(pw-cli list-objects Node | grep -c Stream/Input/Audio) -gt 1000 ]")
        try await beside.hears()
        let late = try await Recorder(.pulse, "late", on: server)
        try await late.hears()
        agent.answer(prompt, with: .deny(.always))
        try await beside.hears(40)
        #expect(agent.prompts.all.count == 1 && server.isEnforcing)
        flood.terminate(SIGKILL)
        _ = await flood.waitForExit()
        await server.end()
    }

    /// A mark that arrives after its client has gone does not hold for the next one with its ID.
    @Test func aMarkOfAnEarlierClient() async throws {
        let server = try await SoundServer()
        let allowed = try await Recorder(.native, "allowed", on: server)
        try await allowed.hears()
        let program = Recorder.app(.native, "refused", on: server)
        try await server.permctl("deny", program.description, "microphone")
        let refused = try await Recorder(.native, "refused", on: server)
        try await allowed.hears(20)
        let links = try await LinkMonitor(server)
        // pw-metadata sometimes leaves before PipeWire has told it anything.
        let marks = try await server.until("the marks", "pw-metadata -n permd | grep microphone")
        let marked = try await server.run(
            """
            marks="\(marks)"
            pw-cli list-objects Node | awk '/client.id/ { print $3 }' | tr -d '"' | sort -u | while read -r client; do
                echo "$marks" | grep -q "id:$client key:'microphone'" && continue
                pw-metadata -n permd "$client" microphone 1 >/dev/null && echo marked
            done
            """)
        #expect(marked == "marked\n")
        try await allowed.hears(40)
        #expect(refused.tones == 0)
        #expect(links.made.all.isEmpty)
        await links.end()
        await server.end()
    }
}
