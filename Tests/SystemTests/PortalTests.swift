// permd as the backend of the real xdg-desktop-portal: unmodified portal apps in the one queue.

import DBus
import Foundation
import Glibc
import PermissionModel
import PermissionTestKit
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct PortalTests {
    private static let project = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// A stage with the portal, and apps in flatpaks' sandboxes.
    private func begin() async throws -> (Stage, DesktopPortal) {
        let stage = try await Stage()
        let portal = try await DesktopPortal(
            on: stage.permd, backends: PortalTests.project.appending(path: "portal").path,
            environment: ["XDG_CURRENT_DESKTOP": "permd"])
        return (stage, portal)
    }

    private func flatpak(_ id: String, _ folder: TemporaryFolder, on stage: Stage) async throws -> TestApp {
        try folder.write("[Application]\nname=\(id)\n\n[Instance]\ninstance-id=7\n", to: "info")
        let enter = PortalTests.project.appending(path: "scripts/as-flatpak").path
        let user = geteuid() == 0 ? [] : ["--map-root-user"]
        let command = ["unshare"] + user + ["--mount", enter, folder.path]
        return try await TestApp("inside", on: stage.permd, through: (command, AppID("flatpak:\(id)")!))
    }

    /// What the portals' store says of an app; empty for nothing.
    private func stored(_ stage: Stage, _ table: String, _ id: String, _ app: String) async -> [String] {
        let question = Message.call(
            destination: BusNames.portalStore, path: BusNames.portalStorePath, interface: BusNames.portalStore,
            member: "Lookup", [.string(table), .string(id)])
        guard let body = try? await stage.desk.call(question).body, case .dictionary(_, _, let entries) = body[0] else {
            return []
        }
        return entries.first { $0.key.stringValue == app }?.value.strings ?? []
    }

    @Test func twoAppsAtOnceAreAskedForOneAfterTheOther() async throws {
        let (stage, portal) = try await begin()
        let agent = try await stage.agent()
        let folders = [try TemporaryFolder(), try TemporaryFolder()]
        let first = try await flatpak("org.example.First", folders[0], on: stage)
        let second = try await flatpak("org.example.Second", folders[1], on: stage)
        #expect(try await first.ask("camera a").hasPrefix("ok"))
        #expect(try await second.ask("camera b").hasPrefix("ok"))
        let one = await agent.prompt(0)
        #expect(one.app == "flatpak:org.example.First")
        #expect(one.permissions == [.camera])
        #expect(one.items[0]["title"]?.stringValue?.isEmpty == false)
        #expect(agent.prompts.all.count == 1)
        agent.answer(one, with: .grant(.always))
        let two = await agent.prompt(1)
        #expect(two.app == "flatpak:org.example.Second")
        agent.answer(two, with: .deny(.always))
        #expect(try await first.response("a") == "0 ")
        #expect(try await second.response("b") == "1 ")
        #expect(
            try await stage.decisions()
                == ["flatpak:org.example.First camera grant always", "flatpak:org.example.Second camera deny always"])
        await first.end()
        await second.end()
        await portal.end()
        await stage.end()
    }
}
