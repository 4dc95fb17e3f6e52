// A system bus that hangs: permd serves meanwhile, and hears logind when the bus is back.

import DBus
import PermissionModel
import PermissionTestKit
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct SilentBusTests {
    @Test(arguments: PrivateBus.Kind.allCases, SilentBus.Kind.allCases)
    func permdServesMeanwhile(_ kind: PrivateBus.Kind, _ silence: SilentBus.Kind) async throws {
        let silent = try SilentBus(silence)
        let stage = try await Stage(
            bus: try await PrivateBus(kind), environment: ["DBUS_SYSTEM_BUS_ADDRESS": silent.address])
        let agent = try await stage.agent([], otherwise: .grant(.always))
        let app = try await stage.app()
        #expect(try await app.ask("status camera") == "ok camera=undetermined")
        try await app.request("a", [.camera])
        #expect(try await app.response("a") == "0 refused= statuses=camera=granted")
        #expect(agent.prompts.all.count == 1)
        await stage.end()
        withExtendedLifetime(silent) {}
    }

    /// What it could not tell at first counts as soon as it can.
    @Test(arguments: SilentBus.Kind.allCases)
    func logindIsHeardLater(_ silence: SilentBus.Kind) async throws {
        let silent = try SilentBus(silence)
        let stage = try await Stage(environment: ["DBUS_SYSTEM_BUS_ADDRESS": silent.address])
        try await stage.permd.log.first("nobody tells") { $0.contains("logind does not tell") }
        let logind = try await FakeLogind()
        logind.add("1", isLocked: true)
        try silent.give(to: logind.address)
        try await stage.permd.log.first("that it is locked") { $0.contains("the session is locked") }
        await stage.end()
        await logind.stop()
    }
}
