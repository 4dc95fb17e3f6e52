// An agent: a program that shows the daemon's prompts. This part talks; a presenter shows.

import DBus
public import PermissionModel

/// Shows prompts to a person. One at a time, as the daemon promises.
public protocol PromptPresenter: Sendable {
    /// Shows a prompt until it is answered. When it is withdrawn the Task is cancelled: take it off the screen and
    /// return whatever; ``AgentPrompt/withdrawnWhy()`` says why.
    func present(_ prompt: AgentPrompt) async -> AgentAnswer
}

/// Registers a ``PromptPresenter`` with the daemon and hands it the prompts.
///
/// ```swift
/// try await AgentHost(level: .desktop, presenter: MyWindow()).run()
/// ```
public final class AgentHost: Sendable {
    private let bus: PermissionBus
    private let level: AgentLevel
    private let presenter: any PromptPresenter
    private let ownsServiceName: Bool

    /// - Parameters:
    ///   - level: the highest level present shows the prompts; within a level, the newest agent.
    ///   - ownsServiceName: for the agent that the bus starts by `org.permd.Agent`.
    public init(
        bus: PermissionBus = .session, level: AgentLevel = .standard, presenter: any PromptPresenter,
        ownsServiceName: Bool = false
    ) {
        self.ownsServiceName = ownsServiceName
        self.bus = bus
        self.level = level
        self.presenter = presenter
    }

    /// Serves until the Task is cancelled; registers anew with each new daemon.
    /// - Parameter onEvent: told of registering and of losing the daemon.
    /// - Throws: ``ClientError`` when the first registration fails.
    public func run(onEvent: @escaping @Sendable (AgentEvent) -> Void = { _ in }) async throws(ClientError) {
        let server = await AgentServer(bus, level, presenter, ownsServiceName, onEvent)
        try await server.register()
        await server.untilCancelled()
        await server.leave()
    }
}

/// What happens to an agent beside its prompts.
public enum AgentEvent: Sendable, Hashable {
    /// The daemon will send prompts.
    case registered
    /// The daemon has gone; its successor is waited for.
    case daemonLost
    /// A new daemon did not take us.
    case refused(ClientError)
}

/// Which prompt: paths start again with each daemon.
private struct PromptKey: Hashable {
    /// The daemon's unique name.
    let daemon: String
    let path: String
}

private struct OpenPrompt {
    let withdrawal: Withdrawal
    let task: Task<Void, Never>
}

@LoopActor
private final class AgentServer {
    /// A daemon shows one prompt at a time; a second one may come before the first one's withdrawal is through.
    private static let maximumPrompts = 4

    private let link: BusLink
    private let level: AgentLevel
    private let presenter: any PromptPresenter
    private let path = "/org/permd/agent/1"
    private let ownsServiceName: Bool
    private let onEvent: @Sendable (AgentEvent) -> Void
    private var server: ObjectServer?
    private var open: [PromptKey: OpenPrompt] = [:]
    /// Ends when the presenter is done with the prompt before.
    private var lastShown: Task<Void, Never>?
    private var listener: Subscription?
    private var cancelled: CheckedContinuation<Void, Never>?

    init(
        _ bus: PermissionBus, _ level: AgentLevel, _ presenter: any PromptPresenter, _ ownsServiceName: Bool,
        _ onEvent: @escaping @Sendable (AgentEvent) -> Void
    ) {
        // A connection of its own: an app that also shows prompts stays one app.
        link = BusLink(bus, identifiesDaemon: true)
        self.level = level
        self.presenter = presenter
        self.ownsServiceName = ownsServiceName
        self.onEvent = onEvent
    }

    func register() async throws(ClientError) {
        if link.onConnect == nil {
            link.onConnect = { [weak self] in self?.serve($0) }
            listener = link.onDaemonChange { [weak self] in self?.daemonChanged($0) }
        }
        do throws(ClientError) {
            _ = try await link.call(
                BusNames.agentManager, "RegisterAgent",
                [.objectPath(path), .properties(["level": .string(level.rawValue)])])
        } catch {
            if !isRegistered { link.close() }
            throw error
        }
        isRegistered = true
        onEvent(.registered)
    }

    private var isRegistered = false

    private func daemonChanged(_ isThere: Bool) {
        guard isRegistered else { return }
        guard isThere else {
            for key in Array(open.keys) { withdraw(key, "permd has gone") }
            return onEvent(.daemonLost)
        }
        Task {
            do throws(ClientError) { try await register() } catch { onEvent(.refused(error)) }
        }
    }

