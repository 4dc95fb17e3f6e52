// Calls agents, org.permd.Agent1: sends prompts, receives their answers, and withdraws prompts.

import DBus
import PermissionCore
import PermissionModel
import ProcessIdentity
import System

@LoopActor
final class AgentLink {
    /// The outcome of a prompt at an agent.
    enum Result: Sendable {
        case answered(PromptAnswer)
        /// The agent returned an error or an invalid answer, which is ignored as a whole.
        case failed(String)
        /// The agent has left the bus.
        case left

        /// The answer about an app that stands for any program holds for its process only.
        func limited(for caller: Caller) -> Result {
            guard case .answered(.answered(let decisions)) = self, caller.standsForAny else { return self }
            return .answered(
                .answered(
                    decisions.mapValues {
                        ItemDecision(verdict: $0.verdict, duration: .once, choices: $0.choices)
                    }))
        }
    }

    private let connection: Connection
    private let worker: Worker
    private struct OpenPrompt {
        let agent: AgentID
        let prompt: Prompt
        let deviceName: @LoopActor (Permission) -> String
        /// Nil while the names in it are being read.
        var call: PendingCall?
        var isUpdating = false
        /// The newest update, which waits until the agent has taken the one before.
        var update: RequestsBehind?
    }

    private var open: [PromptID: OpenPrompt] = [:]

    /// Milliseconds within which an agent with an open prompt has to answer a ping, and after which the next one comes.
    private let patience: Int64

    init(connection: Connection, worker: Worker, patience: Int64 = 10_000) {
        self.connection = connection
        self.worker = worker
        self.patience = patience
    }

    /// Sends a prompt. Calls `completion` once, unless the prompt is withdrawn first. The call has no timeout.
    ///
    /// - Parameter users: The apps that use a device now which one app at a time can use.
    func show(
        _ prompt: Prompt, to agent: AgentID, users: [Permission: AppID] = [:],
        deviceName: @escaping @LoopActor (Permission) -> String,
        _ completion: @escaping @LoopActor (Result) -> Void
    ) {
        open[prompt.id] = OpenPrompt(agent: agent, prompt: prompt, deviceName: deviceName)
        let apps = Set(prompt.behind.apps + [prompt.request.caller.app] + users.values)
        let caller = prompt.request.caller
        AppDirectory.entries(of: apps, by: worker) {
            AppIdentity().desktopEntry(ofUnitOf: caller.process).flatMap {
                AppDirectory.name(ofStarter: $0, of: caller.app)
            }
        } _: { [weak self] entries, starter in
            // Otherwise it was withdrawn meanwhile.
            guard let self, open[prompt.id]?.agent == agent else { return }
            let message = Message.call(
                destination: agent.connection, path: agent.path, interface: BusNames.agent, member: "Prompt",
                [
                    .objectPath(AgentLink.path(of: prompt.id)),
                    .properties(
                        PromptDetails.encoded(
                            prompt, entries, starter: starter ?? "", users: users, deviceName: deviceName)),
                ])
            open[prompt.id]?.call = connection.call(message, timeoutMilliseconds: nil) { [weak self] reply in
                self?.open[prompt.id] = nil
                completion(AgentLink.read(reply).limited(for: caller))
            }
            sendUpdate(prompt.id)
            ping(prompt.id, completion)
        }
    }

    /// An agent that hangs would keep the screen's only prompt until that runs out. One whose person takes long answers pings.
    private func ping(_ id: PromptID, _ completion: @escaping @LoopActor (Result) -> Void) {
        guard let agent = open[id]?.agent else { return }
        let ping = Message.call(
            destination: agent.connection, path: agent.path, interface: StandardInterfaces.peer, member: "Ping")
        connection.call(ping, timeoutMilliseconds: Int32(patience)) { [weak self] reply in
            guard let self, open[id]?.agent == agent else { return }
            if case .failure(let error) = reply, error.name == BusError.Name.noReply {
                withdraw(id, from: agent, why: .unregistered)
                return completion(.failed("it does not answer"))
            }
            Loop.shared.after(milliseconds: patience) { [weak self] in self?.ping(id, completion) }
        }
    }

