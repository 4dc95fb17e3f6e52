// Joins the rooms: events go to the queue, its effects go out to the bus, the agents and the store.

import DBus
import Logging
import PermissionCore
import PermissionModel

@LoopActor
final class Broker {
    let connection: Connection
    let store: DecisionStore
    let rules: RuleBook
    let devices: DeviceCatalog
    let identifier: CallerIdentifier
    let requests: RequestObjects
    let portalAnswers: PortalAnswers
    private let dialogs: PortalDialogs
    lazy var portalDoor = PortalDoor(broker: self, dialogs: dialogs)
    let now: @Sendable () -> EpochSeconds
    let log: Logger
    private(set) var queue: Queue
    private let agents: AgentLink
    private let directory = AppDirectory()
    lazy var statuses = StatusBoard(connection: connection) { [unowned self] in status(of: $0, for: $1) }
    lazy var policyDoor = PolicyDoor(
        broker: self, subscribers: Subscribers(connection: connection, interface: BusNames.policy),
        listings: Listings { [unowned self] in identifier.cached($0) != nil })
    private lazy var devicesDoor = DevicesDoor(
        broker: self, subscribers: Subscribers(connection: connection, interface: BusNames.devices))
    private var timers: [TimerID: LoopTimer] = [:]
    /// Milliseconds until what could not be written is tried again: a disk is mended by a person.
    static let rewriteTime: Int64 = 300_000
    var rewriteTimer: LoopTimer?
    /// Apps with decisions that are not yet told to everybody.
    var changedApps: Set<AppID> = []
    /// Events that wait until the one before has had its effects.
    private var inbox: [QueueEvent] = []
    /// Requests under way, each with the state that was told last.
    private var under: [RequestID: (request: AccessRequest, told: RequestState?)] = [:]
    private var lastRequest: UInt64 = 0
    private var isFeeding = false
    private var isStopping = false
    private let isContinuing: Bool
    /// The connection is gone, and nothing more is done here.
    private(set) var isDetached = false

    /// - Parameter old: detached; what its queue knows of apps that ask too often goes on.
    init(
        connection: Connection, store: DecisionStore, rules: RuleBook, devices: DeviceCatalog,
        now: @escaping @Sendable () -> EpochSeconds, log: Logger, continuing old: Broker? = nil
    ) {
        self.connection = connection
        self.store = store
        self.rules = rules
        self.devices = devices
        self.now = now
        self.log = log
        identifier = CallerIdentifier(connection: connection, log: log, continuing: old?.identifier)
        requests = RequestObjects(connection: connection)
        portalAnswers = PortalAnswers(
            connection: connection, identifier: identifier, store: store, log: log)
        dialogs = PortalDialogs(connection: connection, answers: portalAnswers)
        agents = AgentLink(connection: connection)
        queue = old?.queue ?? Queue(settings: rules.settings)
        lastRequest = old?.lastRequest ?? 0
        isContinuing = old != nil
    }

    /// The interfaces of /org/permd.
    var interfaces: [Interface] {
        [
            AccessDoor(broker: self).interface, AgentDoor(broker: self).interface, policyDoor.interface,
            devicesDoor.interface,
        ]
    }

    /// Takes up what the rooms say from now on, and what earlier runs left.
    func start() {
        requests.onClose = { [weak self] in self?.feed(.closed($0)) }
        dialogs.onClose = { [weak self] in self?.feed(.closed($0)) }
        identifier.onLeft = { [weak self] in self?.left($0) }
        devices.start { [weak self] in self?.devicesChanged($0) }
        rules.saveLastGood = { [weak self] in self?.keepRules($0, $1) }
        rules.start { [weak self] in self?.rulesChanged() }
        store.onReadAgain = { [weak self] in self?.decisionsRead() }
        store.onWritableAgain = { [weak self] in self?.writeAgain() }
        restore()
        portalAnswers.broker = self
        portalAnswers.start()
    }

    private func restore() {
        feed(isContinuing ? .settingsChanged(rules.settings) : .nagRestored(store.listDismissals()))
        store.historyLimits = (rows: rules.settings.historyRows, days: rules.settings.historyDays)
        store.onChange = { [weak self] in self?.changed($0) }
        // No answer waits for it: what has ended is not in force, noticed or not.
        Loop.shared.post { [store] in store.lookForEnds() }
    }

    // MARK: Statuses

    /// The caller of a call that passed the gate; from now on it is told of its status.
    func caller(of call: MethodCall) throws(PermissionError) -> Caller {
        guard let caller = identifier.cached(call.sender) else {
            throw PermissionError(.accessDenied, "the caller has left the bus")
        }
        statuses.add(caller)
        return caller
    }