    func untilCancelled() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if Task.isCancelled { continuation.resume() } else { cancelled = continuation }
            }
        } onCancel: {
            Loop.shared.post { [self] in
                cancelled?.resume()
                cancelled = nil
            }
        }
    }

    /// Leaving the bus unregisters; the open prompt goes to the next agent. Returns when its presenter is done with it.
    func leave() async {
        let tasks = open.values.map(\.task)
        for key in Array(open.keys) { withdraw(key, "this agent is leaving") }
        link.close()
        for task in tasks { await task.value }
    }

    // MARK: org.permd.Agent1

    private static let daemon = CallerClass(rawValue: "daemon")

    private func serve(_ connection: Connection) {
        // Somebody else may have it already: then there are two agents, which harms nobody.
        if ownsServiceName { _ = try? connection.requestName(BusNames.agentService) }
        let server = ObjectServer(connection: connection) { call, explanation in
            call.fail(name: ErrorKind.invalidArguments.name, body: [.string(explanation), .bool(false)])
        }
        server.authorize = { [weak self] call, _, proceed in
            // Only the daemon may put something in front of a person.
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
                        name: "Prompt", inputs: [Argument("prompt", "o"), Argument("details", "a{sv}")],
                        outputs: [Argument("outcome", "s"), Argument("decisions", "a{sa{sv}}")],
                        callers: AgentServer.daemon
                    ) { [weak self] in self?.prompt($0) },
                    Method(
                        name: "Withdraw", inputs: [Argument("prompt", "o"), Argument("why", "s")], outputs: [],
                        callers: AgentServer.daemon
                    ) { [weak self] call in
                        if let path = call.arguments[0].objectPathValue {
                            let why = SafeText.title(call.arguments[1].stringValue ?? "")
                            self?.withdraw(PromptKey(daemon: call.sender, path: path), why)
                        }
                        call.reply()
                    },
                ]), at: path)
        self.server = server
    }

    private func prompt(_ call: MethodCall) {
        guard let path = call.arguments[0].objectPathValue, let details = call.arguments[1].properties else { return }
        let key = PromptKey(daemon: call.sender, path: path)
        guard open[key] == nil, open.count < AgentServer.maximumPrompts else {
            let text = open[key] == nil ? "\(open.count) prompts are open already" : "this prompt is open already"
            return call.fail(name: BusError.Name.limitsExceeded, body: [.string(text)])
        }
        let withdrawal = Withdrawal()
        let prompt = AgentPrompt(id: path, details, withdrawal)
        let presenter = presenter
        let before = lastShown
        let task = Task {
            // A withdrawn one may take a moment to leave the screen.
            await before?.value
            guard open[key]?.withdrawal === withdrawal else { return }
            let answer = await AgentServer.present(prompt, by: presenter)
            // Withdrawn meanwhile, or its daemon has gone: by now another prompt may have that path.
            guard open[key]?.withdrawal === withdrawal else { return }
            open[key] = nil
            AgentServer.reply(answer, to: call)
        }
        open[key] = OpenPrompt(withdrawal: withdrawal, task: task)
        lastShown = task
    }

    /// Off the loop: a presenter may block for a moment.
    private nonisolated static func present(
        _ prompt: AgentPrompt, by presenter: any PromptPresenter
    ) async -> AgentAnswer { await presenter.present(prompt) }

    private func withdraw(_ key: PromptKey, _ why: String) {
        guard let prompt = open.removeValue(forKey: key) else { return }
        prompt.withdrawal.why = why
        prompt.task.cancel()
    }

    private static func reply(_ answer: AgentAnswer, to call: MethodCall) {
        switch answer {
        case .failed(let why):
            call.fail(name: BusError.Name.failed, body: [.string(why)])
        case .dismissed:
            call.reply(.string("dismissed"), .dictionary(key: "s", value: "a{sv}", []))
        case .answered(let decisions):
            let entries = decisions.sorted { $0.key < $1.key }.map { question, decision in
                var values: [String: Value] = [
                    "decision": .string(decision.verdict.rawValue),
                    "duration": .string(decision.duration.word.rawValue),
                ]
                if let end = decision.duration.end { values["until"] = .uint64(UInt64(clamping: end)) }
                if !decision.choices.isEmpty { values["choices"] = .stringTable(decision.choices) }
                return DictionaryEntry(.string(question.name), .properties(values))
            }
            call.reply(.string("answered"), .dictionary(key: "s", value: "a{sv}", entries))
        }
    }
}
