// The queue of requests: a state machine that takes events and returns effects. Nothing in it waits.

public import PermissionModel

public struct Queue {
    var settings: Settings
    var slots: [Slot] = []
    var roster = AgentRoster()
    var dismissals = DismissalThrottle()
    var holds = HoldLedger()
    var withdrawals = WithdrawalThrottle()
    /// The number of requests in the slots, in total and of each app.
    var count = 0
    var countOf: [AppID: Int] = [:]
    var isWaitingForAgent = false
    /// Whether a person is in front of the screen, so that prompts may be shown.
    public internal(set) var isSeatActive = true
    var lastPrompt: UInt64 = 0
    /// Whether positions or states may have changed.
    var mustRenumber = false
    private var toldLength = 0
    /// What the agent knows to be behind the prompt on screen.
    var toldBehind: RequestsBehind?
    private var isShutDown = false
    var effects: [QueueEffect] = []

    public init(settings: Settings) { self.settings = settings }

    /// Handles one event. The returned effects are to be carried out in order.
    public mutating func handle(_ event: QueueEvent, at now: Moment, in facts: some Facts) -> [QueueEffect] {
        if isShutDown { return refuseAfterShutdown(event) }
        take(event, now, facts)
        if !isShutDown { advance(now, facts) }
        if mustRenumber || count != toldLength { updatePrompt() }
        renumber()
        if count != toldLength {
            toldLength = count
            effects.append(.lengthChanged(count))
        }
        defer { effects = [] }
        return effects
    }

    // MARK: Queries

    /// The number of requests not yet answered, including the one on screen.
    public var length: Int { count }

    /// The caller of a request that is not yet answered.
    public func caller(of id: RequestID) -> Caller? { index(of: id).flatMap { slots[$0].request?.request.caller } }

    public var entries: [QueueEntry] {
        slots.compactMap { slot in
            slot.request.map { QueueEntry(request: $0.request, state: $0.state, position: $0.position) }
        }
    }

    /// Ordered by preference.
    public var agents: [RegisteredAgent] { roster.agents }

    public func pauses(at now: Moment) -> [Pause] { dismissals.pauses(at: now.epoch) }

    // MARK: Events

    private mutating func take(_ event: QueueEvent, _ now: Moment, _ facts: some Facts) {
        switch event {
        case .requested(let request): arrive(request, now, facts)
        case .closed(let id): closed(id, now, facts)
        case .callerLeft(let connection): callerLeft(connection, now, facts)
        case .holdReleased(let connection): endHold(of: connection)
        case .agentArrived(let agent, let level, let wantsUpdates): roster.add(agent, level, wantsUpdates: wantsUpdates)
        case .agentLeft(let connection): agentLeft(connection)
        case .agentUnregistered(let agent): agentUnregistered(agent)
        case .agentAnswered(let agent, let prompt, let answer): answered(agent, prompt, answer, now, facts)
        case .agentFailed(let agent, let prompt): if isOpen(prompt, agent) { failed(agent) }
        case .factsChanged: settleAll(now, facts)
        case .seatActivity(let isSeatActive): attend(isSeatActive)
        case .committed(let id): committed(id, now, facts)
        case .timerFired(let timer): fired(timer, now, facts)
        case .settingsChanged(let settings): self.settings = settings
        case .dismissalsRestored(let records): dismissals.restore(records)
        case .throttleLifted(let app, let question):
            dismissals.lift(app: app, question: question)
            withdrawals.lift(app)
        case .disconnected: disconnected(now, facts)
        case .shutdown: shutDown(facts)
        }
    }

    private mutating func fired(_ timer: TimerID, _ now: Moment, _ facts: some Facts) {
        switch timer {
        case .agentWait: agentWaitIsOver(now, facts)
        case .prompt(let id): promptTimedOut(id, now, facts)
        case .hold(let connection): slots.removeAll { $0.hold?.connection == connection }
        }
    }

    // MARK: Disconnection and shutdown

    /// Drops everything after the connection to the bus was lost. This counts as a withdrawal of no app. Decisions that
    /// are being written stay, but no caller is left to notify.
    private mutating func disconnected(_ now: Moment, _ facts: some Facts) {
        roster = AgentRoster()
        stopWaitingForAgent()
        for slot in slots {
            if let hold = slot.hold { effects.append(.stopTimer(.hold(connection: hold.connection))) }
            guard let waiting = slot.request else { continue }
            if let prompt = waiting.prompt {
                effects += [.dropPrompt(prompt.id), .stopTimer(.prompt(prompt.id))]
            }
            effects.append(.forget(waiting.request.id))
            guard !waiting.isSettling else { continue }
            record(waiting.open(in: facts).map { row(waiting.request, $0, .withdrawn, .nobody, now) })
        }
        slots = []
        count = 0
        countOf = [:]
    }

    private mutating func shutDown(_ facts: some Facts) {
        isShutDown = true
        if let prompt = openPrompt { withdrawPrompt(prompt, "permd is stopping") }
        stopWaitingForAgent()
        let error = Queue.stopping
        for slot in slots {
            switch slot {
            case .request(let waiting):
                effects.append(.respond(waiting.request.id, reply(to: waiting.request, .failed(error), facts)))
            case .hold(let hold): effects.append(.stopTimer(.hold(connection: hold.connection)))
            case .settling: break
            }
        }
        slots = []
        count = 0
        countOf = [:]
    }

    private func refuseAfterShutdown(_ event: QueueEvent) -> [QueueEffect] {
        if case .requested(let request) = event { return [.refuse(request.id, Queue.stopping)] }
        return []
    }

    private static let stopping = PermissionError(.noAgent, "permd is stopping; ask again when it is back")

    // MARK: Positions

    func index(of id: RequestID) -> Int? {
        slots.firstIndex { $0.id == id }
    }

    mutating func update(at index: Int, _ body: (inout WaitingRequest) -> Void) {
        guard case .request(var waiting) = slots[index] else { return }
        body(&waiting)
        slots[index] = .request(waiting)
    }

    /// Reports every state and position that has changed.
    private mutating func renumber() {
        guard mustRenumber else { return }
        mustRenumber = false
        var position = 0
        for index in slots.indices {
            guard let waiting = slots[index].request else { continue }
            let state: RequestState = waiting.prompt == nil ? .queued : .showing
            if waiting.position != position || waiting.state != state {
                update(at: index) {
                    $0.position = position
                    $0.state = state
                }
                effects.append(.moved(waiting.request.id, state, position: position))
            }
            position += 1
        }
    }
}
