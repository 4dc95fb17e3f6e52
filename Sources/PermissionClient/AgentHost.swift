// Registers an agent with the daemon, receives its prompts, and returns the answers of a presenter.

import DBus
public import PermissionModel

/// Shows prompts to the user, one at a time.
public protocol PromptPresenter: Sendable {
    /// Shows a prompt and returns the user's answer.
    ///
    /// There is no timeout on this side. If the prompt is withdrawn, the Task is cancelled: remove the prompt from the
    /// screen and return any answer, which is ignored. ``AgentPrompt/withdrawnWhy()`` then returns the reason. The next
    /// prompt is presented after this method has returned.
    func present(_ prompt: AgentPrompt) async -> AgentAnswer
}

/// Registers an agent with the daemon, and passes its prompts to a ``PromptPresenter``.
///
/// It implements org.permd.Agent1 on a bus connection of its own. Sandboxed programs cannot be agents.
///
/// ```swift
/// try await AgentHost(presenter: presenter).run()
/// ```
///
/// See <doc:WritingAnAgent>.
public final class AgentHost: Sendable {
    fileprivate let bus: PermissionBus
    fileprivate let level: AgentLevel
    fileprivate let presenter: any PromptPresenter
    fileprivate let ownsServiceName: Bool

    /// Creates an agent. It is registered by ``run(onEvent:)``.
    ///
    /// - Parameters:
    ///   - bus: The bus of the daemon.
    ///   - level: The agent with the highest level shows the prompts; within a level, the newest.
    ///   - presenter: Shows the prompts.
    ///   - ownsServiceName: Whether to request the name `org.permd.Agent`: true for a program that the bus starts by
    ///     this name when a prompt is due.
    public init(
        bus: PermissionBus = .session, level: AgentLevel = .standard, presenter: any PromptPresenter,
        ownsServiceName: Bool = false
    ) {
        self.ownsServiceName = ownsServiceName
        self.bus = bus
        self.level = level
        self.presenter = presenter
    }

    /// Registers the agent and serves prompts until the Task is cancelled.
    ///
    /// If the daemon restarts, it registers the agent again. When it returns, the agent has left the bus, and an open
    /// prompt goes to the next agent.
    ///
    /// - Parameter onEvent: Called when the agent is registered and when the daemon leaves the bus.
    /// - Throws: ``ClientError`` if the first registration fails.
    public func run(onEvent: @escaping @Sendable (AgentEvent) -> Void = { _ in }) async throws(ClientError) {
        let server = await AgentServer(self, onEvent)
        try await server.register()
        let (cancelled, source) = AsyncStream<Never>.makeStream()
        for await _ in cancelled {}
        source.finish()
        await server.leave()
    }
}

/// A change of an agent's registration.
public enum AgentEvent: Sendable, Hashable {
    /// The agent is registered; the daemon may send prompts.
    case registered
    /// The daemon has left the bus. The agent waits for the next one.
    case daemonLost
    /// A new daemon did not register the agent.
    case refused(ClientError)
}

private struct OpenPrompt {
    let link: PromptLink
    let task: Task<Void, Never>
}

@LoopActor
private final class AgentServer {
    /// The daemon shows one prompt at a time, but the next one may arrive before the last one has been removed.
    private static let maximumPrompts = 4

    private let link: BusLink
    private let host: AgentHost
    private let path = "/org/permd/agent/1"
    private let onEvent: @Sendable (AgentEvent) -> Void
    private var server: ObjectServer?
    /// By the paths of the prompts. Each daemon counts them from the start; those of one that leaves are withdrawn.
    private var open: [String: OpenPrompt] = [:]
    /// Ends when the presenter has returned from the last prompt.
    private var lastShown: Task<Void, Never>?
    private var listener: Subscription?

    init(_ host: AgentHost, _ onEvent: @escaping @Sendable (AgentEvent) -> Void) {
        // A connection of its own, which is closed when the agent ends.
        link = BusLink(host.bus, identifiesDaemon: true)
        self.host = host
        self.onEvent = onEvent
    }

    func register() async throws(ClientError) {
        if link.onConnect == nil {
            link.onConnect = { [weak self] in self?.serve($0) }
            listener = link.onDaemonChange { [weak self] in self?.daemonChanged($0) }
        }
        let before = changes
        do throws(ClientError) {
            _ = try await link.call(
                BusNames.agentManager, "RegisterAgent",
                [.objectPath(path), .properties(["level": .string(host.level.rawValue), "updates": .bool(true)])])
        } catch {
            if !isRegistered { link.close() }
            throw error
        }
        isRegistered = true
        onEvent(.registered)
        // The daemon that answered may have left since.
        if changes != before { daemonChanged(true) }
    }

    private var isRegistered = false
    /// How often the daemon has come or gone. An attempt to register is over at the next change.
    private var changes = 0

