// The load while permd is killed: settings programs decide and reset, apps request, agents answer.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit

@LoopActor
final class KillLoad {
    private let place: Bench
    private let watcher: Connection
    private let crowd: Crowd
    private let ledger: Ledger
    private let report: Report
    private var dice: Dice
    private var isOver = false
    /// Pending decisions, at most one per key.
    private var trying: [Ledger.Key: Ledger.State] = [:]
    /// Requests waiting for their Response.
    private var waiting: [String: CheckedContinuation<Message?, Never>] = [:]
    private var lastToken = 0

    private static let settingsPrograms = 5
    private static let permissions = ["camera", "microphone", "location"]

    init(
        _ place: Bench, _ watcher: Connection, _ crowd: Crowd, _ ledger: Ledger, _ report: Report, _ dice: Dice
    ) {
        self.place = place
        self.watcher = watcher
        self.crowd = crowd
        self.ledger = ledger
        self.report = report
        self.dice = dice
    }

    func run(killAfter milliseconds: Int) async {
        let tokens = [
            watcher.onSignal(interface: BusNames.policy, addMatch: false) { [self] in changed($0) },
            watcher.onSignal(interface: BusNames.request, member: "Response", addMatch: false) { [self] in
                guard let path = $0.path else { return }
                waiting.removeValue(forKey: path)?.resume(returning: $0)
            },
        ]
        _ = try? await watcher.call(Bench.message(BusNames.policy, "Subscribe"))
        _ = await crowd.register()
        var lives: [Task<Void, Never>] = []
        for number in 0..<KillLoad.settingsPrograms {
            let own = dice.fork()
            lives.append(Task { await settle(number, own) })
        }
        for permission in KillLoad.permissions { lives.append(Task { await ask(permission) }) }
        let own = dice.fork()
        lives.append(Task { await disturb(own) })
        await Bench.pause(milliseconds: milliseconds)
        await place.permd.stop(SIGKILL)
        // Once the bus reports that the name has no owner, it has delivered all of permd's messages.
        while await !isGone() { await Bench.pause(milliseconds: 1) }
        isOver = true
        for (_, continuation) in waiting { continuation.resume(returning: nil) }
        waiting = [:]
        for life in lives { await life.value }
        for token in tokens { token.cancel() }
    }

    /// Asked on the connection that receives the replies, so that this answer comes after all of them.
    private func isGone() async -> Bool {
        let owned = try? await watcher.call(.busCall("NameHasOwner", [.string(BusNames.service)]))
        return owned?.body.first?.boolValue != true
    }

    /// A signal is also an acknowledgement: the decision is on disk.
    private func changed(_ message: Message) {
        guard message.member == "DecisionChanged", message.body.count == 3, let app = message.body[0].stringValue,
            let permission = message.body[1].stringValue, let verdict = message.body[2].stringValue
        else { return }
        let key = Ledger.Key(app: app, permission: permission)
        // Each decision differs from the previous one, so a late signal cannot be mistaken for this one.
        guard let state = trying[key], state.prefix(while: { $0 != " " }) == verdict else { return }
        ledger.acknowledged(key, state)
        report.count("signals received")
    }

    /// A settings program, which makes one decision after another about its own apps.
    private func settle(_ number: Int, _ dice: Dice) async {
        var dice = dice
        var last: [Ledger.Key: String] = [:]
        while !isOver {
            let key = Ledger.Key(
                app: "exe:/usr/bin/app\(number)-\(dice.number(0...19))",
                permission: dice.pick(Permission.allCases.map(\.rawValue)))
            let verdict: String = dice.pick(["grant", "deny", ""].filter { $0 != last[key] })
            let duration = dice.pick(["always", "session", "until \(Crowd.farAway + UInt64(dice.number(1...999)))"])
            let state = verdict.isEmpty ? "" : "\(verdict) \(duration)"
            last[key] = verdict
            ledger.tries(key, state)
            trying[key] = state
            let error = await place.decide(key, state, on: watcher)
            trying[key] = nil
            guard let error else {
                ledger.acknowledged(key, state)
                report.count("decisions stored")
                continue
            }
            if !Bench.deaths.contains(error) { report.lose("SetDecision \(key): \(error)") }
            if error == BusError.Name.disconnected { return }
        }
    }

    /// An app in a loop: resets its decision, requests, and receives an answer.
    private func ask(_ permission: String) async {
        let key = Ledger.Key(app: Bench.own, permission: permission)
        while !isOver {
            ledger.tries(key, "")
            if let error = await place.decide(key, "", on: watcher) {
                if !Bench.deaths.contains(error) { report.lose("Reset \(key): \(error)") }
                continue
            }
            ledger.acknowledged(key, "")
            crowd.lastAnswer[permission] = nil
            guard let response = await request(permission), response.body.count == 2 else { continue }
            report.count("answers received")
            let status = response.body[1].properties?["statuses"]?.stringTable?[permission]
            let answer = crowd.lastAnswer[permission]
            switch (status, answer?.prefix(while: { $0 != " " })) {
            case ("granted", "grant"), ("denied", "deny"): ledger.acknowledged(key, answer ?? "")
            case ("undetermined", _), (nil, _): break
            default: report.lose("\(key) got \(status ?? "nothing"), but the user answered \(answer ?? "nothing")")
            }
        }
    }

    private func request(_ permission: String) async -> Message? {
        lastToken += 1
        let token = "t\(lastToken)"
        let path = BusNames.requestPath(owner: watcher.uniqueName, token: token)
        let message = Bench.message(
            BusNames.access, "RequestAccess",
            [.strings([permission]), .properties(["handle_token": .string(token)])])
        return await withCheckedContinuation { continuation in
            waiting[path] = continuation
            watcher.call(message) { [self] result in
                if case .failure = result { waiting.removeValue(forKey: path)?.resume(returning: nil) }
            }
        }
    }

    /// Checks the queue, and unregisters and registers agents.
    private func disturb(_ dice: Dice) async {
        var dice = dice
        while !isOver {
            await Bench.pause(milliseconds: dice.number(2...12))
            if dice.oneIn(3) { crowd.unregister(dice.number(0...1)) }
            if dice.oneIn(2), !isOver { _ = await crowd.registerAgain() }
            guard let rows = try? await place.rows("ListRequests") else { continue }
            let showing = rows.filter { $0["state"] == .string("showing") }.count
            if showing > 1 { report.lose("the queue shows \(showing) prompts at once") }
        }
    }
}
