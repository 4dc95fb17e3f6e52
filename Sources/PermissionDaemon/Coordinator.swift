// Connects the components: events go to the queue, and its effects to the bus, the agents and the store.

import DBus
import Logging
import PermissionCore
import PermissionModel
import ProcessIdentity
import System

@LoopActor
final class Coordinator {
    let connection: Connection
    let store: DecisionStore
    let policy: RuleSet
    let devices: DeviceCatalog
    let identifier: CallerIdentifier
    private let processes: ProcessIdentifier
    let facts: CurrentFacts
    let portalSync: PortalStoreSync
    /// Continues when the connection is lost: open nodes stay open.
    let usage: DeviceUsage
    /// Continues as well.
    let systemPoints: SystemPoints
    let now: @Sendable () -> EpochSeconds
    let log: Logger
    private(set) var queue: Queue
    private let agents: AgentLink
    private(set) lazy var agentStarter = AgentStarter(connection: connection, identifier: identifier, log: log)
    let statuses: StatusPublisher
    private(set) lazy var objects = RequestObjects(connection: connection, now: now, requests: self)
    private(set) lazy var portal = PortalInterface(
        identifier: identifier, sync: portalSync, now: now, requests: self)
    private(set) lazy var settingsInterface = SettingsInterface(
        calls: self, store: store, policy: policy, devices: devices,
        subscribers: Subscribers(connection: connection, interface: BusNames.policy),
        lists: ListQueue { [identifier] in identifier.cached($0)?.app }, worker: processes.worker)
    private lazy var devicesInterface = DevicesInterface(
        devices: devices, subscribers: Subscribers(connection: connection, interface: BusNames.devices))
    private(set) lazy var enforcement = EnforcementInterface(
        identifier: identifier, processes: processes, facts: facts, policy: policy,
        subscribers: Subscribers(connection: connection, interface: BusNames.enforcement), uses: usage,
        objects: objects, systemPoints: systemPoints, requests: self, onLastUse: { [store] in store.exited($1, of: $0) }
    )
    private lazy var usageInterface = UsageInterface(
        usage: usage, subscribers: Subscribers(connection: connection, interface: BusNames.usage),
        worker: processes.worker, policy: policy, guardCutsCameras: { [systemPoints] in systemPoints.cutsCameras })
    private(set) lazy var indicator = IndicatorService(connection: connection, log: log) { [policy] in
        policy.configuration.indicator == .yes
    }
    private lazy var unusedGrants = UnusedGrants(
        store: store, now: now, days: { [policy] in policy.configuration.unusedDays },
        isInUse: { [usage] app, permission in
            usage.uses.contains { $0.app == app && $0.device.permission == permission }
        },
        onEnd: { [weak self] in self?.tookBack($0) })
    private var timers: [TimerID: LoopTimer] = [:]
    /// Events that wait until the effects of earlier ones are complete.
    private var inbox: [QueueEvent] = []
    private var isFeeding = false
    private var isStopping = false
    private let isContinuing: Bool
    /// Whether the connection is lost. The coordinator does nothing more then.
    private(set) var isDetached = false

    /// - Parameter old: The detached coordinator of the lost connection, whose throttles and IDs are continued.
    init(
        connection: Connection, store: DecisionStore, policy: RuleSet, devices: DeviceCatalog,
        processes: ProcessIdentifier, systemPoints: SystemPoints, now: @escaping @Sendable () -> EpochSeconds,
        log: Logger,
        continuing old: Coordinator? = nil
    ) {
        self.connection = connection
        self.store = store
        self.policy = policy
        self.devices = devices
        self.processes = processes
        self.systemPoints = systemPoints
        self.now = now
        self.log = log
        let facts = CurrentFacts(store: store, policy: policy, devices: devices)
        self.facts = facts
        statuses = StatusPublisher(connection: connection) { facts.status(of: $0, for: $1) }
        identifier = CallerIdentifier(
            connection: connection, processes: processes, log: log, continuing: old?.identifier)
        portalSync = PortalStoreSync(
            connection: connection, identifier: identifier, store: store, facts: facts, log: log)
        usage =
            old?.usage
            ?? DeviceUsage(
                devices: devices, identifier: processes, now: now, log: log,
                statusOf: {
                    facts.status(of: $2, for: Caller(connection: "", app: $0, process: $1), assumesDevice: true)
                },
                record: { [store] in store.history.record($0) })
        agents = AgentLink(connection: connection, worker: processes.worker)
        queue = old?.queue ?? Queue(configuration: policy.configuration)
        isContinuing = old != nil
    }

    /// The interfaces of /org/permd.
    var interfaces: [Interface] {
        let access = AccessInterface(
            identifier: identifier, facts: facts, devices: devices, statuses: statuses, objects: objects,
            settings: SettingsOpening(connection: connection), requests: self)
        return [
            access.interface, AgentManagerInterface(requests: self).interface, settingsInterface.interface,
            devicesInterface.interface, enforcement.interface, usageInterface.interface,
        ]
    }