    private func daemonChanged(_ isThere: Bool) {
        changes += 1
        guard isRegistered else { return }
        guard isThere else {
            for path in Array(open.keys) { withdraw(path, .stopping) }
            return onEvent(.daemonLost)
        }
        let number = changes
        Task {
            do throws(ClientError) { try await register() } catch {
                onEvent(.refused(error))
                await link.retry(unless: { number != changes }) { () throws(ClientError) in try await register() }
            }
        }
    }

    /// Closes the connection, which unregisters the agent; an open prompt goes to the next agent. Returns when the
    /// presenter has returned.
    func leave() async {
        let tasks = open.values.map(\.task)
        changes += 1
        for path in Array(open.keys) { withdraw(path, .unregistered) }
        link.close()
        for task in tasks { await task.value }
    }

    // MARK: org.permd.Agent1

    private static let daemon = CallerClass(rawValue: "daemon")

    private func serve(_ connection: Connection) {
        // Another agent may own the name already; both can be registered.
        if host.ownsServiceName { connection.requestName(BusNames.agentService) { _ in } }
        let server = ObjectServer(connection: connection) { call, explanation in
            call.fail(name: ErrorKind.invalidArguments.name, body: [.string(explanation), .bool(false)])
        }
        server.authorize = { [weak self] call, _, proceed in
            // Only the daemon may show prompts to the user.
            guard let daemon = self?.link.believed, daemon == call.sender else {
                let error = ErrorKind.accessDenied
                return call.fail(name: error.name, body: [.string("only permd may call this"), .bool(false)])
            }
            proceed()
        }
        server.add(
            Interface(
                name: BusNames.agent,
                methods: [
                    Method(
                        name: "Prompt", inputs: ["prompt": "o", "details": "a{sv}"],
                        outputs: ["outcome": "s", "decisions": "a{sa{sv}}"],
                        callers: AgentServer.daemon
                    ) { [weak self] in self?.prompt($0) },
                    Method(
                        name: "Update", inputs: ["prompt": "o", "details": "a{sv}"], outputs: [:],
                        callers: AgentServer.daemon
                    ) { [weak self] call in
                        if let path = call.arguments[0].objectPathValue, let details = call.arguments[1].properties {
                            self?.open[path]?.link.update(details)
                        }
                        call.reply()
                    },
                    Method(
                        name: "Withdraw", inputs: ["prompt": "o", "why": "s"], outputs: [:],
                        callers: AgentServer.daemon
                    ) { [weak self] call in
                        if let path = call.arguments[0].objectPathValue {
                            let why = call.arguments[1].stringValue.flatMap(WithdrawalReason.init(rawValue:))
                            self?.withdraw(path, why ?? .closed)
                        }
                        call.reply()
                    },
                ]), at: path)
        self.server = server
    }

    private func prompt(_ call: MethodCall) {
        guard let path = call.arguments[0].objectPathValue, let details = call.arguments[1].properties else { return }
        guard open[path] == nil, open.count < AgentServer.maximumPrompts else {
            let text = open[path] == nil ? "\(open.count) prompts are open already" : "this prompt is open already"
            return call.fail(name: BusError.Name.limitsExceeded, body: [.string(text)])
        }
        let link = PromptLink()
        let prompt = AgentPrompt(id: path, details, link)
        let presenter = host.presenter
        let before = lastShown
        let task = Task {
            // A withdrawn prompt may take a moment to disappear.
            await before?.value
            guard open[path]?.link === link else { return }
            let answer = await AgentServer.present(prompt, by: presenter)
            // If the prompt was withdrawn or its daemon has left, another prompt may have the same path by now.
            guard open[path]?.link === link else { return }
            open[path] = nil
            link.end()
            AgentServer.reply(answer, to: call)
        }
        open[path] = OpenPrompt(link: link, task: task)
        lastShown = task
    }

    /// Runs outside the loop, because a presenter may block.
    private nonisolated static func present(
        _ prompt: AgentPrompt, by presenter: any PromptPresenter
    ) async -> AgentAnswer { await presenter.present(prompt) }

    private func withdraw(_ path: String, _ why: WithdrawalReason) {
        guard let prompt = open.removeValue(forKey: path) else { return }
        prompt.link.why = why
        prompt.link.end()
        prompt.task.cancel()
    }

    private static func reply(_ answer: AgentAnswer, to call: MethodCall) {
        switch answer {
        case .failed(let why):
            call.fail(name: BusError.Name.failed, body: [.string(why)])
        case .dismissed:
            call.reply(.string("dismissed"), .dictionary(key: "s", value: "a{sv}", []))
        case .answered(let decisions):
            let entries = decisions.sorted { $0.key < $1.key }.map { item, decision in
                var values: [String: Value] = [
                    "decision": .string(decision.verdict.rawValue),
                    "duration": .string(decision.duration.kind.rawValue),
                ]
                if let end = decision.duration.end { values["until"] = .uint64(UInt64(clamping: end)) }
                if !decision.choices.isEmpty { values["choices"] = .stringTable(decision.choices) }
                return DictionaryEntry(.string(item.name), .properties(values))
            }
            call.reply(.string("answered"), .dictionary(key: "s", value: "a{sv}", entries))
        }
    }
}
