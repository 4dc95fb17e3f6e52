// Connections to PipeWire that a portal has made for an app.

import DBus
import Foundation
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(3)))
@LoopActor
struct PortalClientTests {
    /// A connection that the portal for cameras has passed on is asked about the microphone, as the app's.
    @Test func aConnectionOfThePortal() async throws {
        let server = try await SoundServer()
        let agent = ScriptedAgent(try server.permd.bus.connect())
        try await agent.register()
        let project = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let portal = try await DesktopPortal(
            on: server.permd, backends: project.appending(path: "portal").path,
            environment: ["XDG_CURRENT_DESKTOP": "permd"])
        let app = try await TestApp.flatpak("org.example.Recorder", on: server.permd)
        let desk = try server.permd.bus.connect()
        _ = try await desk.call(
            .call(
                destination: BusNames.portalStore, path: BusNames.portalStorePath, interface: BusNames.portalStore,
                member: "SetPermission",
                [.string("devices"), .bool(true), .string("camera"), .string(app.id.name), .strings(["yes"])]))
        #expect(try await app.ask("open-camera").hasPrefix("ok"))
        let file = server.folder.file("recorded")
        let record = "gst-launch-1.0 -q pipewiresrc fd=3 ! audio/x-raw ! filesink location=\(file) buffer-mode=2"
        #expect(try await app.ask("run \(record)") == "ok")
        let prompt = try await agent.prompt(0)
        #expect(prompt.app == "flatpak:org.example.Recorder" && prompt.questions == [.microphone])
        let beside = try await Recorder(.native, "beside", on: server)
        try await beside.hears(40)
        agent.answer(prompt, with: .deny(.always))
        try await beside.hears(40)
        #expect(try await server.run("od -An -v -tx1 \(file) | tr -d ' 0\\n' | wc -c").hasPrefix("0"))
        await app.end()
        await portal.end()
        await server.end()
    }

    /// One that its portal lets see a screen only, and no camera, also when other objects come. The session manager has
    /// rules of its own for these.
    @Test func aConnectionForAScreen() async throws {
        let server = try await SoundServer(settings: "[Enforcement]\nAsk=all\n")
        let (client, id) = try await connectAsPortal(server)
        try await sessionManagerIsDone(server)
        // On everything that has no rights of its own (PW_ID_ANY).
        try await server.run("pw-cli permissions \(id) 4294967295 0")
        let camera = "factory.name = videotestsrc node.name = late media.role = Camera media.class = Video/Source"
        try await server.run("pw-cli create-node spa-node-factory '{ \(camera) object.linger = true }'")
        try await sessionManagerIsDone(server)
        let rights = try await server.run("timeout 10 pw-cli get-permissions \(id)")
        #expect(rights.contains("default: ---") && !rights.contains(": r"), "\(rights)")
        client.terminate(SIGKILL)
        await server.end()
    }

    /// Waits until the session manager has dealt with what was there before: it links players in that order.
    private func sessionManagerIsDone(_ server: SoundServer) async throws {
        let player = try ChildProcess("pacat", ["--playback", "--raw", "/dev/zero"], environment: server.environment)
        let isLinked = "pw-link --links --output | grep '^pacat'"
        try await server.until("a link", isLinked)
        player.terminate(SIGKILL)
        _ = await player.waitForExit()
        try await server.until("its end", "! \(isLinked)")
    }

    /// Starts a program that PipeWire takes for xdg-desktop-portal, and that connects to it. Returns its client's number, too.
    private func connectAsPortal(_ server: SoundServer) async throws -> (ChildProcess, id: String) {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "portal_client.py").path
        // PipeWire looks up which process owns the portals' name some time after that has changed.
        for _ in 0..<20 {
            let client = try ChildProcess(
                "/usr/bin/python3", [script, "pw-dump", "--monitor"], environment: server.environment,
                standardInput: .pipe)
            var lines = client.lines.makeAsyncIterator()
            _ = await lines.next()
            client.write("\n")
            let facts = try await server.until(
                "the client",
                """
                pw-cli list-objects Client | awk -v pid='"\(client.pid)"' '$1 == "id" { id = $2 + 0 }
                    $1 == "pipewire.sec.pid" { isIt = $3 == pid }
                    $1 == "pipewire.access" && isIt { print id, $3; isThere = 1 } END { exit !isThere }'
                """
            ).split(whereSeparator: \.isWhitespace)
            if facts.last == "\"portal\"" { return (client, String(facts[0])) }
            client.terminate(SIGKILL)
            _ = await client.waitForExit()
        }
        throw TestKitError("PipeWire does not know the portal")
    }
}
