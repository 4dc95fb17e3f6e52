// How requests enter and leave the queue, with their answers and history rows.

import PermissionModel

extension Queue {
    // MARK: Arrival

    mutating func arrive(_ request: AccessRequest, _ now: Moment, _ facts: some Facts) {
        guard request.isInteractive else {
            effects.append(.accept(request.id))
            effects.append(.respond(request.id, reply(to: request, .answered, facts)))
            return recordSettled(WaitingRequest(request), now, facts)
        }
        var waiting = WaitingRequest(request)
        leaveOutPaused(&waiting, now, facts)
        if waiting.open(in: facts).isEmpty { return answerAtOnce(waiting, now, facts) }
        if let refusal = throttleRefusal(of: request, now) ?? limitRefusal(of: request) {
            return effects.append(.refuse(request.id, refusal))
        }
        effects.append(.accept(request.id))
        count += 1
        countOf[request.caller.app, default: 0] += 1
        if let held = endHold(of: request.caller.connection) {
            waiting.heldBefore = held.hold.left(at: now.uptime)
            // An invalid position makes `renumber` report the real one even if it is 0.
            waiting.position = -1
            slots.insert(.request(waiting), at: held.index)
            mustRenumber = true
        } else {
            waiting.position = count - 1
            slots.append(.request(waiting))
            effects.append(.moved(request.id, .queued, position: waiting.position))
        }
    }

    /// Answers a request that has nothing to ask. It never waits and counts towards no limit.
    private mutating func answerAtOnce(_ waiting: WaitingRequest, _ now: Moment, _ facts: some Facts) {
        let request = waiting.request
        effects.append(.accept(request.id))
        let held = endHold(of: request.caller.connection)
        var answered = waiting
        answered.heldBefore = held?.hold.left(at: now.uptime)
        let seconds = keepPlace(of: answered, at: held?.index ?? slots.endIndex, now)
        effects.append(.respond(request.id, settledReply(to: answered, now, facts, hold: seconds)))
        recordSettled(answered, now, facts)
    }

    private func throttleRefusal(of request: AccessRequest, _ now: Moment) -> PermissionError? {
        guard let remaining = withdrawals.remaining(request.caller.app, at: now.uptime) else { return nil }
        return Queue.throttled(remaining)
    }

    private static func throttled(_ milliseconds: Int64) -> PermissionError {
        PermissionError(
            .limitExceeded,
            "this app withdrew \(Limits.withdrawals) requests within \(Limits.withdrawalWindow) s; ask again in \((milliseconds + 999) / 1000) s"
        )
    }

    private func limitRefusal(of request: AccessRequest) -> PermissionError? {
        let own = countOf[request.caller.app] ?? 0
        if own >= settings.waitingPerApp {
            return PermissionError(
                .limitExceeded, "this app has \(own) requests waiting; ask again when one is answered")
        }
        if count >= settings.waiting {
            return PermissionError(.limitExceeded, "\(count) requests are waiting in total; ask again later")
        }
        return nil
    }

    private mutating func leaveOutPaused(_ waiting: inout WaitingRequest, _ now: Moment, _ facts: some Facts) {
        var rows: [HistoryRow] = []
        for question in waiting.open(in: facts)
        where dismissals.pauseEnd(waiting.app, question, at: now.epoch) != nil {
            waiting.leftOut.insert(question)
            waiting.recorded.insert(question)
            rows.append(row(waiting.request, question, .dismissed, .guard, now))
        }
        record(rows)
    }

    // MARK: Settling

    /// Re-evaluates every waiting request and answers those with nothing left to ask.
    mutating func settleAll(_ now: Moment, _ facts: some Facts) {
        let isSettled = { (waiting: WaitingRequest) in !waiting.isSettling && waiting.open(in: facts).isEmpty }
        endRequests(where: isSettled) { queue, index in
            if let prompt = queue.slots[index].request?.prompt {
                queue.withdrawPrompt(prompt, "it was settled elsewhere")
            }
            return queue.finish(at: index, now, facts)
        }
    }

    /// Ends the requests that match, from the front. `end` returns true if a hold takes the request's place.
    mutating func endRequests(
        where isMeant: (WaitingRequest) -> Bool = { _ in true }, _ end: (inout Queue, _ index: Int) -> Bool
    ) {
        var index = 0
        while index < slots.count {
            if let waiting = slots[index].request, isMeant(waiting), !end(&self, index) { continue }
            index += 1
        }
    }

