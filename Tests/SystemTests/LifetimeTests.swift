// Decisions end for every observer even if the disk cannot be written, and a lifted pause stays lifted.

import DBus
import Foundation
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct LifetimeTests {
    /// Sets permd's file size limit: 0 has the effect of a full disk, `unlimited` ends it.
    private func limit(_ stage: Stage, _ bytes: String) async throws {
        let tool = try ChildProcess(
            "prlimit", ["--pid", "\(stage.permd.pid)", "--fsize=\(bytes):unlimited"],
            environment: ChildProcess.ownEnvironment)
        try #require(await tool.waitForExit() == .exited(0))
    }

    /// permd removes its entry from the portals' store when the grant expires.
    @Test func aPortalGrantExpiresOnAFullDisk() async throws {
        let bench = try await PortalStage()
        let stage = bench.stage
        try await bench.setCamera("org.example.Old", "yes")
        let app = AppID("flatpak:org.example.Old")!
        let changes = try await stage.signals(BusNames.policy)
        if try await stage.decisions().isEmpty { try await changes.first { $0.contains("grant") } }
        try await stage.set(
            "grant", app, .camera, ["duration": .string("until"), "until": .uint64(UInt64(time(nil)) + 2)])
        try await limit(stage, "0")
        try await bench.camera(becomes: "")
        await bench.end()
    }

    @Test func aLiftedPauseStaysLifted() async throws {
        let stage = try await Stage(settings: "[Prompts]\nNagLimit=1\n")
        let agent = try await stage.agent([.dismiss])
        let app = try await stage.app()
        try await app.request("a", [.camera])
        _ = try await app.response("a")
        #expect(agent.prompts.all.count == 1)
        #expect(try await stage.decisions().contains { $0.contains(" pause ") })
        try await stage.set("deny", app.id, .camera)
        #expect(try await stage.decisions() == ["\(app.id) camera deny always"])
        try await stage.permd.restart(SIGKILL)
        #expect(try await stage.decisions() == ["\(app.id) camera deny always"])
        await stage.end()
    }

    /// A second permd exits because the name is taken, and leaves alone the files that the first has open.
    @Test func aSecondPermdTouchesNothing() async throws {
        let stage = try await Stage()
        let app = AppID("exe:/usr/bin/a")!
        try await stage.set("deny", app, .camera)
        // The restart moves everything from the write-ahead log to the database file.
        try await stage.permd.restart()
        let path = "\(stage.stateFolder)/permd.db"
        let before = try FileManager.default.contentsOfDirectory(atPath: stage.stateFolder).sorted()
        // A permd that opened this damaged file would set it aside.
        let fd = open(path, O_WRONLY | O_CLOEXEC)
        let noise = [UInt8](repeating: 0xA5, count: 512)
        try #require(pwrite(fd, noise, noise.count, 0) == noise.count)
        close(fd)
        let second = try ChildProcess(BuiltProgram.path("permd"), [], environment: stage.permd.environment)
        #expect(await second.waitForExit() == .exited(1))
        #expect(try FileManager.default.contentsOfDirectory(atPath: stage.stateFolder).sorted() == before)
        await stage.end()
    }
}