    func status(of permission: Permission, for caller: Caller) -> Status {
        PermissionCore.status(
            restricted: rules.isRestricted(caller.app, permission),
            decision: store.decision(caller.app, permission, for: caller.process)?.verdict,
            allowedByRule: rules.isGranted(caller.app, permission), isUsable: devices.isUsable(permission))
    }

    /// What is settled, whether there is a device or not.
    func standing(of permission: Permission, for caller: Caller) -> Status {
        PermissionCore.status(
            restricted: rules.isRestricted(caller.app, permission),
            decision: store.decision(caller.app, permission, for: caller.process)?.verdict,
            allowedByRule: rules.isGranted(caller.app, permission), isUsable: true)
    }

    // MARK: The queue

    func newRequestID() -> RequestID {
        lastRequest += 1
        return RequestID(lastRequest)
    }

    private func keeper(of id: RequestID) -> any RequestKeeper { dialogs.holds(id) ? dialogs : requests }

    /// Gives an event to the queue. Effects that lead to further events are seen in order, never nested.
    func feed(_ event: QueueEvent) {
        guard connection.isConnected || event == .disconnected else { return }
        inbox.append(event)
        guard !isFeeding else { return }
        isFeeding = true
        defer { isFeeding = false }
        while !inbox.isEmpty {
            let next = inbox.removeFirst()
            if case .requested(let request) = next { under[request.id] = (request, nil) }
            let moment = Moment(epoch: now(), uptime: Loop.uptimeMilliseconds())
            for effect in queue.handle(next, at: moment, in: Snapshot(broker: self)) { perform(effect) }
        }
    }

    private func perform(_ effect: QueueEffect) {
        switch effect {
        case .accept(let id): keeper(of: id).accept(id)
        case .refuse(let id, let error):
            under[id] = nil
            keeper(of: id).refuse(id, error)
        case .respond(let id, let reply):
            keeper(of: id).respond(id, reply, isStopping: isStopping)
            if let (request, told) = under[id], told != nil { note("is answered: \(reply.words)", of: request) }
            tellEnd(of: id, reply.code.word)
        case .forget(let id):
            keeper(of: id).forget(id)
            tellEnd(of: id, Outcome.withdrawn.rawValue)
        case .showPrompt(let agent, let prompt): show(prompt, to: agent)
        case .withdrawPrompt(let agent, let id, let why): agents.withdraw(id, from: agent, why: why)
        case .dropPrompt(let id): agents.drop(id)
        case .unregisterAgent(let agent):
            log.warning(
                "The agent \(agent.path) of \(agent.connection) failed \(Limits.agentFailures) prompts in a row and is not asked any more"
            )
        case .startAgentService: startAgentService()
        case .commit(let id, let decisions, let rows): commit(id, decisions, rows)
        case .record(let rows): record(rows)
        case .saveNag(let record): saveNag(record)
        case .moved(let id, let state, let position):
            keeper(of: id).moved(id, state, position)
            tell(id, state)
        case .lengthChanged(let length): policyDoor.tellLength(length)
        case .startTimer(let id, let milliseconds):
            timers[id]?.cancel()
            timers[id] = Loop.shared.after(milliseconds: milliseconds) { [weak self] in
                self?.timers[id] = nil
                self?.feed(.timerFired(id))
            }
        case .stopTimer(let id): timers.removeValue(forKey: id)?.cancel()
        }
    }

    private func tell(_ id: RequestID, _ state: RequestState) {
        guard let (request, told) = under[id], told != state else { return }
        // What is answered at once is no news, however often it is asked.
        if told == nil {
            note("asks for \(request.permissions.map(\.rawValue).joined(separator: ", "))", of: request)
        }
        under[id]?.told = state
        policyDoor.tellRequest(request, state.rawValue)
    }

    private func tellEnd(of id: RequestID, _ word: String) {
        if let (request, _) = under.removeValue(forKey: id) { policyDoor.tellRequest(request, word) }
    }

    private func startAgentService() {
        let start = Message.busCall("StartServiceByName", [.string(BusNames.agentService), .uint32(0)])
        connection.call(start) { [log] result in
            if case .failure(let error) = result {
                log.info("No agent could be started: \(error.message)")
            }
        }
    }

    // MARK: Prompts

