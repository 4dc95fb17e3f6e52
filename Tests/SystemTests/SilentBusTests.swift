// A bus that hangs. Of the system: permd serves its callers meanwhile, and follows logind once the bus responds. Of the
// session: permd waits for it, but not with all else.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
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

    /// The state reported by logind counts as soon as the bus delivers it.
    @Test(arguments: SilentBus.Kind.allCases)
    func logindBecomesAvailableLater(_ silence: SilentBus.Kind) async throws {
        let silent = try SilentBus(silence)
        let stage = try await Stage(environment: ["DBUS_SYSTEM_BUS_ADDRESS": silent.address])
        try await stage.permd.log.first("that logind is missing") { $0.contains("logind does not report") }
        let logind = try await FakeLogind()
        logind.add("1", isLocked: true)
        try silent.give(to: logind.address)
        try await stage.permd.log.first("that it is locked") { $0.contains("is locked or in the background") }
        await stage.end()
        await logind.stop()
    }

    /// A session bus that was lost, and hangs when permd reconnects, does not keep permd from what others want of it.
    @Test func permdObeysSignalsWhileItReconnects() async throws {
        let place = try SilentBus(.silent)
        let (bus, silent) = (try await PrivateBus(), try SilentBus(.silent))
        try place.give(to: bus.address)
        let permd = try await PermdProcess(bus: bus, environment: ["DBUS_SESSION_BUS_ADDRESS": place.address])
        try place.give(to: silent.address)
        await bus.end()
        try await silent.waitForClient()
        #expect(await permd.stop() == .exited(0))
    }

    /// Making the system bus hang does not bring prompts onto a locked screen.
    @Test(arguments: SilentBus.Kind.allCases)
    func aBusThatBeginsToHangUnlocksNothing(_ silence: SilentBus.Kind) async throws {
        let place = try SilentBus(.silent)
        let (logind, silent) = (try await FakeLogind(), try SilentBus(silence))
        logind.add("1", isLocked: true)
        try place.give(to: logind.address)
        let stage = try await Stage(environment: ["DBUS_SYSTEM_BUS_ADDRESS": place.address])
        _ = try await logind.listings.wait(for: 1)
        let agent = try await stage.agent([], otherwise: .grant(.always))
        let app = try await stage.app()
        try await app.request("a", [.camera])
        try place.give(to: silent.address)
        await logind.stop()
        try await stage.permd.log.first("that it hangs") { $0.contains("what logind said last") }
        #expect(try await app.ask("properties a").contains("State=queued"))
        #expect(agent.prompts.all.isEmpty)

        let next = try await FakeLogind()
        next.add("1", isLocked: false)
        try silent.give(to: next.address)
        #expect(try await app.response("a") == "0 refused= statuses=camera=granted")
        #expect(!stage.permd.log.all.contains { $0.contains("logind does not report") })
        await stage.end()
        await next.stop()
        withExtendedLifetime(place) {}
    }
}