    /// Removes questions, undecided, from all waiting requests of an app.
    mutating func leaveOut(
        _ questions: [Question], of app: AppID, by author: Author, _ now: Moment, _ facts: some Facts
    ) {
        var rows: [HistoryRow] = []
        for index in slots.indices {
            guard let waiting = slots[index].request, waiting.app == app, !waiting.isSettling else { continue }
            let open = waiting.open(in: facts).filter(questions.contains)
            rows += open.map { row(waiting.request, $0, .dismissed, author, now) }
            update(at: index) {
                $0.leftOut.formUnion(open)
                $0.recorded.formUnion(open)
            }
        }
        record(rows)
    }

    /// Answers the request at `index` with the current statuses. Returns true if a hold takes its place.
    @discardableResult
    mutating func finish(at index: Int, _ now: Moment, _ facts: some Facts) -> Bool {
        guard let waiting = slots[index].request else { return false }
        remove(at: index)
        let seconds = keepPlace(of: waiting, at: index, now)
        effects.append(.respond(waiting.request.id, settledReply(to: waiting, now, facts, hold: seconds)))
        recordSettled(waiting, now, facts)
        return seconds > 0
    }

    /// Answers the request at `index` with an error. Returns true if a hold takes its place.
    mutating func fail(at index: Int, _ error: PermissionError, _ now: Moment, _ facts: some Facts) -> Bool {
        guard let waiting = slots[index].request else { return false }
        let open = waiting.open(in: facts)
        remove(at: index)
        let seconds = keepPlace(of: waiting, at: index, now)
        var answer = reply(to: waiting.request, .failed(error), facts)
        answer.hold = seconds
        effects.append(.respond(waiting.request.id, answer))
        record(open.map { row(waiting.request, $0, .failed, .nobody, now) })
        return seconds > 0
    }

    // MARK: Withdrawal

    mutating func closed(_ id: RequestID, _ now: Moment, _ facts: some Facts) {
        guard let index = index(of: id), let app = slots[index].request?.app else { return }
        if withdraw(at: index, "the app withdrew it", now, facts) { countWithdrawal(by: app, now, facts) }
    }

    mutating func callerLeft(_ connection: String, _ now: Moment, _ facts: some Facts) {
        var withdrew: AppID?
        endHold(of: connection)
        for index in slots.indices.reversed() {
            guard let waiting = slots[index].request, waiting.request.caller.connection == connection else { continue }
            // The end of an enforcement point is not an action of the apps that it asked for.
            if withdraw(at: index, "the app is gone", now, facts), waiting.request.device == nil {
                withdrew = waiting.app
            }
        }
        // A program that exits counts as one withdrawal, regardless of how many requests it had.
        if let withdrew { countWithdrawal(by: withdrew, now, facts) }
    }

    /// Removes a request whose caller wants no answer. Returns false if its answer is already being written.
    private mutating func withdraw(at index: Int, _ why: String, _ now: Moment, _ facts: some Facts) -> Bool {
        guard let waiting = slots[index].request else { return false }
        if let prompt = waiting.prompt, !waiting.isSettling { withdrawPrompt(prompt, why) }
        let open = waiting.isSettling ? [] : waiting.open(in: facts)
        remove(at: index)
        // Until the answer is on disk, the app's next request would ask the same question again.
        if waiting.isSettling { slots.insert(.settling(waiting.request.id), at: index) }
        effects.append(.forget(waiting.request.id))
        record(open.map { row(waiting.request, $0, .withdrawn, .nobody, now) })
        return !waiting.isSettling
    }

    /// Counts a withdrawal. If the app is now throttled, its other requests fail, except the one on screen.
    private mutating func countWithdrawal(by app: AppID, _ now: Moment, _ facts: some Facts) {
        guard withdrawals.withdrew(app, at: now.uptime) else { return }
        let error = Queue.throttled(withdrawals.remaining(app, at: now.uptime) ?? 0)
        let isWaiting = { (waiting: WaitingRequest) in
            waiting.app == app && waiting.prompt == nil && !waiting.isSettling
        }
        endRequests(where: isWaiting) { queue, index in queue.fail(at: index, error, now, facts) }
    }

    private mutating func remove(at index: Int) {
        guard let waiting = slots[index].request else { return }
        slots.remove(at: index)
        count -= 1
        countOf[waiting.app, default: 1] -= 1
        if countOf[waiting.app] == 0 { countOf[waiting.app] = nil }
        mustRenumber = true
    }

