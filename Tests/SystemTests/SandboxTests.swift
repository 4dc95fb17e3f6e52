// An app in a flatpak's sandbox: its identity is its own, and settings are not its business.

import DBus
import Foundation
import Glibc
import PermissionModel
import PermissionTestKit
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct SandboxTests {
    /// Runs a program at a root of its own, which has a /.flatpak-info as flatpak makes it.
    private nonisolated static let enter = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "scripts/as-flatpak").path

    private func flatpak(
        _ id: String, _ folder: TemporaryFolder, on stage: Stage, info: String? = nil
    ) async throws -> TestApp {
        try folder.write(info ?? "[Application]\nname=\(id)\n\n[Instance]\ninstance-id=7\n", to: "info")
        let user = geteuid() == 0 ? [] : ["--map-root-user"]
        let command = ["unshare"] + user + ["--mount", SandboxTests.enter, folder.path]
        return try await TestApp("inside", on: stage.permd, through: (command, AppID("flatpak:\(id)")!))
    }

    @Test func itsIdentityIsItsOwn() async throws {
        let stage = try await Stage()
        let folder = try TemporaryFolder()
        let app = try await flatpak("org.example.Call", folder, on: stage)
        let agent = try await stage.agent([.grant(.always)])
        try await app.request("t", [.camera])
        #expect(try await app.response("t") == "0 refused= statuses=camera=granted")
        let prompt = agent.prompts.all[0]
        #expect(prompt.app == "flatpak:org.example.Call")
        #expect(prompt.details["sandboxed"] == .bool(true))
        #expect(try await stage.decisions() == ["flatpak:org.example.Call camera grant always"])
        // Another sandboxed app with the same program is another app.
        let otherFolder = try TemporaryFolder()
        let other = try await flatpak("org.example.Other", otherFolder, on: stage)
        #expect(try await other.status(.camera) == "ok camera=undetermined")
        await app.end()
        await other.end()
        await stage.end()
    }

    @Test func settingsAndAgentsAreNotItsBusiness() async throws {
        let stage = try await Stage()
        let folder = try TemporaryFolder()
        let app = try await flatpak("org.example.Nosy", folder, on: stage)
        let members: [(String, [String])] = [
            (BusNames.policy, ["ListRequests", "ListRestrictions", "ListProblems", "Subscribe", "Unsubscribe"]),
            (BusNames.agentManager, ["ListAgents"]), (BusNames.devices, ["Subscribe", "Unsubscribe"]),
        ]
        for (interface, names) in members {
            for name in names {
                #expect(try await app.ask("call \(interface) \(name)").hasPrefix("AccessDenied final"), "\(name)")
            }
        }
        #expect(try await app.ask("get \(BusNames.policy) ProgramVersion").hasPrefix("AccessDenied final"))
        #expect(try await app.ask("get \(BusNames.access) Version") == "ok 1")
        await app.end()
        await stage.end()
    }

    @Test(arguments: [
        "", "no key file", "[Application]\nname=\n", "[Application]\nname=a/../b\n", "[Instance]\nname=a\n",
    ])
    func aSandboxWithoutAProperNameIsNobody(_ info: String) async throws {
        let stage = try await Stage()
        let folder = try TemporaryFolder()
        let nobody = try await flatpak("nobody", folder, on: stage, info: info)
        #expect(try await nobody.status(.camera).hasPrefix("AccessDenied final"))
        await nobody.end()
        await stage.end()
    }
}
