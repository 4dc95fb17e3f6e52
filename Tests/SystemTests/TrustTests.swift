// Which peers permd trusts: a proxy that relays other programs' calls is not a settings program, and the owner of the
// portal's or the portal store's name is identified first.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct TrustTests {
    /// Any sandboxed program may be behind an unsandboxed proxy.
    @Test(arguments: PrivateBus.Kind.allCases)
    func aProxyIsNobody(_ kind: PrivateBus.Kind) async throws {
        let stage = try await Stage(bus: try await PrivateBus(kind))
        let proxy = try await stage.app("xdg-dbus-proxy")
        let interfaces = [
            (BusNames.policy, "ListRequests"), (BusNames.agentManager, "ListAgents"), (BusNames.devices, "Subscribe"),
            (BusNames.usage, "ListUses"),
        ]
        for (interface, member) in interfaces {
            #expect(try await proxy.ask("call \(interface) \(member)").hasPrefix("AccessDenied final"), "\(interface)")
        }
        // Whose request it forwards is not known.
        #expect(try await proxy.request("t", [.camera]).hasPrefix("AccessDenied final"))
        await proxy.end()
        await stage.end()
    }

    private static let victim = "org.example.Victim"

    @Test(arguments: PrivateBus.Kind.allCases)
    func aSandboxedPortalStoreIsIgnored(_ kind: PrivateBus.Kind) async throws {
        let stage = try await Stage(bus: try await PrivateBus(kind))
        let decisions = try await stage.signals(BusNames.policy)
        let liar = try await TestApp.flatpak("org.example.Liar", on: stage.permd)
        #expect(try await liar.ask("be-store \(TrustTests.victim) yes") == "ok")
        try await stage.permd.log.first("that it is ignored") {
            $0.contains(BusNames.portalStore) && $0.contains("flatpak:org.example.Liar") && $0.contains("ignored")
        }
        await liar.end()
        // An unsandboxed store is trusted; nothing was taken from the sandboxed one.
        let store = try await stage.app("store")
        #expect(try await store.ask("be-store \(TrustTests.victim) no") == "ok")
        try await decisions.first("the decision") { $0.hasPrefix("DecisionChanged ") }
        #expect(try await stage.decisions() == ["flatpak:\(TrustTests.victim) camera deny always"])
        #expect(try await stage.history() == ["camera denied person"])
        await store.end()
        await stage.end()
    }

    @Test(arguments: PrivateBus.Kind.allCases)
    func aSandboxedPortalIsIgnored(_ kind: PrivateBus.Kind) async throws {
        let stage = try await Stage(bus: try await PrivateBus(kind))
        let agent = try await stage.agent(otherwise: .grant(.always))
        let liar = try await TestApp.flatpak("org.example.Liar", on: stage.permd)
        #expect(try await liar.ask("be-portal").hasPrefix("AccessDenied final"))
        try await stage.permd.log.first("that it is ignored") {
            $0.contains(BusNames.portal) && $0.contains("flatpak:org.example.Liar") && $0.contains("ignored")
        }
        #expect(agent.prompts.all.isEmpty)
        await liar.end()
        let portal = try await stage.app("portal")
        #expect(try await portal.ask("be-portal").hasPrefix("ok 0"))
        #expect(agent.prompts.all.count == 1)
        await portal.end()
        await stage.end()
    }
}