    // MARK: Holds

    /// Ends the hold of a connection, if it has one. Returns the hold and its place in the queue.
    @discardableResult
    mutating func endHold(of connection: String) -> (hold: Hold, index: Int)? {
        guard let index = slots.firstIndex(where: { $0.hold?.connection == connection }),
            let hold = slots.remove(at: index).hold
        else { return nil }
        effects.append(.stopTimer(.hold(connection: connection)))
        return (hold, index)
    }

    /// Replaces a request by a hold if it asked for one and may have it. Returns the seconds that the hold lasts.
    private mutating func keepPlace(of waiting: WaitingRequest, at index: Int, _ now: Moment) -> UInt32 {
        let request = waiting.request
        guard request.hold > 0 else { return 0 }
        let wanted = Int64(min(request.hold, Limits.maximumHold)) * 1000
        let milliseconds: Int64
        if let left = waiting.heldBefore {
            // The same hold continues, regardless of how many requests use it.
            milliseconds = min(left, wanted)
        } else {
            milliseconds = holds.begin(waiting.app, at: now.uptime) ? wanted : 0
        }
        guard milliseconds > 0 else { return 0 }
        let connection = request.caller.connection
        let others = slots[..<index].count { $0.hold?.connection == connection }
        slots.removeAll { $0.hold?.connection == connection }
        let hold = Hold(connection: connection, remaining: milliseconds, since: now.uptime)
        slots.insert(.hold(hold), at: index - others)
        effects.append(.startTimer(.hold(connection: connection), milliseconds: milliseconds))
        return UInt32((milliseconds + 999) / 1000)
    }

    // MARK: Answers and rows

    func reply(to request: AccessRequest, _ code: Reply.Code, _ facts: some Facts) -> Reply {
        let permissions = request.questions.compactMap(\.permission)
        var statuses: [Permission: Status] = [:]
        for permission in permissions { statuses[permission] = facts.status(of: permission, in: request) }
        return Reply(code: code, statuses: statuses, firstRefused: permissions.first { statuses[$0] != .granted })
    }

    /// The reply is "answered" if anything was decided or nothing is left undecided, otherwise "dismissed".
    private func settledReply(
        to waiting: WaitingRequest, _ now: Moment, _ facts: some Facts, hold: UInt32
    ) -> Reply {
        var reply = reply(to: waiting.request, .answered, facts)
        reply.hold = hold
        reply.answers = waiting.answers
        // An app is not told when it may try to wear the person down again.
        if waiting.request.device != nil {
            reply.pausedUntil = waiting.request.questions.compactMap {
                dismissals.pauseEnd(waiting.app, $0, at: now.epoch)
            }.max()
        }
        let isDecided =
            waiting.answers.keys.contains { $0.permission == nil }
            || reply.statuses.values.contains { [.granted, .denied, .restricted].contains($0) }
        let isOpen = waiting.request.questions.contains { question in
            question.permission.map { reply.statuses[$0] == .undetermined } ?? true
        }
        if !isDecided, isOpen { reply.code = .dismissed }
        return reply
    }

    /// Records outcomes that did not come from this request's own prompt.
    private mutating func recordSettled(_ waiting: WaitingRequest, _ now: Moment, _ facts: some Facts) {
        let rows = waiting.request.questions.filter { !waiting.recorded.contains($0) }.compactMap {
            question -> HistoryRow? in
            guard let permission = question.permission else { return nil }
            return switch facts.status(of: permission, in: waiting.request) {
            case .undetermined: nil
            case .granted: row(waiting.request, question, .granted, .nobody, now)
            case .denied: row(waiting.request, question, .denied, .nobody, now)
            case .restricted: row(waiting.request, question, .restricted, .administrator, now)
            case .unavailable: row(waiting.request, question, .unavailable, .nobody, now)
            }
        }
        record(rows)
    }

    func row(
        _ request: AccessRequest, _ question: Question, _ outcome: Outcome, _ by: Author, _ now: Moment
    ) -> HistoryRow {
        HistoryRow(
            time: now.epoch, request: request.path, app: request.caller.app, question: question, outcome: outcome,
            by: by)
    }

    mutating func record(_ rows: [HistoryRow]) {
        if !rows.isEmpty { effects.append(.record(rows)) }
    }
}
