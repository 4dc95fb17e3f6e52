// A well-behaved app, agent and settings program on a bus shared with attackers.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport

@LoopActor
final class HonestDesk {
    private let place: Bench
    private let report: Report
    private let kind: PrivateBus.Kind
    private let app: TestApp
    private let agent: ScriptedAgent
    private var answering: Task<Void, Never>?
    /// The number of requests made by the app.
    private(set) var served = 0
    /// The number of prompts handled.
    private var seen = 0
    /// How often permd has reconnected to the bus.
    private var returns = 0

    /// The time limit in milliseconds for a request of the app during attacks: the bus is equally loaded for all
    /// clients, and permd reconnects faster than this.
    private static let patience = 40_000
    /// A user's decision that must be kept throughout, in the history as well.
    private static let kept = Ledger.Key(app: "exe:/usr/bin/kept", permission: "microphone")

    init(_ place: Bench, _ report: Report, _ kind: PrivateBus.Kind) async throws {
        self.place = place
        self.report = report
        self.kind = kind
        app = try await TestApp("honest", on: place.permd)
        agent = ScriptedAgent(try place.permd.bus.connect())
        try await agent.register(level: .system)
        if let error = await place.decide(HonestDesk.kept, "deny always") { report.lose("SetDecision: \(error)") }
        agent.connection.onOwnerChange(of: BusNames.service) { [weak self] in if $0 != nil { self?.returned() } }
        answering = Task { [weak self] in
            while let self, !Task.isCancelled {
                // A timeout without prompts is not an error.
                guard let prompt = try? await agent.prompt(seen) else { continue }
                seen += 1
                answer(prompt)
            }
        }
    }

    /// Registers the agent again after permd has reconnected.
    private func returned() {
        returns += 1
        Task { try? await agent.register(level: .system) }
    }

    func end() async {
        answering?.cancel()
        agent.connection.close()
        await app.end()
    }

    // MARK: The user

    /// Grants requests of the well-behaved app and dismisses all others.
    private func answer(_ prompt: ScriptedAgent.Prompt) {
        check(prompt)
        agent.answer(prompt, with: prompt.app == app.id.description ? .grant(.once) : .dismiss)
    }

    private func check(_ prompt: ScriptedAgent.Prompt) {
        report.count("prompts")
        let known = [app.id.description, AttackerProcess.app, Bench.own]
        // Programs outside any sandbox may be enforcement points and ask for other apps.
        if !known.contains(prompt.app), !prompt.app.hasPrefix(Attacker.pointApp) {
            lose("a prompt names an unexpected app: \(prompt.app)")
        }
    }

    // MARK: The app

    /// Makes a new request and waits until the app gets the user's answer.
    func serve() async throws {
        let began = Loop.uptimeMilliseconds()
        var told = "nothing"
        while Loop.uptimeMilliseconds() - began < HonestDesk.patience {
            guard place.permd.isRunning else { throw TestKitError("permd exited") }
            served += 1
            _ = await place.decide(Ledger.Key(app: app.id.description, permission: ""), "")
            let asked = try await app.request("h\(served)", [.camera])
            guard asked.hasPrefix("ok") else {
                told = asked
                await Bench.pause(milliseconds: 20)
                continue
            }
            told = await response("h\(served)") ?? "nothing"
            if told == "0 refused= statuses=camera=granted" {
                let took = Int(Loop.uptimeMilliseconds() - began)
                report.count("honest answers")
                report.most("ms for the slowest", took)
                return
            }
        }
        throw TestKitError("the honest app got no grant within \(HonestDesk.patience) ms; its last answer: \(told)")
    }

    /// Returns nil if there is no response within a tenth of the patience, or if permd reconnected. The request is then
    /// repeated, as the client library does.
    private func response(_ token: String) async -> String? {
        let prefix = "response \(token) "
        let end = Loop.uptimeMilliseconds() + Int64(HonestDesk.patience / 10)
        let before = returns
        while Loop.uptimeMilliseconds() < end, returns == before, place.permd.isRunning {
            if let line = app.events.all.last(where: { $0.hasPrefix(prefix) }) {
                return String(line.dropFirst(prefix.count))
            }
            await Bench.pause(milliseconds: 2)
        }
        return nil
    }

    // MARK: Checks afterwards

    /// Checks that the user's decision still exists and that there are no unexpected ones.
    func check() async throws {
        for row in try await place.rows("ListDecisions") {
            guard let key = Ledger.key(row), let state = Ledger.state(row) else { continue }
            if key == HonestDesk.kept, state == "deny always" {
                report.count("decisions kept")
            } else if key.app != app.id.description {
                lose("unexpected decision “\(key) \(state)”")
            }
        }
        let history = try await place.rows("ListHistory")
        if !history.contains(where: { $0["app"]?.stringValue == HonestDesk.kept.app }) {
            lose("the user's decision was displaced from the history by \(history.count) rows")
        }
        report.count("rows of history", history.count)
        for _ in 0..<500 where try await !place.rows("ListRequests").isEmpty { await Bench.pause(milliseconds: 20) }
        let left = try await place.rows("ListRequests").count
        if left > 0 { lose("\(left) requests of disconnected programs are still in the queue") }
    }

    private func lose(_ what: String) { report.lose("\(kind.rawValue): \(what)") }
}
