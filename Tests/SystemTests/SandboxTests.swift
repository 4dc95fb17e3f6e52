// Apps in a Flatpak sandbox: each has its own identity, and the settings interfaces refuse their calls.

import DBus
import PermissionModel
import PermissionTestKit
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct SandboxTests {
    @Test(arguments: PrivateBus.Kind.allCases, FlatpakSandbox.Access.allCases)
    func sandboxedAppsHaveTheirOwnIdentity(_ kind: PrivateBus.Kind, _ access: FlatpakSandbox.Access) async throws {
        let stage = try await Stage(bus: try await PrivateBus(kind))
        let app = try await TestApp.flatpak("org.example.Call", on: stage.permd, access: access)
        let agent = try await stage.agent([.grant(.always)])
        try await app.request("t", [.camera])
        #expect(try await app.response("t") == "0 refused= statuses=camera=granted")
        let prompt = agent.prompts.all[0]
        #expect(prompt.app == "flatpak:org.example.Call")
        #expect(prompt.details["sandboxed"] == .bool(true))
        #expect(try await stage.decisions() == ["flatpak:org.example.Call camera grant always"])
        // The same program in another app's sandbox is that other app.
        let other = try await TestApp.flatpak("org.example.Other", on: stage.permd, access: access)
        #expect(try await other.status(.camera) == "ok camera=undetermined")
        await app.end()
        await other.end()
        await stage.end()
    }

    @Test(arguments: PrivateBus.Kind.allCases, FlatpakSandbox.Access.allCases)
    func settingsCallsAreRefused(_ kind: PrivateBus.Kind, _ access: FlatpakSandbox.Access) async throws {
        let stage = try await Stage(bus: try await PrivateBus(kind))
        let app = try await TestApp.flatpak("org.example.Nosy", on: stage.permd, access: access)
        let members: [(String, [String])] = [
            (BusNames.policy, ["ListRequests", "ListRestrictions", "ListProblems", "Subscribe", "Unsubscribe"]),
            (BusNames.agentManager, ["ListAgents"]), (BusNames.devices, ["Subscribe", "Unsubscribe"]),
            (BusNames.usage, ["ListUses", "Subscribe", "Unsubscribe"]),
            (BusNames.enforcement, ["ListPoints", "Subscribe", "Unsubscribe"]),
        ]
        for (interface, names) in members {
            for name in names {
                #expect(try await app.ask("call \(interface) \(name)").hasPrefix("AccessDenied final"), "\(name)")
            }
        }
        #expect(try await app.ask("get \(BusNames.policy) ProgramVersion").hasPrefix("AccessDenied final"))
        #expect(try await app.ask("get \(BusNames.policy) Switches").hasPrefix("AccessDenied final"))
        #expect(try await app.ask("get \(BusNames.access) Version") == "ok 1")
        await app.end()
        await stage.end()
    }

    @Test(arguments: [
        "", "no key file", "[Application]\nname=\n", "[Application]\nname=a/../b\n", "[Instance]\nname=a\n",
    ])
    func aSandboxWithoutAValidNameIsRefused(_ info: String) async throws {
        let stage = try await Stage()
        let nobody = try await TestApp.flatpak("nobody", on: stage.permd, info: info)
        #expect(try await nobody.status(.camera).hasPrefix("AccessDenied final"))
        await nobody.end()
        await stage.end()
    }
}
