// Apps and agents disconnect at every step of a prompt. Afterwards, permd must serve others as before.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit

@LoopActor
final class DyingFault {
    private let rounds: Int
    private let devices: MockDevices
    private let report = Report("dying apps and agents")
    private var dice: Dice

    /// The number of rounds before a new permd is used, because its log grows.
    private static let roundsPerPlace = 100
    private static let appSteps = ["asks", "asked", "shown", "answered", "closing"]
    private static let agentSteps = [
        "registering", "registered", "asked", "slow", "answering", "unregistering", "withdrawn",
    ]

    init(_ seed: UInt64, rounds: Int, _ devices: MockDevices) {
        dice = Dice(seed: seed)
        self.rounds = rounds
        self.devices = devices
    }

    func run() async -> Report {
        await report.play(rounds, perPlace: DyingFault.roundsPerPlace) { try await play($0) }
        for step in DyingFault.appSteps { report.expect("apps \(step)") }
        for step in DyingFault.agentSteps { report.expect("agents \(step)") }
        return report
    }

    private func play(_ count: Int) async throws {
        let place = try await Place(devices)
        let pid = place.permd.pid
        var before = 0
        for round in 1...count {
            await die(place)
            try await serve(place)
            if round == 10 || count < 10 { before = place.descriptors() }
            report.count("rounds")
        }
        if kill(pid, 0) != 0 || place.permd.pid != pid { report.lose("permd exited") }
        let after = place.descriptors()
        if after > before + 4 { report.lose("permd had \(before) descriptors open and now has \(after)") }
        await place.end()
    }

    private func die(_ place: Place) async {
        var lives: [Task<Void, Never>] = []
        for _ in 0..<dice.number(1...3) {
            let step = dice.pick(DyingFault.agentSteps)
            let own = dice.fork()
            report.count("agents \(step)")
            lives.append(Task { await reported { try await agent(place, step, own) } })
        }
        for _ in 0..<dice.number(1...4) {
            let step = dice.pick(DyingFault.appSteps)
            let own = dice.fork()
            report.count("apps \(step)")
            lives.append(Task { await reported { try await app(place, step, own) } })
        }
        for life in lives { await life.value }
    }

    private func reported(_ body: @LoopActor () async throws -> Void) async {
        do { try await body() } catch { report.lose("\(error)") }
    }

    private func agent(_ place: Place, _ step: String, _ dice: Dice) async throws {
        var dice = dice
        let connection = try place.permd.bus.connect()
        let reply: ScriptedAgent.Reply =
            switch step {
            case "asked": .die
            case "slow": .after(milliseconds: Int64(dice.number(1...8)), .die)
            case "answering": .grant(.once)
            case "unregistering": .unregister
            default: .wait
            }
        let agent = ScriptedAgent(connection, otherwise: reply)
        if step == "registering" {
            connection.send(
                Place.message(
                    BusNames.agentManager, "RegisterAgent",
                    [.objectPath(ScriptedAgent.defaultPath), .properties([:])]))
            connection.flush()
            return connection.close()
        }
        // The connection may already be closed if this agent disconnects when prompted.
        do throws(BusError) { try await agent.register(level: dice.pick(AgentLevel.allCases)) } catch {
            if !Place.deaths.contains(error.name) { report.lose("RegisterAgent: \(error)") }
        }
        await settled(dice.number(1...15)) {
            switch step {
            case "registered": true
            case "withdrawn": !agent.withdrawals.all.isEmpty
            default: !agent.prompts.all.isEmpty
            }
        }
        if step == "answering" { connection.flush() }
        connection.close()
    }

    private func app(_ place: Place, _ step: String, _ dice: Dice) async throws {
        var dice = dice
        let connection = try place.permd.bus.connect()
        var isShown = false
        var isAnswered = false
        connection.onSignal(interface: StandardInterfaces.properties, addMatch: false) { message in
            let state = message.body.count > 1 ? message.body[1].properties?["State"]?.stringValue : nil
            if state == "showing" { isShown = true }
        }
        connection.onSignal(interface: BusNames.request, member: "Response", addMatch: false) { _ in isAnswered = true }
        let permissions = Permission.allCases.filter { $0 != .bluetooth }.map(\.rawValue).shuffled(using: &dice)
        let message = Place.message(
            BusNames.access, "RequestAccess",
            [
                .strings(Array(permissions.prefix(dice.number(1...3)))),
                .properties(["handle_token": .string("t"), "hold": .uint32(dice.oneIn(4) ? 15 : 0)]),
            ])
        if step == "asks" {
            connection.send(message)
            connection.flush()
            return connection.close()
        }
        let path = try await connection.call(message).body.first?.objectPathValue ?? ""
        switch step {
        case "shown": await settled(dice.number(1...15)) { isShown || isAnswered }
        case "answered": await settled(20) { isAnswered }
        case "closing":
            connection.send(Place.message(BusNames.request, "Close", path: path))
            connection.flush()
        default: await Place.pause(milliseconds: dice.number(1...5))
        }
        connection.close()
    }

    /// Waits until it has happened, or until the timeout, as it may never happen.
    private func settled(_ milliseconds: Int, _ happened: () -> Bool) async {
        for _ in 0..<milliseconds where !happened() { await Place.pause(milliseconds: 1) }
    }

    /// Checks that a well-behaved app and agent are served afterwards: one prompt, its answer, and an empty queue.
    private func serve(_ place: Place) async throws {
        if let error = await place.decide(Ledger.Key(app: "", permission: ""), "") { report.lose("Reset: \(error)") }
        let app = try place.permd.bus.connect()
        let agent = ScriptedAgent(try place.permd.bus.connect(), otherwise: .deny(.once))
        try await agent.register(level: .system)
        let responses = EventLog<Message>()
        app.onSignal(interface: BusNames.request, member: "Response", addMatch: false) { responses.add($0) }
        _ = try await app.call(
            Place.message(BusNames.access, "RequestAccess", [.strings(["location"]), .properties([:])]))
        let response = try await responses.wait(for: 1)[0]
        let status = response.body.last?.properties?["statuses"]?.stringTable?["location"]
        if status != "denied" { report.lose("the user refused; the app got \(response.body)") }
        report.count("answers afterwards")
        var queued = try await place.rows("ListRequests").count
        for _ in 0..<500 where queued > 0 {
            await Place.pause(milliseconds: 10)
            queued = try await place.rows("ListRequests").count
        }
        if queued > 0 { report.lose("\(queued) requests of disconnected apps are in the queue") }
        app.close()
        agent.connection.close()
    }
}
