// Policy rules and settings files: precedence, parse errors, and changes while the daemon runs.

import DBus
import Foundation
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct PolicyTests {
    nonisolated static func rule(_ apps: String, _ permissions: String, _ action: String, name: String = "r") -> String
    {
        "[Rule \(name)]\nApps=\(apps)\nPermissions=\(permissions)\nAction=\(action)\n"
    }

    @Test func rulesRestrictAndGrant() async throws {
        let stage = try await Stage(rules: [
            "10-all.conf": PolicyTests.rule("*", "location", "restrict"),
            "20-app.conf": PolicyTests.rule("exe:*/app exe:/nowhere", "camera microphone", "grant", name: "apps")
                + PolicyTests.rule("exe:*/app", "microphone", "restrict", name: "but not"),
        ])
        let agent = try await stage.agent()
        let app = try await stage.app()
        try await app.request("t", [.camera, .microphone, .location])
        #expect(
            try await app.response("t")
                == "0 refused=microphone statuses=camera=granted location=restricted microphone=restricted")
        #expect(agent.prompts.all.isEmpty)
        let other = try await stage.app("other")
        #expect(try await other.ask("status camera,location") == "ok camera=undetermined location=restricted")
        // A user's denial overrides a rule that grants; a rule that restricts overrides everything.
        try await stage.set("deny", app.id, .camera)
        try await stage.set("grant", app.id, .location)
        #expect(try await app.ask("status camera,location") == "ok camera=denied location=restricted")
        let rows = try await stage.rows("ListRestrictions", nil)
        #expect(rows.map { $0["app"]?.stringValue } == ["*", "exe:*/app", "exe:/nowhere", "exe:*/app"])
        #expect(rows.map { $0["line"]?.uint32Value } == [1, 1, 1, 5])
        #expect(rows.map { $0["action"]?.stringValue } == ["restrict", "grant", "grant", "restrict"])
        #expect(rows[0]["rule"] == .string("r") && rows[0]["permissions"] == .strings(["location"]))
        #expect(rows[0]["file"]?.stringValue?.hasSuffix("/etc/permd/policy.d/10-all.conf") == true)
        await stage.end()
    }

    @Test func higherFoldersReplaceFilesOfTheSameName() async throws {
        let stage = try await Stage()
        let root = stage.permd.root
        for folder in ["usr/lib/permd/policy.d", "run/permd/policy.d"] {
            try FileManager.default.createDirectory(atPath: root.file(folder), withIntermediateDirectories: true)
        }
        try root.write(PolicyTests.rule("*", "camera", "restrict"), to: "usr/lib/permd/policy.d/a.conf")
        try root.write(PolicyTests.rule("*", "microphone", "restrict"), to: "run/permd/policy.d/a.conf")
        try root.write(PolicyTests.rule("*", "bluetooth", "restrict"), to: "usr/lib/permd/policy.d/b.conf")
        try root.write("", to: "etc/permd/policy.d/b.conf")
        try root.write(PolicyTests.rule("*", "location", "restrict"), to: "etc/permd/policy.d/c.conf.save")
        try await stage.permd.restart()
        let app = try await stage.app()
        #expect(
            try await app.ask("status camera,microphone,bluetooth,location")
                == "ok bluetooth=unavailable camera=undetermined location=undetermined microphone=restricted")
        await stage.end()
    }

    @Test func changesAreNoticed() async throws {
        let stage = try await Stage()
        let agent = try await stage.agent()
        let app = try await stage.app()
        try await app.request("t", [.camera])
        try await agent.prompts.wait(for: 1)
        try stage.permd.root.write(PolicyTests.rule("*", "camera", "restrict"), to: "etc/permd/policy.d/new.conf")
        // The open prompt is withdrawn.
        #expect(try await app.response("t") == "0 refused=camera statuses=camera=restricted")
        try await agent.withdrawals.wait(for: 1)
        try await app.events.first { $0 == "status camera restricted" }
        unlink(stage.permd.root.file("etc/permd/policy.d/new.conf"))
        try await app.events.first { $0 == "status camera undetermined" }
        await stage.end()
    }

    @Test func aFileWithAnErrorIsIgnoredEntirely() async throws {
        let stage = try await Stage(rules: [
            "bad.conf": PolicyTests.rule("*", "camera", "restrict")
                + PolicyTests.rule("*", "screen", "restrict", name: "second"),
            "good.conf": PolicyTests.rule("*", "microphone", "restrict"),
        ])
        let app = try await stage.app()
        #expect(try await app.ask("status camera,microphone") == "ok camera=undetermined microphone=restricted")
        let problem = try #require(try await stage.rows("ListProblems", nil).first { $0["about"] == .string("policy") })
        #expect(problem["file"]?.stringValue?.hasSuffix("/bad.conf") == true)
        #expect(problem["line"] == .uint32(7))
        #expect(problem["problem"]?.stringValue?.contains("screen") == true)
        #expect(stage.permd.log.all.contains { $0.contains("bad.conf:7:") })
        await stage.end()
    }

    /// They stay in force until the file is corrected, across restarts as well.
    @Test func restrictionsOfTheLastValidVersionStay() async throws {
        let good = PolicyTests.rule("*", "camera", "restrict") + PolicyTests.rule("*", "microphone", "grant", name: "g")
        let stage = try await Stage(rules: ["a.conf": good])
        let app = try await stage.app()
        #expect(try await app.ask("status camera,microphone") == "ok camera=restricted microphone=granted")
        try stage.permd.root.write("[Rule broken\nApps", to: "etc/permd/policy.d/a.conf")
        stage.permd.signal(SIGHUP)
        // Its grants are dropped.
        try await app.events.first { $0 == "status microphone undetermined" }
        #expect(try await app.status(.camera) == "ok camera=restricted")
        for signal in [SIGTERM, SIGKILL] {
            try await stage.permd.restart(signal)
            #expect(try await app.ask("status camera,microphone") == "ok camera=restricted microphone=undetermined")
        }
        // Once corrected, only the new version's rules apply.
        try stage.permd.root.write(PolicyTests.rule("*", "microphone", "restrict"), to: "etc/permd/policy.d/a.conf")
        try await app.events.first { $0 == "status microphone restricted" }
        try await app.events.first { $0 == "status camera undetermined" }
        await stage.end()
    }

    @Test func settingsAreReloaded() async throws {
        let stage = try await Stage(settings: "[Limits]\nWaitingPerApp=1\n")
        let agent = try await stage.agent()
        let app = try await stage.app()
        try await app.request("a", [.camera])
        #expect(try await app.request("b", [.microphone]).hasPrefix("LimitExceeded retryable"))
        try stage.permd.root.write("[Limits]\nWaitingPerApp=2\n", to: "etc/permd/permd.conf")
        try stage.permd.root.write(PolicyTests.rule("*", "location", "restrict"), to: "etc/permd/policy.d/a.conf")
        stage.permd.signal(SIGHUP)
        try await app.events.first { $0 == "status location restricted" }
        #expect(try await app.request("c", [.microphone]).hasPrefix("ok"))
        withExtendedLifetime(agent) {}
        await stage.end()
    }

    @Test(arguments: [
        "[Prompts]\nAgentWaitSec=soon\n", "[Prompts]\nNagLimit=0\n", "[Nonsense]\nA=1\n", "[Prompts]\nColour=1\n",
        "AgentWaitSec=10\n", "[Prompts\n",
    ])
    func settingsWithAnErrorAreIgnored(_ text: String) async throws {
        let stage = try await Stage(settings: text)
        let problem = try #require(
            try await stage.rows("ListProblems", nil).first { $0["about"] == .string("settings") })
        #expect(problem["file"]?.stringValue?.hasSuffix("/etc/permd/permd.conf") == true)
        #expect(problem["line"]?.uint32Value != nil)
        await stage.end()
    }
}