    /// Connects to the events of the components.
    ///
    /// - Parameter stored: What earlier runs have left.
    func start(_ stored: StoredState = StoredState()) {
        identifier.onDeparture = { [weak self] in self?.departed($0) }
        devices.onChange = { [weak self] in self?.devicesChanged($0) }
        usage.onChange = { [weak self] in self?.usesChanged($0) }
        usage.devicesChanged()
        policy.onChange = { [weak self] in self?.policyChanged() }
        indicator.changed(isInUse: !usage.uses.isEmpty)
        store.queue.onWritableAgain = { [weak self] in self?.writeAgain() }
        store.onChange = { [weak self] in self?.changed($0) }
        store.history.limits = (rows: policy.configuration.historyRows, days: policy.configuration.historyDays)
        portalSync.decisions = self
        policy.onValidTexts = { [store] in store.saveRuleFiles($0, then: $1) }
        feed(isContinuing ? .configurationChanged(policy.configuration) : .dismissalsRestored(stored.dismissals))
        portalSync.start(stored.portalVerdicts)
        usage.isAskedAbout = { [weak systemPoints] in systemPoints?.isAsking(about: $0, $1) ?? false }
        systemPoints.onSettled = { [weak usage] in usage?.reconsider() }
        systemPoints.serve(self, usage, on: connection)
        unusedGrants.start()
    }

    // MARK: The queue

    /// Passes an event to the queue. Further events that its effects cause are handled afterwards, in order.
    func feed(_ event: QueueEvent) {
        guard connection.isConnected || event.isDisconnection else { return }
        inbox.append(event)
        guard !isFeeding else { return }
        isFeeding = true
        defer { isFeeding = false }
        while !inbox.isEmpty {
            let next = inbox.removeFirst()
            let instant = Instant(epoch: now(), uptime: Loop.uptimeMilliseconds())
            let wasPresent = queue.isSeatActive
            for effect in queue.handle(next, at: instant, in: facts) { apply(effect) }
            if queue.isSeatActive != wasPresent { AgentManagerInterface(requests: self).announcePresence(connection) }
            // A request that failed for lack of an agent can be made again.
            if case .agentArrived = next { enforcement.notify(nil, nil) }
        }
    }

    private func apply(_ effect: QueueEffect) {
        switch effect {
        case .accept(let request): request.requester.accept()
        case .refuse(let request, let error): request.requester.refuse(error)
        case .respond(let request, let reply): respond(request, reply)
        case .forget(let request):
            request.requester.forget()
            settingsInterface.notifyRequest(request, Outcome.withdrawn.rawValue)
        case .showPrompt(let agent, let prompt): show(prompt, to: agent)
        case .updatePrompt(_, let id, let behind): agents.update(id, behind)
        case .withdrawPrompt(let agent, let id, let why): agents.withdraw(id, from: agent, why: why)
        case .dropPrompt(let id): agents.drop(id)
        case .unregisterAgent(let agent):
            log.warning(
                "The agent \(agent.path) of \(agent.connection) failed \(Limits.agentFailures) prompts in a row and was unregistered"
            )
        case .startAgentService: agentStarter.start { [weak self] in self?.feed(.agentNotStarted($0)) }
        case .commit(let request, let decisions, let rows): commit(request, decisions, rows)
        // Repeated rows, which the store combines, would fill the journal.
        case .record(let rows): log(store.history.record(rows))
        case .saveDismissals(let record): store.save(record)
        case .moved(let request, let old): moved(request, from: old)
        case .lengthChanged(let length): settingsInterface.notifyLength(length)
        case .startTimer(let id, let milliseconds):
            timers[id]?.cancel()
            timers[id] = Loop.shared.after(milliseconds: milliseconds) { [weak self] in
                self?.timers[id] = nil
                self?.feed(.timerFired(id))
            }
        case .stopTimer(let id): timers.removeValue(forKey: id)?.cancel()
        }
    }

    private func respond(_ request: Request, _ reply: Reply) {
        if request.place != nil { log("is answered: \(reply.text)", of: request) }
        settingsInterface.notifyRequest(request, reply.code.text)
        for (permission, status) in reply.statuses where status == .granted {
            store.noteUse(request.caller.app, permission)
        }
        request.requester.respond(reply)
    }

    private func moved(_ request: Request, from old: QueuePlace?) {
        guard let place = request.place else { return }
        request.requester.moved(from: old ?? QueuePlace(), to: place)
        // Requests that are answered at once never get here, so they cannot fill the journal.
        if old == nil { log("asks for \(request.items.map(\.name).joined(separator: ", "))", of: request) }
        if old?.state != place.state { settingsInterface.notifyRequest(request, place.state.rawValue) }
    }

    // MARK: Prompts

