// What ends does so for everybody, on a disk that cannot be written as well; what was lifted stays lifted.

import DBus
import Foundation
import Glibc
import PermissionModel
import PermissionTestKit
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct LifetimeTests {
    /// No file may grow from now on, as on a full disk; with `unlimited` it may again.
    private func limit(_ stage: Stage, _ bytes: String) async throws {
        let tool = try ChildProcess(
            "prlimit", ["--pid", "\(stage.permd.pid)", "--fsize=\(bytes):unlimited"],
            environment: ChildProcess.ownEnvironment)
        try #require(await tool.waitForExit() == .exited(0))
    }

    @Test func aGrantIsTakenBackOnAFullDisk() async throws {
        let stage = try await Stage()
        let app = try await stage.app()
        try await stage.set("grant", app.id, .camera)
        #expect(try await app.status(.camera) == "ok camera=granted")
        let changes = try await stage.signals(BusNames.policy)
        try await limit(stage, "0")
        let refusal = await stage.refusal(BusNames.policy, "Reset", [.string(app.id.description), .string("")])
        #expect(refusal == "StoreUnavailable retryable")
        try await app.events.first { $0 == "status camera undetermined" }
        try await changes.first { $0 == "DecisionChanged \(app.id) camera " }
        #expect(try await stage.decisions().isEmpty)
        // It stays so, and is written with whatever is written next.
        try await limit(stage, "unlimited")
        try await stage.set("deny", AppID("exe:/usr/bin/b")!, .location)
        try await stage.permd.restart(SIGKILL)
        #expect(try await stage.decisions() == ["exe:/usr/bin/b location deny always"])
        await stage.end()
    }

    @Test func aTimeIsOverOnAFullDisk() async throws {
        let stage = try await Stage()
        let app = try await stage.app()
        let changes = try await stage.signals(BusNames.policy)
        try await stage.set(
            "grant", app.id, .camera,
            ["duration": .string("until"), "until": .uint64(UInt64(time(nil)) + 2)])
        try await limit(stage, "0")
        #expect(try await app.status(.camera) == "ok camera=granted")
        try await app.events.first { $0 == "status camera undetermined" }
        try await changes.first { $0 == "DecisionChanged \(app.id) camera " }
        #expect(try await stage.decisions().isEmpty)
        await stage.end()
    }

    /// The portals' store gets back what it has on our word.
    @Test func aTimeIsOverForPortalsOnAFullDisk() async throws {
        let bench = try await PortalStage()
        let stage = bench.stage
        try await bench.setCamera("org.example.Old", "yes")
        let app = AppID("desktop:org.example.Old")!
        let changes = try await stage.signals(BusNames.policy)
        if try await stage.decisions().isEmpty { try await changes.first { $0.contains("grant") } }
        try await stage.set(
            "grant", app, .camera, ["duration": .string("until"), "until": .uint64(UInt64(time(nil)) + 2)])
        try await limit(stage, "0")
        try await bench.camera(becomes: "")
        await bench.end()
    }

    @Test func aPauseThatWasLiftedStaysSo() async throws {
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

    /// A second permd, which leaves as the name is taken, does not touch the files that the first has open.
    @Test func aSecondPermdTouchesNothing() async throws {
        let stage = try await Stage()
        let app = AppID("exe:/usr/bin/a")!
        try await stage.set("deny", app, .camera)
        // Everything is in the file itself now, not in its log.
        try await stage.permd.restart()
        let path = "\(stage.stateFolder)/permd.db"
        let before = try FileManager.default.contentsOfDirectory(atPath: stage.stateFolder).sorted()
        // What it would set aside, if it opened it.
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
