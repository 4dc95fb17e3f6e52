// An agent that answers from a script, including in ways that violate the contract.

public import DBus
public import PermissionModel

/// Replaces the user and their desktop.
///
/// ```swift
/// let agent = ScriptedAgent(try bus.connect(), [.grant(.once), .deny(.always)], otherwise: .dismiss)
/// try await agent.register()
/// ```
@LoopActor
public final class ScriptedAgent {
    public indirect enum Reply: Sendable {
        case grant(Duration)
        case deny(Duration)
        /// One answer per permission, including ones not asked for.
        case decisions([Question: ItemDecision])
        case dismiss
        /// Any values, whether they have the type `sa{sa{sv}}` or not.
        case values([Value])
        case error(String)
        /// Answers after a delay.
        case after(milliseconds: Int64, Reply)
        /// Waits for ``ScriptedAgent/answer(_:with:)``.
        case wait
        /// Disconnects from the bus.
        case die
        case unregister
    }

    public struct Prompt: Sendable {
        public let path: String
        public let details: [String: Value]

        public var app: String { details["app"]?.stringValue ?? "" }
        public var items: [[String: Value]] { details["items"]?.rows ?? [] }
        public var questions: [Question] {
            items.compactMap { $0["permission"]?.stringValue.flatMap(Question.init(name:)) }
        }
    }

    public struct Withdrawal: Sendable, Hashable {
        public let path: String
        public let why: String
    }

    public static let defaultPath = "/org/permd/test/agent"

    /// All prompts, in order.
    public let prompts = EventLog<Prompt>()
    public let withdrawals = EventLog<Withdrawal>()
    /// What changed behind the prompts, if it was registered for that.
    public let updates = EventLog<Prompt>()
    public let connection: Connection
    private let path: String
    private var script: [Reply]
    private let otherwise: Reply
    private let server: ObjectServer
    private var open: [String: (call: MethodCall, prompt: Prompt)] = [:]

    /// - Parameters:
    ///   - connection: The agent's own connection, which serves nothing else.
    ///   - script: One answer per prompt, in order.
    ///   - otherwise: The answer to all later prompts.
    public init(
        _ connection: Connection, path: String = ScriptedAgent.defaultPath, _ script: [Reply] = [],
        otherwise: Reply = .wait
    ) {
        self.connection = connection
        self.path = path
        self.script = script
        self.otherwise = otherwise
        // The handlers keep this object alive as long as the connection.
        server = ObjectServer(connection: connection) { call, text in
            call.fail(name: ErrorKind.invalidArguments.name, body: [.string(text), .bool(false)])
        }
        server.add(
            Interface(
                name: BusNames.agent,
                methods: [
                    Method(
                        name: "Prompt", inputs: ["prompt": "o", "details": "a{sv}"],
                        outputs: ["outcome": "s", "decisions": "a{sa{sv}}"]
                    ) { [self] in asked($0) },
                    Method(
                        name: "Update", inputs: ["prompt": "o", "details": "a{sv}"], outputs: [:]
                    ) { [self] in updated($0) },
                    Method(
                        name: "Withdraw", inputs: ["prompt": "o", "why": "s"], outputs: [:]
                    ) { [self] in withdrawn($0) },
                ]), at: path)
    }

    public func register(level: AgentLevel? = nil, updates: Bool = false) async throws(BusError) {
        var options: [String: Value] = level.map { ["level": .string($0.rawValue)] } ?? [:]
        if updates { options["updates"] = .bool(true) }
        _ = try await connection.call(manager("RegisterAgent", [.objectPath(path), .properties(options)]))
    }

    public func unregister() async throws(BusError) {
        _ = try await connection.call(manager("UnregisterAgent", [.objectPath(path)]))
    }

    /// Answers a waiting prompt, or a withdrawn one, whose answer the daemon ignores.
    public func answer(_ prompt: Prompt, with reply: Reply) {
        guard let call = open[prompt.path]?.call else { return }
        perform(reply, prompt, call)
    }

    /// Waits for the prompt with that number, starting at 0.
    public func prompt(_ number: Int) async throws(TestKitError) -> Prompt {
        try await prompts.wait(for: number + 1)[number]
    }

    private func manager(_ member: String, _ body: [Value]) -> Message {
        .call(
            destination: BusNames.service, path: BusNames.root, interface: BusNames.agentManager, member: member, body)
    }

    private func asked(_ call: MethodCall) {
        guard let path = call.arguments[0].objectPathValue, let details = call.arguments[1].properties else { return }
        let prompt = Prompt(path: path, details: details)
        open[path] = (call, prompt)
        let reply = script.isEmpty ? otherwise : script.removeFirst()
        perform(reply, prompt, call)
        prompts.add(prompt)
    }

    private func updated(_ call: MethodCall) {
        call.reply()
        guard let path = call.arguments[0].objectPathValue, let details = call.arguments[1].properties else { return }
        updates.add(Prompt(path: path, details: details))
    }

    private func withdrawn(_ call: MethodCall) {
        call.reply()
        withdrawals.add(
            Withdrawal(path: call.arguments[0].objectPathValue ?? "", why: call.arguments[1].stringValue ?? ""))
    }

    private func perform(_ reply: Reply, _ prompt: Prompt, _ call: MethodCall) {
        switch reply {
        case .grant(let duration):
            call.reply(ScriptedAgent.answered(prompt.questions, ItemDecision(verdict: .grant, duration: duration)))
        case .deny(let duration):
            call.reply(ScriptedAgent.answered(prompt.questions, ItemDecision(verdict: .deny, duration: duration)))
        case .decisions(let decisions): call.reply(ScriptedAgent.values(decisions))
        case .dismiss: call.reply(.string("dismissed"), .dictionary(key: "s", value: "a{sv}", []))
        case .values(let values): call.reply(values)
        case .error(let name): call.fail(name: name, body: [.string("scripted")])
        case .after(let milliseconds, let reply):
            Loop.shared.after(milliseconds: milliseconds) { [self] in perform(reply, prompt, call) }
        case .wait: break
        case .die: connection.close()
        case .unregister: connection.send(manager("UnregisterAgent", [.objectPath(path)]))
        }
    }

    private static func answered(_ questions: [Question], _ decision: ItemDecision) -> [Value] {
        values(Dictionary(uniqueKeysWithValues: questions.map { ($0, decision) }))
    }

    /// The arguments of a reply as the contract specifies them.
    public static func values(_ decisions: [Question: ItemDecision]) -> [Value] {
        let entries = decisions.sorted { $0.key < $1.key }.map { question, decision in
            var values: [String: Value] = [
                "decision": .string(decision.verdict.rawValue), "duration": .string(decision.duration.kind.rawValue),
            ]
            if let end = decision.duration.end { values["until"] = .uint64(UInt64(clamping: end)) }
            return DictionaryEntry(.string(question.name), .properties(values))
        }
        return [.string("answered"), .dictionary(key: "s", value: "a{sv}", entries)]
    }
}
