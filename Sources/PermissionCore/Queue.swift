// The queue of requests: a state machine that takes events and returns effects. Nothing in it waits.

package import PermissionModel

package struct Queue {
    var configuration: Configuration
    var slots: [Slot] = []
    var roster = AgentRoster()
    var dismissals = DismissalThrottle()
    var reservations = ReservationLedger()
    var withdrawals = WithdrawalThrottle()
    var isWaitingForAgent = false
    /// Whether a person is in front of the screen, so that prompts may be shown.
    package internal(set) var isSeatActive = true
    private var lastRequest: UInt64 = 0
    var lastPrompt: UInt64 = 0
    /// Whether positions or states may have changed.
    var mustRenumber = false
    private var reportedLength = 0
    /// What the agent knows to be behind the prompt on screen; nil if it has to be told more.
    var reportedBehind: RequestsBehind?
    private var isShutDown = false
    var effects: [QueueEffect] = []

    package init(configuration: Configuration) { self.configuration = configuration }

    /// Handles one event. The returned effects are to be carried out in order.
    package mutating func handle(_ event: QueueEvent, at now: Instant, in facts: some Facts) -> [QueueEffect] {
        if isShutDown { return refuseAfterShutdown(event) }
        apply(event, now, facts)
        if !isShutDown { advance(now, facts) }
        let length = count
        if mustRenumber || length != reportedLength || reportedBehind == nil { updatePrompt() }
        renumber()
        if length != reportedLength {
            reportedLength = length
            effects.append(.lengthChanged(length))
        }
        defer { effects = [] }
        return effects
    }

    // MARK: Queries

    /// Those not yet answered, in order.
    package var requests: [Request] { slots.filter(\.isWaiting).compactMap(\.request) }

    var count: Int { slots.count(where: \.isWaiting) }

    package func request(at path: String) -> Request? {
        slots.lazy.compactMap(\.request).first { $0.path == path && $0.withdrawal == nil }
    }

    /// Returns the ID of a new request.
    package mutating func newID() -> RequestID {
        lastRequest += 1
        return RequestID(lastRequest)
    }

    /// Ordered by preference.
    package var agents: [RegisteredAgent] { roster.agents }

    package var agentTrouble: AgentTrouble? { roster.trouble }

    package func pauses(at now: Instant) -> [Pause] { dismissals.pauses(at: now) }

    // MARK: Events

    private mutating func apply(_ event: QueueEvent, _ now: Instant, _ facts: some Facts) {
        switch event {
        case .requested(let request): arrive(request, now, facts)
        case .closed(let id): closed(id, now, facts)
        case .callerLeft(let connection): callerLeft(connection, now, facts)
        case .reservationReleased(let connection): endReservation(of: connection)
        case .agentArrived(let agent, let level, let wantsUpdates): roster.add(agent, level, wantsUpdates: wantsUpdates)
        case .agentNotStarted(let why): roster.notStarted(why)
        case .agentLeft(let connection): agentLeft(connection)
        case .agentUnregistered(let agent): agentUnregistered(agent)
        case .agentAnswered(let agent, let prompt, let answer): answered(agent, prompt, answer, now, facts)
        case .agentFailed(let agent, let prompt, let why): if isOpen(prompt, agent) { failed(agent, why) }
        case .factsChanged: settleAll(now, facts)
        case .devicesChanged(let permissions): devicesChanged(permissions, now, facts)
        case .seatActivity(let isSeatActive): attend(isSeatActive)
        case .committed(let id): committed(id, now, facts)
        case .timerFired(let timer): fired(timer, now, facts)
        case .configurationChanged(let configuration): self.configuration = configuration
        case .dismissalsRestored(let records): dismissals.restore(records, at: now)
        case .throttleLifted(let app, let item):
            dismissals.lift(app: app, item: item)
            withdrawals.lift(app)
            settleAll(now, facts)
        case .disconnected: disconnected(now, facts)
        case .shutdown: shutDown(facts)
        }
    }

    private mutating func fired(_ timer: TimerID, _ now: Instant, _ facts: some Facts) {
        switch timer {
        case .agentWait: agentWaitIsOver(now, facts)
        case .prompt(let id): promptTimedOut(id, now, facts)
        case .withdrawal(let id): withdrawalIsOver(id, now, facts)
        case .reservation(let connection): slots.removeAll { $0.reservation?.connection == connection }
        }
    }

    // MARK: Disconnection and shutdown

    /// Drops everything after the connection to the bus was lost. This counts as a withdrawal of no app. Decisions that
    /// are being written stay, but no caller is left to notify.
    private mutating func disconnected(_ now: Instant, _ facts: some Facts) {
        roster = AgentRoster()
        stopWaitingForAgent()
        for slot in slots {
            if let reservation = slot.reservation {
                effects.append(.stopTimer(.reservation(connection: reservation.connection)))
            }
            guard let request = slot.request else { continue }
            if let prompt = request.prompt {
                effects += [.dropPrompt(prompt.id), .stopTimer(.prompt(prompt.id))]
            }
            if request.withdrawal == nil {
                effects.append(.forget(request))
            } else {
                effects.append(.stopTimer(.withdrawal(request.id)))
            }
            guard !request.isSettling else { continue }
            record(request.open(in: facts).map { request.row($0, .withdrawn, .nobody, now) })
        }
        slots = []
    }

    private mutating func shutDown(_ facts: some Facts) {
        isShutDown = true
        if let prompt = openPrompt { withdrawPrompt(prompt, .stopping) }
        stopWaitingForAgent()
        for slot in slots {
            switch slot {
            case .request(let request):
                guard request.withdrawal == nil else {
                    effects.append(.stopTimer(.withdrawal(request.id)))
                    continue
                }
                var reply = reply(to: request, .failed(Queue.stopping), facts)
                reply.isStopping = true
                effects.append(.respond(request, reply))
            case .reservation(let reservation):
                effects.append(.stopTimer(.reservation(connection: reservation.connection)))
            case .settling: break
            }
        }
        slots = []
    }

    private func refuseAfterShutdown(_ event: QueueEvent) -> [QueueEffect] {
        if case .requested(let request) = event { return [.refuse(request, Queue.stopping)] }
        return []
    }

    private static let stopping = PermissionError(.noAgent, "permd is stopping; ask again when it is back")

    // MARK: Positions

    func index(of id: RequestID) -> Int? {
        slots.firstIndex { $0.request?.id == id }
    }

    mutating func update(at index: Int, _ body: (inout Request) -> Void) {
        guard case .request(var request) = slots[index] else { return }
        body(&request)
        slots[index] = .request(request)
    }

    /// Reports every state and position that has changed.
    private mutating func renumber() {
        guard mustRenumber else { return }
        mustRenumber = false
        var position = 0
        for index in slots.indices {
            guard let request = slots[index].request else { continue }
            let place = QueuePlace(state: request.prompt == nil ? .queued : .showing, position: position)
            if request.place != place, request.withdrawal == nil {
                update(at: index) { $0.place = place }
                if let moved = slots[index].request { effects.append(.moved(moved, from: request.place)) }
            }
            position += 1
        }
    }
}
