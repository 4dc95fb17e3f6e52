// Failures never grant a permission: unreadable files, exhausted descriptors, hostile text, and portal answers that
// cannot be stored.

import DBus
import Foundation
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct FailClosedTests {
    /// Applies an option of prlimit(1): `--nofile=3:` allows no more descriptors, `--fsize=0:` lets no file grow.
    private func limit(_ stage: Stage, _ limit: String) async throws {
        let tool = try ChildProcess(
            "prlimit", ["--pid", "\(stage.permd.pid)", limit], environment: ChildProcess.ownEnvironment)
        try #require(await tool.waitForExit() == .exited(0))
    }

    private func problems(_ stage: Stage) async throws -> [String] {
        try await stage.rows("ListProblems", nil).map { $0["problem"]?.stringValue ?? "" }
    }

    /// There is no mock camera, because umockdev needs descriptors for it.
    @Test func withoutDescriptorsStatusesStay() async throws {
        let stage = try await Stage(
            [.microphone], rules: ["a.conf": PolicyTests.rule("*", "camera", "restrict")])
        let app = try await stage.app()
        #expect(try await app.ask("status camera,microphone") == "ok camera=restricted microphone=undetermined")
        // Have the caller identified while descriptors are available.
        #expect(try await problems(stage).allSatisfy { !$0.contains("restricted") })
        try await limit(stage, "--nofile=3:")
        stage.permd.signal(SIGHUP)
        try await stage.permd.log.first("the problem") { $0.contains("a.conf: Too many open files") }
        #expect(try await app.ask("status camera,microphone") == "ok camera=restricted microphone=undetermined")
        let found = try await problems(stage)
        #expect(found.contains { $0.contains("what it restricted before stays restricted") }, "\(found)")
        #expect(found.contains { $0.contains("no descriptors are left to list devices") }, "\(found)")
        try await limit(stage, "--nofile=1024:")
        try stage.permd.root.write(PolicyTests.rule("*", "microphone", "restrict"), to: "etc/permd/policy.d/a.conf")
        stage.permd.signal(SIGHUP)
        try await app.events.first { $0 == "status microphone restricted" }
        #expect(try await app.ask("status camera") == "ok camera=unavailable")
        #expect(try await problems(stage).allSatisfy { !$0.contains("open files") && !$0.contains("descriptors") })
        await stage.end()
    }

    @Test func aFolderThatCannotBeReadKeepsItsRestrictionsOverARestart() async throws {
        let stage = try await Stage(rules: ["a.conf": PolicyTests.rule("*", "camera", "restrict")])
        let app = try await stage.app()
        #expect(try await app.status(.camera) == "ok camera=restricted")
        let folder = stage.permd.root.file("etc/permd/policy.d")
        rename(folder, stage.permd.root.file("aside"))
        mkfifo(folder, 0o600)
        stage.permd.signal(SIGHUP)
        try await stage.permd.log.first("the problem") { $0.contains("policy.d: Not a directory") }
        #expect(try await app.status(.camera) == "ok camera=restricted")
        for signal in [SIGTERM, SIGKILL] {
            try await stage.permd.restart(signal)
            #expect(try await app.status(.camera) == "ok camera=restricted")
        }
        await stage.end()
    }

    /// A reload finds devices for which udev sent no event.
    @Test func aReloadFindsUnannouncedDevices() async throws {
        let stage = try await Stage([])
        let app = try await stage.app()
        try await stage.devices.add(.camera, 0, isAnnounced: false)
        #expect(try await app.status(.camera) == "ok camera=unavailable")
        stage.permd.signal(SIGHUP)
        try await app.events.first { $0 == "status camera undetermined" }
        await stage.end()
    }

    // MARK: Texts

    @Test func pathsAreShownEscaped() async throws {
        let stage = try await Stage()
        let agent = try await stage.agent()
        let app = try await stage.app("a\u{202E}b\u{9B}31m\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}")
        try await app.request("t", [.camera])
        let prompt = try await agent.prompt(0)
        #expect(prompt.app.hasSuffix("/a%E2%80%AEb%C2%9B31m\u{301}\u{301}\u{301}\u{301}%CC%81%CC%81"), "\(prompt.app)")
        #expect(prompt.details["app_name"] == .string("ab31m\u{301}\u{301}\u{301}\u{301}"))
        // Programs receive the unescaped identity.
        #expect(try await stage.rows("ListRequests", nil).first?["app"] == .string(app.id.description))
        try await stage.permd.log.first("the journal's line") { $0.contains("a\\u{202e}b\\u{9b}31") }
        #expect(stage.permd.log.all.allSatisfy { !$0.contains("\u{202E}") && !$0.contains("\u{9B}") })
        await stage.end()
    }

    @Test func errorsEscapeControlCharacters() async throws {
        let stage = try await Stage()
        do {
            _ = try await stage.call(
                BusNames.access, "GetStatus",
                [.strings(["\u{9B}2J\u{202E}\u{1B}[31m" + String(repeating: "x", count: 999)])])
            Issue.record("an unknown permission was accepted")
        } catch {
            let text = error.body.first?.stringValue ?? ""
            #expect(text.contains("\\u{9b}2J\\u{202e}\\u{1b}[31m") && text.utf8.count < 300, "\(text)")
        }
        await stage.end()
    }

    /// Reading a FIFO would block forever; a name without visible characters is ignored.
    @Test(arguments: [("fifo", "org.example.Entry"), ("invisible", "org.example.Entry"), ("lines", "Real One")])
    func hostileDesktopEntries(_ kind: String, _ name: String) async throws {
        let stage = try await Stage()
        let folder = "\(stage.permd.bus.directory)/data/flatpak/exports/share/applications"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let path = "\(folder)/org.example.Entry.desktop"
        switch kind {
        case "fifo": mkfifo(path, 0o600)
        case "invisible":
            try Data("[Desktop Entry]\nName=\u{202E}\u{200B}\u{2800}\n".utf8).write(to: URL(filePath: path))
        default:
            try Data(
                "[Desktop Entry]\nComment=x\u{2028}Name=Wrong\u{85}Name=Too\nName=Real\\n \u{202E}One\n".utf8
            ).write(to: URL(filePath: path))
        }
        let agent = try await stage.agent()
        let app = try await TestApp.flatpak("org.example.Entry", on: stage.permd)
        try await app.request("t", [.camera])
        #expect(try await agent.prompt(0).details["app_name"] == .string(name))
        await app.end()
        await stage.end()
    }

    // MARK: The portals' store

    /// A portal answer stored by another program while permd cannot write becomes a decision later.
    @Test(arguments: ["a write", "a restart", "a later decision"])
    func portalAnswersAreImportedLater(_ after: String) async throws {
        let bench = try await PortalStage()
        let stage = bench.stage
        let decisions = try await stage.signals(BusNames.policy)
        let app = "flatpak:org.example.Old"
        // The first write creates the store's files.
        try await stage.set("grant", AppID("exe:/usr/bin/a")!, .camera)
        try await limit(stage, "--fsize=0:")
        try await bench.setCamera("org.example.Old", "no")
        try await stage.permd.log.first("the failure") { $0.contains("could not be saved as a decision") }
        #expect(try await stage.decisions() == ["exe:/usr/bin/a camera grant always"])
        try await limit(stage, "--fsize=unlimited:")
        switch after {
        case "a restart":
            try await stage.permd.restart()
            // The decision is there once permd has read the portals' store.
            let again = try await stage.signals(BusNames.policy)
            if try await stage.decisions().count < 2 { try await again.first { $0.contains(app) } }
        case "a write":
            try await stage.set("deny", AppID("exe:/usr/bin/b")!, .camera)
            try await decisions.first("the decision") { $0 == "DecisionChanged \(app) camera deny" }
        default:
            // A later decision of the user is not overridden by the older portal answer.
            try await stage.set("grant", AppID(app)!, .camera)
            try await bench.camera(becomes: "")
            #expect(try await stage.decisions().contains("\(app) camera grant always"))
            await bench.end()
            return
        }
        #expect(try await stage.decisions().contains("\(app) camera deny always"))
        await bench.end()
    }
}