    private func show(_ prompt: Prompt, to agent: AgentID) {
        let app = prompt.request.caller.app
        log("gets its prompt from the agent of \(agent.connection)", of: prompt.request)
        let deviceName = { @LoopActor [devices] permission in devices.defaultDevice(permission)?.name ?? "" }
        let users = userOfCamera(besides: app, named: prompt.request.device ?? deviceName(.camera))
        agents.show(prompt, to: agent, users: users, deviceName: deviceName) { [weak self] result in
            switch result {
            case .answered(let answer): self?.feed(.agentAnswered(agent, prompt.id, answer))
            case .failed(let why):
                self?.log.warning(
                    "The agent of \(agent.connection) failed a prompt: \(why)", metadata: ["app": "\(app)"])
                self?.feed(.agentFailed(agent, prompt.id, why))
            case .left: self?.feed(.agentLeft(connection: agent.connection))
            }
        }
    }

    /// Several apps can use a microphone at once, but a camera gives its images to one.
    private func userOfCamera(besides app: AppID, named name: String) -> [Permission: AppID] {
        let use = usage.uses.first {
            $0.device.permission == .camera && $0.device.name == name && !$0.isServer && $0.app != app
        }
        return use?.app.map { [.camera: $0] } ?? [:]
    }

    // MARK: Other events

    private func departed(_ caller: Caller) {
        let name = caller.connection
        feed(.callerLeft(name))
        feed(.agentLeft(connection: name))
        statuses.departed(name)
        portal.departed(name)
        portalSync.departed(name)
        settingsInterface.subscribers.departed(name)
        devicesInterface.subscribers.departed(name)
        enforcement.subscribers.departed(name)
        usageInterface.subscribers.departed(name)
        enforcement.endUses(of: caller) { _ in usage.departed(name) }
    }

    private func devicesChanged(_ changes: [DeviceChange]) {
        for change in changes { devicesInterface.notify(change) }
        usage.devicesChanged()
        statuses.refresh(nil)
        for permission in Set(changes.map(\.permission)) { enforcement.notify(nil, permission) }
        feed(.devicesChanged(Set(changes.map(\.permission))))
    }

    private func usesChanged(_ changes: [UseChange]) {
        for use in changes.map(\.use) { if let app = use.app { store.noteUse(app, use.device.permission) } }
        usageInterface.notify(changes)
        indicator.changed(isInUse: !usage.uses.isEmpty)
    }

    private func policyChanged() {
        store.history.limits = (rows: policy.configuration.historyRows, days: policy.configuration.historyDays)
        feed(.configurationChanged(policy.configuration))
        enforcement.notify(nil, nil)
        reevaluate(nil)
        unusedGrants.check()
    }

    /// Logs a step in the progress of a request.
    private func log(_ step: String, of request: Request) {
        let app = request.caller.app
        log.info("\(app) \(step)", metadata: ["request": "\(request.path)", "app": "\(app)"])
    }

    func log(_ rows: some Sequence<HistoryRow>) {
        for row in rows {
            log.info(
                "\(row.item.name) for \(row.app?.description ?? "every app"): \(row.outcome.rawValue)",
                metadata: [
                    "request": "\(row.request)", "app": "\(row.app?.description ?? "")",
                    "permission": "\(row.item.name)",
                    "outcome": "\(row.outcome.rawValue)",
                ])
        }
    }

    // MARK: Ending

    /// Ends every request after the connection is lost. Pending writes of the store still complete.
    func detach() {
        guard !isDetached else { return }
        feed(.disconnected)
        unusedGrants.stop()
        systemPoints.pause()
        usage.disconnected()
        isDetached = true
        for timer in timers.values { timer.cancel() }
        timers = [:]
    }

    /// Answers every waiting request and writes all changes, then calls `completion`.
    func stop(_ completion: @escaping @LoopActor () -> Void) {
        guard !isStopping else { return }
        // Requests whose decisions are being written get their answers first: the store completes in order.
        store.whenWritten { [weak self] in
            guard let self else { return completion() }
            isStopping = true
            feed(.shutdown)
            systemPoints.pause()
            usage.stop()
            // Without the store, no call can be answered correctly.
            connection.methodHandler = { [connection] call in
                connection.fail(
                    call, PermissionError(.storeUnavailable, "permd is stopping; ask again when it is back"))
            }
            store.close(then: completion)
        }
    }
}

extension Coordinator: RequestSink {
    func newID() -> RequestID { queue.newID() }
}

extension Reply {
    /// `camera=granted, microphone=denied`, or why there is no answer.
    fileprivate var text: String {
        if case .failed(let error) = code { return error.message }
        return statuses.sorted { $0.key < $1.key }.map { "\($0.key.rawValue)=\($0.value.rawValue)" }
            .joined(separator: ", ")
    }
}

extension Reply.Code {
    /// The value in RequestChanged.
    fileprivate var text: String {
        switch self {
        case .answered: "answered"
        case .dismissed: "dismissed"
        case .failed: "failed"
        }
    }
}
