// Two agents on one connection, so that permd's messages to both arrive in one order. Checks that at most one prompt is
// shown.

import DBus
import PermissionModel

@LoopActor
final class Crowd {
    let connection: Connection
    private let report: Report
    private let ledger: Ledger
    private var dice: Dice
    private let server: ObjectServer
    /// The prompts currently shown.
    private var open: Set<String> = []
    private static let paths = ["/crowd/one", "/crowd/two"]

    init(_ connection: Connection, _ report: Report, _ ledger: Ledger, _ dice: Dice) {
        self.connection = connection
        self.report = report
        self.ledger = ledger
        self.dice = dice
        server = ObjectServer(connection: connection) { call, text in
            call.fail(name: ErrorKind.invalidArguments.name, body: [.string(text), .bool(false)])
        }
        let interface = Interface(
            name: BusNames.agent,
            methods: [
                Method(
                    name: "Prompt", inputs: ["prompt": "o", "details": "a{sv}"],
                    outputs: ["outcome": "s", "decisions": "a{sa{sv}}"]
                ) { [weak self] in self?.asked($0) },
                Method(name: "Withdraw", inputs: ["prompt": "o", "why": "s"], outputs: [:]) {
                    [weak self] in self?.withdrawn($0)
                },
            ])
        for path in Crowd.paths { server.add(interface, at: path) }
    }

    /// Registers both agents, on two levels, with a new permd. Returns whether it accepted them.
    func register() async -> Bool {
        open = []
        return await registerAgain()
    }

    func registerAgain() async -> Bool {
        for (path, level) in zip(Crowd.paths, ["terminal", "desktop"]) {
            let message = Bench.message(
                BusNames.agentManager, "RegisterAgent", [.objectPath(path), .properties(["level": .string(level)])])
            do throws(BusError) { _ = try await connection.call(message) } catch { return false }
        }
        return true
    }

    func unregister(_ number: Int) {
        connection.send(
            Bench.message(BusNames.agentManager, "UnregisterAgent", [.objectPath(Crowd.paths[number])]))
    }

    /// To be called when permd has exited and all its prompts with it.
    func forget() { open = [] }

    private func asked(_ call: MethodCall) {
        guard let prompt = call.arguments[0].objectPathValue, let details = call.arguments[1].properties else { return }
        report.count("prompts")
        if !open.isEmpty { report.lose("\(prompt) is shown while \(open.sorted()) is on screen") }
        open.insert(prompt)
        // Answers at once or after a delay, while other things happen.
        if dice.oneIn(2) { return answer(call, prompt, details) }
        Loop.shared.after(milliseconds: Int64(dice.number(1...6))) { [self] in answer(call, prompt, details) }
    }

    private func answer(_ call: MethodCall, _ prompt: String, _ details: [String: Value]) {
        guard open.remove(prompt) != nil else { return }
        let items = details["items"]?.rows?.compactMap { $0["permission"]?.stringValue } ?? []
        let app = details["app"]?.stringValue ?? ""
        switch dice.number(0...9) {
        case 0: call.reply([.string("dismissed"), .dictionary(key: "s", value: "a{sv}", [])])
        case 1: call.fail(name: "org.permd.Error.Failed", body: [.string("a bad agent"), .bool(false)])
        case 2: call.reply([.string("nonsense"), .dictionary(key: "s", value: "a{sv}", [])])
        default:
            let verdict = dice.pick(["grant", "deny"])
            let duration = dice.pick(["once", "session", "until", "always"])
            var values: [String: Value] = ["decision": .string(verdict), "duration": .string(duration)]
            var state = "\(verdict) \(duration)"
            if duration == "until" {
                values["until"] = .uint64(Crowd.farAway)
                state += " \(Crowd.farAway)"
            }
            for item in items { ledger.tries(Ledger.Key(app: app, permission: item), state) }
            for item in items { lastAnswer[item] = state }
            call.reply([
                .string("answered"),
                .dictionary(
                    key: "s", value: "a{sv}", items.map { DictionaryEntry(.string($0), .properties(values)) }),
            ])
        }
    }

    /// The last answer about each permission.
    var lastAnswer: [String: Ledger.State] = [:]

    /// In the year 2033.
    static let farAway: UInt64 = 2_000_000_000

    private func withdrawn(_ call: MethodCall) {
        if let prompt = call.arguments[0].objectPathValue { open.remove(prompt) }
        call.reply()
    }
}
