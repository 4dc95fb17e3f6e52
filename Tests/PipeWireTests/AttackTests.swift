// A sandboxed program that may not record, and tries to by what others do for it, or after it has left.

import DBus
import Foundation
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(3)))
@LoopActor
struct AttackTests {
    private static let app = "flatpak:org.example.Recorder"

    private static func program(_ name: String) -> String {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: name).path
    }

    @LoopActor
    private struct Attack {
        let server: SoundServer
        let sandbox: FlatpakSandbox
        /// Records all the time.
        let beside: Recorder

        /// Runs a script in the sandbox, and returns what it printed.
        @discardableResult
        func attack(_ script: String, _ arguments: String...) async throws -> String {
            let child = try start(["sh", "-c", script, "sh"] + arguments)
            let output = await child.output()
            _ = await child.waitForExit()
            return output
        }

        /// Starts a program in the sandbox.
        func start(_ command: [String], standardInput: ChildProcess.Stream = .null) throws -> ChildProcess {
            try ChildProcess(
                sandbox.command[0], Array(sandbox.command.dropFirst()) + command, environment: server.environment,
                standardInput: standardInput)
        }

        /// The number of the client with that name. Tests of this user that have many descriptors on their way keep pw-cli
        /// from listing it for a moment.
        func client(_ name: String) async throws -> String {
            try await server.until(
                "the client \(name)",
                """
                pw-cli list-objects Client | awk -v name='"\(name)"' \
                    '$1 == "id" { id = $2 + 0 } $3 == name { print id; isThere = 1 } END { exit !isThere }'
                """
            ).trimmingCharacters(in: .whitespacesAndNewlines)
        }

        func end() async {
            await beside.end()
            await server.end()
        }
    }

    /// - Parameter before: What is done before permd-pipewire runs for the first time.
    private func place(
        _ beside: Recorder.Kind = .native, _ before: @LoopActor (Attack) async throws -> Void = { _ in }
    ) async throws -> Attack {
        let server = try await SoundServer(isEnforced: false)
        let sandbox = try await FlatpakSandbox("org.example.Recorder", on: server.permd.bus)
        try await server.permctl("deny", AttackTests.app, "microphone")
        let beside = try await Recorder(beside, "beside", on: server)
        let place = Attack(server: server, sandbox: sandbox, beside: beside)
        try await before(place)
        try await server.enforce()
        try await beside.hears()
        return place
    }

    /// Modules of the PulseAudio server do it, for a program that has left, also if it did so while permd-pipewire was away,
    /// and whoever else is a client of that server.
    @Test(arguments: [false, true], [Recorder.Kind.native, .pulse])
    func modulesOfTheSoundServer(_ isAway: Bool, _ beside: Recorder.Kind) async throws {
        let place = try await place(beside)
        let (reader, heard) = try await leak(place)
        if isAway { await place.server.stopEnforcing() }
        let module = try await place.attack("pactl load-module module-loopback source=test_microphone sink=leak")
        #expect(module.split(separator: "\n").count == 1)
        if isAway {
            // Clients are identified in an order that differs from run to run.
            for _ in 1...8 {
                try await place.server.enforce()
                try await place.beside.hears()
                await place.server.stopEnforcing()
            }
            try await place.server.enforce()
        }
        try await place.beside.hears(80)
        #expect(heard.all.isEmpty)
        reader.terminate(SIGKILL)
        _ = await reader.waitForExit()
        await place.end()
    }

    /// Reads what is played to the speaker "leak". Sound that is not silence is heard.
    private func leak(_ place: Attack) async throws -> (reader: ChildProcess, heard: EventLog<String>) {
        let pipe = place.server.folder.file("pipe")
        try await place.server.run(
            "pactl load-module module-pipe-sink file=\(pipe) sink_name=leak format=s16le rate=48000 channels=1")
        let heard = EventLog<String>()
        let reader = try ChildProcess(
            "sh", ["-c", "stdbuf -oL od -An -v -td2 -w2048 \"$0\"", pipe], environment: place.server.environment)
        Task { [lines = reader.lines] in
            for await line in lines where line.split(separator: " ").contains(where: { $0 != "0" }) { heard.add(line) }
        }
        return (reader, heard)
    }

    /// PipeWire may notice that a client has left before it notices the module that the client has loaded.
    @Test func aModuleOfAClientThatLeaves() async throws {
        let place = try await place()
        let (reader, heard) = try await leak(place)
        let program = AttackTests.program("load_module.py")
        let thief = try place.start(
            ["python3", program, "module-loopback", "source=test_microphone", "sink=leak"], standardInput: .pipe)
        var lines = thief.lines.makeAsyncIterator()
        #expect(await lines.next() == "connected")
        place.server.send(SIGSTOP, to: .pipewire)
        // It takes one connection after the other, and between them handles what other clients do.
        let runtime = place.server.environment["XDG_RUNTIME_DIR"] ?? ""
        let others = try (1...8).map { _ in try UnixSocket.connect("\(runtime)/pipewire-0") }
        thief.write("\n")
        #expect(await lines.next() == "left")
        _ = await thief.waitForExit()
        place.server.send(SIGCONT, to: .pipewire)
        try await place.beside.hears(80)
        #expect(heard.all.isEmpty)
        withExtendedLifetime(others) {}
        reader.terminate(SIGKILL)
        _ = await reader.waitForExit()
        await place.end()
    }

    /// Whichever programs outside sandboxes have come and gone, what a person has the sound server load records.
    @Test func aModuleOfThePerson() async throws {
        let place = try await place()
        var links = ""
        // On a busy machine, the program that loads it may have left before it is known who that was.
        for _ in 1...10 where !links.contains("loopback") {
            try await place.server.run(
                """
                pactl unload-module module-loopback
                for i in 1 2 3 4 5; do pactl info; done
                pactl load-module module-loopback source=test_microphone sink=test_speaker
                """)
            try await place.beside.hears(40)
            links = try await place.server.run("pw-link --links test_microphone:capture_FL")
        }
        #expect(links.contains("loopback"))
        await place.end()
    }

    /// A node that was left behind before permd-pipewire ran for the first time is not the configuration's.
    @Test func aNodeFromBefore() async throws {
        let place = try await place { place in
            let script = try place.server.folder.write(LinkMonitor.makeLingeringNode, to: "lingering")
            try await place.attack("exec sh \"$@\"", script, "leak")
        }
        try await place.beside.hears(40)
        let links = try await place.server.run("pw-link --links")
        #expect(links.contains("test_microphone") && !links.contains("leak"))
        await place.end()
    }

    /// Modules of the configuration record, also after permd-pipewire was started again. So does one that a person has
    /// loaded, if the program that did it could be identified before it left.
    @Test func modulesOfAPerson() async throws {
        let place = try await place()
        let server = place.server
        try await server.run(
            """
            mkdir -p "$XDG_CONFIG_HOME"/pipewire/pipewire-pulse.conf.d
            echo 'pulse.cmd = [ { cmd = "load-module" args = "module-loopback source=test_microphone" } ]' \
                >"$XDG_CONFIG_HOME"/pipewire/pipewire-pulse.conf.d/loopback.conf
            """)
        await server.stop(.pulse)
        try await server.start(.pulse)
        let links = "pw-link --links --id | grep \\|-\\>.*input.loopback"
        let before = try await server.until("the link", links)
        await server.stopEnforcing()
        try await server.enforce()
        try await place.beside.hears()
        let after = try await server.run(links)
        #expect(!before.isEmpty && before == after)
        try await server.run(
            "pactl unload-module module-loopback; pactl load-module module-null-sink sink_name=mine")
        try await server.until(
            "the link of one", "pactl load-module module-loopback source=test_microphone sink=mine; \(links)")
        await place.end()
    }

    /// A node that outlives its maker records, whoever it says to belong to.
    @Test(arguments: [false, true])
    func aNodeThatOutlivesItsMaker(_ claimsAnother: Bool) async throws {
        let place = try await place()
        let links = try await LinkMonitor(place.server)
        let client = claimsAnother ? "client.id = \(try await place.client("pw-cat"))" : ""
        let script = try place.server.folder.write(LinkMonitor.makeLingeringNode, to: "lingering")
        try await place.attack("exec sh \"$@\"", script, "leak", client)
        try await place.server.until("the node", "pw-cli list-objects Node | grep '\"leak'")
        try await place.beside.hears(40)
        #expect(links.made.all.isEmpty)
        #expect(try await links.linkOfPersonsNode("mine", on: place.server).contains("mine"))
        await links.end()
        await place.end()
    }

    /// Another object that is called as the one that the session manager reads.
    @Test func anotherMetadata() async throws {
        let place = try await place()
        let script = try place.server.folder.write(
            "metadata = ImplMetadata(\"permd\")\nmetadata:activate(Features.ALL)\n", to: "metadata.lua")
        let attack = try place.start(["wpexec", script])
        try await place.server.until(
            "the metadata", "[ $(pw-cli list-objects Metadata | grep -c '\"permd\"') = 2 ]")
        let late = try await Recorder(.native, "late", on: place.server)
        try await late.hears()
        attack.terminate(SIGKILL)
        _ = await attack.waitForExit()
        await place.end()
    }

    /// A program is no media service because of its name.
    @Test func theNameOfASessionPart() async throws {
        let server = try await SoundServer(settings: "[Enforcement]\nAsk=all\n")
        let agent = ScriptedAgent(try server.permd.bus.connect())
        try await agent.register()
        let program = server.folder.file("pipewire")
        try await server.run("cp /usr/bin/pw-cat \(program) && { [ \"$(id -u)\" != 0 ] || chown 65534 \(program); }")
        let recorder = try ChildProcess(
            "bash", ["-c", "exec -a pw-record \(program) \(server.folder.file("recorded"))"],
            environment: server.environment)
        #expect(try await agent.prompt(0).app == AppID.executable(program.utf8).description)
        recorder.terminate(SIGKILL)
        _ = await recorder.waitForExit()
        await server.end()
    }

    /// One that says that it manages others ends neither permd-pipewire nor the session manager, and marks nobody.
    @Test func aManager() async throws {
        let place = try await place()
        let guards = [try await place.client("permd-pipewire"), try await place.client("WirePlumber")]
        let refused = try await Recorder(.native, "refused", on: place.server, through: place.sandbox)
        try await place.beside.hears(20)
        let all = try await place.server.run("pw-cli list-objects Client | awk '$1 == \"id\" { print $2 + 0 }'")
        try await place.attack(
            """
            export PIPEWIRE_PROPS='{ media.category = Manager }'
            microphone=$(pw-cli list-objects Node | awk '$1 == "id" { id = $2 + 0 } /"test_microphone"/ { print id }')
            for i in 1 2 3; do
                for client in $1; do
                    pw-cli permissions "$client" "$microphone" 0
                    pw-cli destroy "$client"
                done
                for client in $2; do
                    pw-metadata -n permd "$client" microphone "$client"
                    pw-cli permissions "$client" "$microphone" 7
                done
                pw-link "$(pw-link -o | grep test_microphone | head -n 1)" "$(pw-link -i | grep pw-cat | tail -n 1)"
            done
            """, guards.joined(separator: " "), all)
        try await place.beside.hears(40)
        #expect(refused.tones == 0)
        let after = [try await place.client("permd-pipewire"), try await place.client("WirePlumber")]
        #expect(guards == after)
        await place.end()
    }

    /// What a client asks for before it has any rights is done with the first that it gets.
    @Test func firstMessage() async throws {
        let place = try await place()
        let guards = [try await place.client("permd-pipewire"), try await place.client("WirePlumber")]
        let program = AttackTests.program("destroy.py")
        for _ in 1...5 {
            let answer = try await place.attack("exec python3 \(program) $1", guards.joined(separator: " "))
            #expect(answer == "done\n")
        }
        let after = [try await place.client("permd-pipewire"), try await place.client("WirePlumber")]
        #expect(guards == after)
        await place.end()
    }
}
