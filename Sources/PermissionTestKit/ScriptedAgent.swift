// An agent that answers from a script, including in ways that violate the contract.

public import DBus
public import PermissionModel

/// Replaces the user and their desktop: gets the prompts, and answers them at once.
///
/// ```swift
/// let agent = try await ScriptedAgent(on: permd.bus, [.grant(.once), .deny(.always)], otherwise: .dismiss)
/// ```
///
/// The agent is registered until the bus ends.
@LoopActor
public final class ScriptedAgent {
    /// What the agent does with a prompt.
    public struct Reply: Sendable {
        package indirect enum Kind: Sendable {
            case decisions(@Sendable ([PromptItem]) -> [PromptItem: ItemDecision])
            case dismiss
            case values([Value])
            case error(String)
            case after(milliseconds: Int64, Reply)
            case wait
            case die
            case unregister
        }

        package let kind: Kind

        /// Allows all that is asked.
        public static func grant(_ duration: Duration) -> Reply {
            .all(ItemDecision(verdict: .grant, duration: duration))
        }

        /// Refuses all that is asked.
        public static func deny(_ duration: Duration) -> Reply {
            .all(ItemDecision(verdict: .deny, duration: duration))
        }

        /// One answer per question, of which some may be missing.
        public static func decisions(_ decisions: [PromptItem: ItemDecision]) -> Reply {
            Reply(kind: .decisions { _ in decisions })
        }

        /// Answers "not now".
        public static let dismiss = Reply(kind: .dismiss)

        /// Gives no answer until ``ScriptedAgent/answer(_:with:)`` is called.
        public static let wait = Reply(kind: .wait)

        /// Any values, whether they have the type `sa{sa{sv}}` or not.
        package static func values(_ values: [Value]) -> Reply { Reply(kind: .values(values)) }

        package static func error(_ name: String) -> Reply { Reply(kind: .error(name)) }

        /// Answers after a delay.
        package static func after(milliseconds: Int64, _ reply: Reply) -> Reply {
            Reply(kind: .after(milliseconds: milliseconds, reply))
        }

        /// Disconnects from the bus.
        package static let die = Reply(kind: .die)

        package static let unregister = Reply(kind: .unregister)

        private static func all(_ decision: ItemDecision) -> Reply {
            Reply(kind: .decisions { questions in Dictionary(uniqueKeysWithValues: questions.map { ($0, decision) }) })
        }
    }

    /// What permd asks the user: one question or several at once.
    public struct Prompt: Sendable {
        package let path: String
        package let details: [String: Value]

        /// The identity of the app that asks, such as `exe:/usr/bin/app`.
        public var app: String { details["app"]?.stringValue ?? "" }

        /// What it asks for.
        public var questions: [PromptItem] {
            items.compactMap { $0["permission"]?.stringValue.flatMap(PromptItem.init(name:)) }
        }

        /// The reasons that the app gives, as permd shows them.
        public var reasons: [PromptItem: String] {
            Dictionary(uniqueKeysWithValues: zip(questions, items.map { $0["reason"]?.stringValue ?? "" }))
        }

        package var items: [[String: Value]] { details["items"]?.rows ?? [] }
    }

    package struct Withdrawal: Sendable, Hashable {
        package let path: String
        package let why: String
    }

    package static let defaultPath = "/org/permd/test/agent"

    /// All prompts, in order.
    public nonisolated let prompts = EventLog<Prompt>()
    package let withdrawals = EventLog<Withdrawal>()
    /// What changed behind the prompts, if it was registered for that.
    package let updates = EventLog<Prompt>()
    package let connection: Connection
    private let path: String
    private var script: [Reply]
    private let otherwise: Reply
    private let server: ObjectServer
    private var open: [String: (call: MethodCall, prompt: Prompt)] = [:]

    /// Connects to the bus and registers with the permd there, which sends prompts from now on.
    ///
    /// - Parameters:
    ///   - bus: That of a ``PermdProcess``.
    ///   - script: One answer per prompt, in order.
    ///   - otherwise: The answer to all later prompts.
    /// - Throws: ``TestKitError`` if there is no permd on the bus, or if it does not register the agent.
    public convenience init(
        on bus: PrivateBus, _ script: [Reply] = [], otherwise: Reply = .wait
    ) async throws(TestKitError) {
        do {
            self.init(try bus.connect(), script, otherwise: otherwise)
            try await register()
        } catch {
            throw TestKitError("the agent cannot be registered: \(error)")
        }
    }

    /// - Parameter connection: The agent's own connection, which serves nothing else.
    package init(
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

    package func register(level: AgentLevel? = nil, updates: Bool = false) async throws(BusError) {
        var options: [String: Value] = level.map { ["level": .string($0.rawValue)] } ?? [:]
        if updates { options["updates"] = .bool(true) }
        _ = try await connection.call(manager("RegisterAgent", [.objectPath(path), .properties(options)]))
    }

    package func unregister() async throws(BusError) {
        _ = try await connection.call(manager("UnregisterAgent", [.objectPath(path)]))
    }

    /// Answers a prompt that got the reply ``Reply/wait``. The answer to a withdrawn one has no effect.
    public func answer(_ prompt: Prompt, with reply: Reply) {
        guard let call = open[prompt.path]?.call else { return }
        perform(reply, prompt, call)
    }

    /// Waits for the prompt with that number, starting at 0.
    ///
    /// - Throws: ``TestKitError`` after 45 seconds.
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
        switch reply.kind {
        case .decisions(let decisions): call.reply(ScriptedAgent.values(decisions(prompt.questions)))
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

    /// The arguments of a reply as the contract specifies them.
    package static func values(_ decisions: [PromptItem: ItemDecision]) -> [Value] {
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
