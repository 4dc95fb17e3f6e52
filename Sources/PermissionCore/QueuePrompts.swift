// The front of the queue: which agent shows its prompt, how answers are handled, and what happens without an agent.

import PermissionModel

extension Queue {
    // MARK: The front

    /// Offers the first request to an agent, after answering those before it that have nothing left to ask.
    mutating func advance(_ now: Instant, _ facts: some Facts) {
        while true {
            guard let request = slots.first?.request, !request.isSettling, request.prompt == nil else {
                return stopWaitingForAgent()
            }
            let open = request.open(in: facts)
            if open.isEmpty || request.withdrawal != nil {
                finish(at: 0, now, facts)
            } else if !isSeatActive {
                return stopWaitingForAgent()
            } else if let agent = roster.best(without: request.tried) {
                stopWaitingForAgent()
                return show(open, to: agent, now)
            } else {
                return waitForAgent()
            }
        }
    }

    private mutating func show(_ items: [PromptItem], to agent: AgentID, _ now: Instant) {
        lastPrompt += 1
        let id = PromptID(lastPrompt)
        update(at: 0) {
            $0.tried.insert(agent)
            $0.prompt = (id, agent, items, now.uptime)
        }
        mustRenumber = true
        guard let request = slots[0].request else { return }
        let behind = behind()
        reportedBehind = behind
        let pauses = items.contains { dismissals.isLast(request.app, $0, at: now, configuration: configuration) }
        effects.append(
            .showPrompt(
                agent,
                Prompt(
                    id: id, request: request, items: items, behind: behind,
                    pause: pauses ? configuration.nagPause : nil)))
        effects.append(.startTimer(.prompt(id), milliseconds: configuration.promptTimeout * 1000))
    }

    private func behind() -> RequestsBehind {
        var apps: [AppID] = []
        for slot in slots.dropFirst() {
            guard let app = slot.request?.app, !apps.contains(app) else { continue }
            apps.append(app)
            if apps.count == Limits.appsBehind { break }
        }
        return RequestsBehind(count: slots.dropFirst().count(where: \.isWaiting), apps: apps)
    }

    /// Updates what the agent of the prompt on screen knows to be behind it.
    mutating func updatePrompt() {
        guard let prompt = slots.first?.request?.prompt, roster.wantsUpdates(prompt.agent) else { return }
        let behind = behind()
        guard behind != reportedBehind else { return }
        reportedBehind = behind
        effects.append(.updatePrompt(prompt.agent, prompt.id, behind))
    }

    mutating func devicesChanged(_ permissions: Set<Permission>, _ now: Instant, _ facts: some Facts) {
        settleAll(now, facts)
        // The prompt may name one that has gone.
        if openPrompt?.items.contains(where: { $0.permission.map(permissions.contains) ?? false }) == true {
            reportedBehind = nil
        }
    }

    private mutating func waitForAgent() {
        guard !isWaitingForAgent else { return }
        isWaitingForAgent = true
        effects.append(.startAgentService)
        effects.append(.startTimer(.agentWait, milliseconds: configuration.agentWait * 1000))
    }

    mutating func stopWaitingForAgent() {
        guard isWaitingForAgent else { return }
        isWaitingForAgent = false
        effects.append(.stopTimer(.agentWait))
    }

    /// No agent has registered in time: every waiting request fails.
    mutating func agentWaitIsOver(_ now: Instant, _ facts: some Facts) {
        guard isWaitingForAgent else { return }
        isWaitingForAgent = false
        let error = PermissionError(.noAgent, roster.trouble.advice)
        endRequests { queue, index in queue.fail(at: index, error, now, facts) }
    }

    // MARK: Answers

    /// The prompt on screen, until it is answered. Only the first request can have one.
    var openPrompt: Request.OpenPrompt? {
        guard let request = slots.first?.request, !request.isSettling else { return nil }
        return request.prompt
    }

    /// Whether an answer of this agent to this prompt counts.
    func isOpen(_ prompt: PromptID, _ agent: AgentID) -> Bool {
        guard let open = openPrompt else { return false }
        return open.id == prompt && open.agent == agent
    }

    mutating func answered(
        _ agent: AgentID, _ prompt: PromptID, _ answer: PromptAnswer, _ now: Instant, _ facts: some Facts
    ) {
        guard isOpen(prompt, agent), let request = slots[0].request, let shown = request.prompt else { return }
        switch answer {
        case .dismissed:
            roster.succeeded(agent)
            dismissals.seen(request.app)
            takePromptAway()
            // A person is present: the remaining questions become a new prompt, which any agent may show.
            update(at: 0) { $0.tried = [] }
            dismissed(shown.items, request, now, facts)
        case .answered(let decisions):
            let asked = decisions.filter { shown.items.contains($0.key) }
            if asked.values.contains(where: { ($0.duration.end ?? .max) <= now.epoch }) {
                return failed(agent, "its answer holds until a time that is over")
            }
            roster.succeeded(agent)
            dismissals.seen(request.app)
            effects.append(.stopTimer(.prompt(prompt)))
            decided(asked, request, now, facts)
        }
    }

