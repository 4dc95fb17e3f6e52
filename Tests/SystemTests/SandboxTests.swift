// Apps in a Flatpak sandbox: each has its own identity, and the settings interfaces refuse their calls.

import CLinux
import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport
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

    /// `once` is about the running instance: all of its processes, whichever way they ask, until its first process ends;
    /// another instance of the app asks for itself.
    @Test(arguments: FlatpakSandbox.Access.allCases)
    func onceIsForTheInstance(_ access: FlatpakSandbox.Access) async throws {
        let stage = try await Stage()
        let sandbox = try await FlatpakSandbox("org.example.Call", on: stage.permd.bus, access: access)
        let first = try await TestApp("first", on: stage.permd, through: sandbox)
        let second = try await TestApp("second", on: stage.permd, through: sandbox)
        let agent = try await stage.agent([.grant(.once)])
        try await second.request("t", [.microphone])
        #expect(try await second.response("t") == "0 refused= statuses=microphone=granted")
        #expect(try await first.status(.microphone) == "ok microphone=granted")
        // An enforcement point knows a process that is not the bus proxy.
        func enforced(_ app: TestApp) async throws -> String? {
            let pidfd = UnixFD(owning: clinux_pidfd_open(try await app.pid(), 0))
            return try await stage.call(
                BusNames.enforcement, "GetStatusFor", [.variant(.unixFD(pidfd)), .strings(["microphone"])]
            ).first?.stringTable?["microphone"]
        }
        for app in [first, second] { #expect(try await enforced(app) == "granted") }
        let other = try await TestApp.flatpak("org.example.Call", on: stage.permd, access: access)
        #expect(try await other.status(.microphone) == "ok microphone=undetermined")
        #expect(try await enforced(other) == "undetermined")
        await stage.permd.stop(SIGKILL)
        try await stage.permd.start()
        #expect(try await enforced(second) == "granted")
        #expect(agent.prompts.all.count == 1)
        if access == .direct {
            let changes = try await stage.signals(BusNames.policy)
            await first.end()
            try await changes.first { $0 == "DecisionChanged flatpak:org.example.Call microphone " }
            #expect(try await enforced(second) == "undetermined")
        }
        await other.end()
        await stage.end()
    }

    @Test(arguments: PrivateBus.Kind.allCases, FlatpakSandbox.Access.allCases)
    func settingsCallsAreRefused(_ kind: PrivateBus.Kind, _ access: FlatpakSandbox.Access) async throws {
        let stage = try await Stage(bus: try await PrivateBus(kind))
        let app = try await TestApp.flatpak("org.example.Nosy", on: stage.permd, access: access)
        let members: [(String, [String])] = [
            (
                BusNames.policy,
                [
                    "SetDecision", "Reset", "ListDecisions", "ListHistory", "ListStatuses", "ListRequests",
                    "ListRestrictions", "ListProblems", "Subscribe", "Unsubscribe",
                ]
            ), (BusNames.agentManager, ["RegisterAgent", "ListAgents"]),
            (BusNames.devices, ["ListDevices", "Subscribe", "Unsubscribe"]),
            (BusNames.usage, ["ListUses", "Subscribe", "Unsubscribe"]),
            (
                BusNames.enforcement,
                ["GetStatusFor", "GetAccessFor", "RequestAccessFor", "ListPoints", "Subscribe", "Unsubscribe"]
            ),
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