    private func show(_ prompt: Prompt, to agent: AgentID) {
        let app = prompt.request.caller.app
        note("gets its prompt, by the agent of \(agent.connection)", of: prompt.request)
        let details = PromptDetails.encoded(prompt, directory.entry(for: app)) {
            devices.defaultDevice($0)?.name ?? ""
        }
        agents.show(prompt, to: agent, details: details) { [weak self] result in
            switch result {
            case .answered(let answer): self?.feed(.agentAnswered(agent, prompt.id, answer))
            case .failed(let why):
                self?.log.warning(
                    "The agent of \(agent.connection) failed a prompt: \(why)", metadata: ["app": "\(app)"])
                self?.feed(.agentFailed(agent, prompt.id, why: why))
            case .left: self?.feed(.agentLeft(connection: agent.connection))
            }
        }
    }

    // MARK: What happens beside

    private func left(_ name: String) {
        requestsOwnerLeft(name)
        statuses.left(name)
        portalAnswers.left(name)
        policyDoor.subscribers.left(name)
        devicesDoor.subscribers.left(name)
    }

    private func requestsOwnerLeft(_ name: String) {
        feed(.callerLeft(name))
        feed(.agentLeft(connection: name))
    }

    private func devicesChanged(_ changes: [DeviceChange]) {
        for change in changes { devicesDoor.tell(change) }
        statuses.refresh(nil)
        feed(.worldChanged)
    }

    private func rulesChanged() {
        store.historyLimits = (rows: rules.settings.historyRows, days: rules.settings.historyDays)
        feed(.settingsChanged(rules.settings))
        lookAgain(at: nil)
    }

    private func keepRules(_ files: LastGoodFiles.Changes, _ then: @escaping @LoopActor (Bool) -> Void) {
        let changes: [Change] =
            files.texts.map { .saveRuleFile(path: $0.path, text: $0.text) }
            + files.removed.map { .removeRuleFile(path: $0) }
        store.commit(changes, history: []) { [weak self, log] result in
            if case .failure(let error) = result {
                log.error("A fallback copy of the policy files could not be saved: \(error)")
                self?.writeLater()
            }
            then((try? result.get()) != nil)
        }
    }

    private func saveNag(_ record: NagRecord) {
        store.commit([.saveDismissals(record)], history: []) { [log] result in
            if case .failure(let error) = result { log.error("The nag guard's count could not be written: \(error)") }
        }
    }

    /// A step of a request's way, for the journal.
    private func note(_ step: String, of request: AccessRequest) {
        let app = request.caller.app
        log.info("\(app) \(step)", metadata: ["request": "\(request.path)", "app": "\(app)"])
    }

    private func record(_ rows: [HistoryRow]) {
        // What repeats itself would fill the journal.
        log(store.record(rows))
    }

    func log(_ rows: [HistoryRow]) {
        for row in rows {
            log.info(
                "\(row.permission.rawValue) for \(row.app): \(row.outcome.rawValue)",
                metadata: [
                    "request": "\(row.request)", "app": "\(row.app)", "permission": "\(row.permission.rawValue)",
                    "outcome": "\(row.outcome.rawValue)",
                ])
        }
    }

    // MARK: The end

    /// The connection is gone: every request and agent with it. What the store still writes for this broker is not lost.
    func detach() {
        guard !isDetached else { return }
        feed(.disconnected)
        isDetached = true
        for timer in timers.values { timer.cancel() }
        timers = [:]
    }

    /// Answers every waiting request and writes everything; `completion` comes last.
    func stop(_ completion: @escaping @LoopActor () -> Void) {
        guard !isStopping else { return }
        // What is being written now is answered as what it is: the store answers in order.
        store.whenWritten { [weak self] in
            guard let self else { return completion() }
            isStopping = true
            feed(.shutdown)
            // Without the store there is no true answer.
            connection.methodHandler = { [connection] call in
                let error = PermissionError(.storeUnavailable, "permd is stopping; ask again when it is back")
                connection.reply(
                    to: call, error: error.kind.name, [.string(error.message), .bool(error.kind.isRetryable)])
            }
            store.close(then: completion)
        }
    }
}

/// The world as the queue sees it: decisions, rules and devices, read in place.
private struct Snapshot: World {
    let broker: Broker

    func status(of permission: Permission, for caller: Caller) -> Status {
        LoopActor.assumeIsolated { broker.status(of: permission, for: caller) }
    }
}

extension Reply {
    /// `camera=granted, microphone=denied`, or why there is no answer.
    fileprivate var words: String {
        if case .failed(let error) = code { return error.message }
        return statuses.sorted { $0.key < $1.key }.map { "\($0.key.rawValue)=\($0.value.rawValue)" }
            .joined(separator: ", ")
    }
}

extension Reply.Code {
    /// As RequestChanged has it.
    fileprivate var word: String {
        switch self {
        case .answered: "answered"
        case .dismissed: "dismissed"
        case .failed: "failed"
        }
    }
}