    /// Handles "Not now": removes these questions from all waiting requests of the app. What another app asks was not shown.
    private mutating func dismissed(
        _ items: [PromptItem], _ request: Request, _ now: Instant, _ facts: some Facts
    ) {
        for item in items {
            effects.append(
                .saveDismissals(dismissals.dismissed(request.app, item, at: now, configuration: configuration)))
        }
        exclude(items, where: { $0.app == request.app }, by: .person, now, facts)
        settleAll(now, facts)
    }

    private mutating func decided(
        _ decisions: [PromptItem: ItemDecision], _ request: Request, _ now: Instant, _ facts: some Facts
    ) {
        let request = request
        var made: [Decision] = []
        var rows: [HistoryRow] = []
        var answers: [PromptItem: ItemDecision] = [:]
        /// Questions that were asked and are not asked again, whether or not they were decided.
        var over: [PromptItem] = []
        // Questions that were settled in the meantime are skipped: their answers are not used.
        for item in request.open(in: facts) where request.prompt?.items.contains(item) == true {
            over.append(item)
            guard let decision = decisions[item] else {
                rows.append(request.row(item, .dismissed, .person, now))
                continue
            }
            answers[item] = decision
            // The answer to a portal question is stored by the portal.
            if let permission = item.permission { made.append(request.decision(permission, decision, now)) }
            rows.append(request.row(item, decision.verdict == .grant ? .granted : .denied, .person, now))
            if let record = dismissals.answered(request.app, item, at: now.epoch) {
                effects.append(.saveDismissals(record))
            }
        }
        update(at: 0) {
            $0.excluded.formUnion(over)
            $0.recorded.formUnion(rows.map(\.item))
            $0.answers.merge(answers) { $1 }
            $0.isSettling = true
            $0.tried = []
        }
        guard made.isEmpty else { return effects.append(.commit(request, made, rows)) }
        record(rows)
        committed(request.id, now, facts)
    }

    mutating func committed(_ id: RequestID, _ now: Instant, _ facts: some Facts) {
        if case .settling(id) = slots.first {
            slots.removeFirst()
        } else if index(of: id) == slots.startIndex {
            update(at: 0) {
                $0.isSettling = false
                $0.prompt = nil
            }
            mustRenumber = true
        }
        settleAll(now, facts)
    }

    // MARK: Prompts that end without an answer

    mutating func promptTimedOut(_ id: PromptID, _ now: Instant, _ facts: some Facts) {
        guard let prompt = openPrompt, prompt.id == id, let app = slots.first?.request?.app else { return }
        effects.append(.withdrawPrompt(prompt.agent, id, why: .timeout))
        clearPrompt()
        exclude(prompt.items, where: { $0.app == app }, by: .timeout, now, facts)
        leftUnanswered(app, for: configuration.promptTimeout * 1000, now, facts)
    }

    /// Counts the time for which a prompt of the app was on screen without an answer. If that pauses the app, all its
    /// other requests are dismissed, too.
    mutating func leftUnanswered(_ app: AppID, for milliseconds: Int64, _ now: Instant, _ facts: some Facts) {
        let paused = dismissals.leftUnanswered(app, for: milliseconds, at: now, configuration: configuration)
        effects += paused.map { .saveDismissals($0) }
        exclude(paused.map(\.item), where: { $0.app == app }, by: .throttle, now, facts)
        settleAll(now, facts)
    }

    /// The agent failed or gave an invalid answer: the prompt goes to the next agent.
    mutating func failed(_ agent: AgentID, _ why: String) {
        takePromptAway()
        if roster.failed(agent, why) { effects.append(.unregisterAgent(agent)) }
    }

    mutating func agentLeft(_ connection: String) {
        if let prompt = openPrompt, prompt.agent.connection == connection {
            effects.append(.dropPrompt(prompt.id))
            takePromptAway()
        }
        roster.removeAll(of: connection)
    }

    mutating func agentUnregistered(_ agent: AgentID) {
        if let prompt = openPrompt, prompt.agent == agent {
            withdrawPrompt(prompt, .unregistered)
            clearPrompt()
            // It did not fail: when it is back, as after the lock screen, it may show it again.
            update(at: 0) { $0.tried.remove(agent) }
        }
        roster.remove(agent)
    }

    /// Withdraws the open prompt when nobody is in front of the screen. It is offered again later.
    mutating func attend(_ isSeatActive: Bool) {
        self.isSeatActive = isSeatActive
        guard !isSeatActive, let prompt = openPrompt else { return }
        withdrawPrompt(prompt, .absent)
        clearPrompt()
        update(at: 0) { $0.tried.remove(prompt.agent) }
    }

    mutating func withdrawPrompt(_ prompt: Request.OpenPrompt, _ why: WithdrawalReason) {
        effects.append(.withdrawPrompt(prompt.agent, prompt.id, why: why))
        effects.append(.stopTimer(.prompt(prompt.id)))
    }

    private mutating func takePromptAway() {
        guard let prompt = slots.first?.request?.prompt else { return }
        effects.append(.stopTimer(.prompt(prompt.id)))
        clearPrompt()
    }

    private mutating func clearPrompt() {
        update(at: 0) { $0.prompt = nil }
        mustRenumber = true
    }
}
