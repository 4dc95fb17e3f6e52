// While logind reports the session as locked or inactive, prompts wait; afterwards they are shown again.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct SeatActivityTests {
    private static let away = "the session is locked or in the background: prompts wait"
    private static let back = "the user's session is active and unlocked, or there is none: prompts are shown"

    private func heard(_ text: String, times: Int = 1, on stage: Stage) async throws {
        let log = stage.permd.log
        try await log.first("\(times) × \(text)") { _ in log.all.filter { $0.contains(text) }.count >= times }
    }

    @Test func aLockedSessionIsNotPrompted() async throws {
        let logind = try await FakeLogind()
        logind.add("1")
        let stage = try await Stage(environment: logind.environment)
        try await heard(SeatActivityTests.back, on: stage)
        let agent = try await stage.agent([.wait, .grant(.always)])
        let presence = EventLog<Bool>()
        agent.connection.onSignal(
            interface: StandardInterfaces.properties, member: "PropertiesChanged", addMatch: false
        ) { message in
            if let isThere = message.body[1].properties?["UserPresent"]?.boolValue { presence.add(isThere) }
        }
        let app = try await stage.app()
        try await app.request("a", [.camera])
        let first = try await agent.prompt(0)

        logind.change("1", isLocked: true)
        let withdrawal = try await agent.withdrawals.wait(for: 1)[0]
        #expect(withdrawal.path == first.path && withdrawal.why == "absent")
        #expect(try await presence.wait(for: 1) == [false])
        // A late answer is ignored.
        agent.answer(first, with: .deny(.always))
        try await app.events.first("the place in the queue") { $0.contains("State=queued") }
        try await app.request("b", [.microphone])
        #expect(agent.prompts.all.count == 1)
        #expect(try await stage.decisions().isEmpty)

        logind.change("1", isLocked: false)
        #expect(try await app.response("a") == "0 refused= statuses=camera=granted")
        #expect(try await agent.prompt(2).questions == [.microphone])
        #expect(try await presence.wait(for: 2) == [false, true])
        await stage.end()
        await logind.stop()
    }

    /// Losing the system bus connection does not bring prompts onto a locked screen, and ends no session. libdbus closes
    /// the connection here because it accepts no array above 64 MiB.
    @Test func aLostConnectionUnlocksNothing() async throws {
        let logind = try await FakeLogind(.broker)
        logind.add("1", isLocked: true)
        let stage = try await Stage(environment: logind.environment)
        let asker = try await logind.listings.wait(for: 1)[0]
        let agent = try await stage.agent([], otherwise: .grant(.always))
        let app = try await stage.app()
        try await app.request("a", [.camera])
        try await stage.set("deny", app.id, .microphone, ["duration": .string("session")])
        let address = logind.address
        try await RawBusClient.offLoop {
            let client = try RawBusClient(address)
            try client.send(
                .call(asker, "/", "org.example.A", "B", signature: "ay", body: RawMessage.zeros(65 << 20)))
            try client.settle()
        }
        let askers = try await logind.listings.wait(for: 2)
        #expect(askers[1] != asker)
        #expect(try await app.ask("properties a").contains("State=queued"))
        #expect(agent.prompts.all.isEmpty)
        #expect(try await stage.decisions() == ["\(app.id) microphone deny session"])
        logind.change("1", isLocked: false)
        #expect(try await app.response("a") == "0 refused= statuses=camera=granted")
        #expect(!stage.permd.log.all.contains { $0.contains("logind does not report") })
        await stage.end()
        await logind.stop()
    }

    /// Whoever restarts permd between two logins gains nothing, even if logind is slow to say that it is another login.
    @Test func nothingHoldsFromAnEarlierLogin() async throws {
        let logind = try await FakeLogind()
        logind.add("1")
        let stage = try await Stage(environment: logind.environment)
        try await heard(SeatActivityTests.back, on: stage)
        let app = try await stage.app()
        try await stage.set("grant", app.id, .camera, ["duration": .string("session")])
        await stage.permd.stop()
        logind.remove("1")
        logind.isSlow = true
        let (asked, before) = (logind.listings.all.count, stage.permd.log.all.count)
        async let start: Void = stage.permd.start()
        try await logind.listings.wait(for: asked + 1)
        async let status = app.status(.camera)
        logind.isSlow = false
        #expect(try await status == "ok camera=undetermined")
        try await start
        let log = stage.permd.log.all.dropFirst(before)
        let (known, served) = (
            log.firstIndex { $0.contains(SeatActivityTests.back) }, log.firstIndex { $0.contains("serves") }
        )
        #expect(try #require(known) < #require(served))
        #expect(try await stage.decisions().isEmpty)
        await stage.end()
        await logind.stop()
    }
}