    /// Tells what has changed in the details of an open prompt. An agent that is slow gets the newest update only.
    func update(_ id: PromptID, _ behind: RequestsBehind) {
        open[id]?.update = behind
        sendUpdate(id)
    }

    private func sendUpdate(_ id: PromptID) {
        guard let prompt = open[id], prompt.call != nil, !prompt.isUpdating, let behind = prompt.update else { return }
        open[id]?.update = nil
        open[id]?.isUpdating = true
        AppDirectory.entries(of: Set(behind.apps), by: worker) { [weak self] entries in
            guard let self, open[id]?.agent == prompt.agent else { return }
            let message = Message.call(
                destination: prompt.agent.connection, path: prompt.agent.path, interface: BusNames.agent,
                member: "Update",
                [
                    .objectPath(AgentLink.path(of: id)),
                    .properties(
                        PromptDetails.encoded(behind, entries).merging(
                            PromptDetails.devices(of: prompt.prompt, prompt.deviceName)
                        ) { $1 }),
                ])
            // With the usual timeout: calls that an agent never answers must not pile up, prompt by prompt.
            connection.call(message) { [weak self] _ in
                self?.open[id]?.isUpdating = false
                self?.sendUpdate(id)
            }
        }
    }

    /// Withdraws the prompt. An answer that the agent still sends is ignored.
    func withdraw(_ id: PromptID, from agent: AgentID, why: WithdrawalReason) {
        open.removeValue(forKey: id)?.call?.cancel()
        connection.send(
            .call(
                destination: agent.connection, path: agent.path, interface: BusNames.agent, member: "Withdraw",
                [.objectPath(AgentLink.path(of: id)), .string(why.rawValue)], noReply: true, noAutoStart: true))
    }

    /// Ignores further answers to a prompt of an agent that has left the bus.
    func drop(_ id: PromptID) { open.removeValue(forKey: id)?.call?.cancel() }

    static func path(of id: PromptID) -> String { "\(BusNames.root)/prompt/\(id.number)" }

    // MARK: Reading an answer

    private static let gone: Set<String> = [
        BusError.Name.noReply, BusError.Name.disconnected, BusError.Name.serviceUnknown, BusError.Name.nameHasNoOwner,
    ]

    private static func read(_ reply: Swift.Result<Message, BusError>) -> Result {
        switch reply {
        case .failure(let error) where gone.contains(error.name): return .left
        case .failure(let error): return .failed("it returned the error \(error.name): \(error.message)")
        case .success(let message): return read(message)
        }
    }

    static func read(_ message: Message) -> Result {
        guard message.signature == "sa{sa{sv}}", message.body.count == 2, let outcome = message.body[0].stringValue
        else { return .failed("its answer has the type “\(message.signature)” instead of sa{sa{sv}}") }
        switch outcome {
        case "dismissed": return .answered(.dismissed)
        case "answered": break
        default: return .failed("its outcome is \(quoted(outcome)) instead of answered or dismissed")
        }
        guard case .dictionary(_, _, let entries) = message.body[1] else {
            return .failed("its decisions are not an a{sa{sv}}")
        }
        var decisions: [PromptItem: ItemDecision] = [:]
        for entry in entries {
            // Unknown items are ignored, like all others that were not in the prompt.
            guard let name = entry.key.stringValue, let item = PromptItem(name: name) else { continue }
            guard let fields = entry.value.properties, let decision = readItem(fields) else {
                return .failed("its decision for \(name) is invalid")
            }
            decisions[item] = decision
        }
        return .answered(.answered(decisions))
    }

    private static func readItem(_ fields: [String: Value]) -> ItemDecision? {
        guard let verdict = fields["decision"]?.stringValue.flatMap(Verdict.init(rawValue:)),
            let word = fields["duration"]?.stringValue.flatMap(Duration.Kind.init(rawValue:)),
            let duration = Duration(word, until: fields["until"]?.uint64Value.map { EpochSeconds(clamping: $0) })
        else { return nil }
        guard let choices = fields["choices"] else { return ItemDecision(verdict: verdict, duration: duration) }
        guard let chosen = choices.stringTable else { return nil }
        return ItemDecision(verdict: verdict, duration: duration, choices: chosen)
    }
}
