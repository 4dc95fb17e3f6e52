// How requests enter and leave the queue, with their answers and history rows.

import PermissionModel

extension Queue {
    // MARK: Arrival

    mutating func arrive(_ request: Request, _ now: Instant, _ facts: some Facts) {
        var request = request
        guard request.isInteractive else {
            effects += [.accept(request), .respond(request, reply(to: request, .answered, facts))]
            return recordSettled(request, now, facts)
        }
        excludePaused(&request, now, facts)
        if let withdrawn = slots.first?.request, takesPlace(request, of: withdrawn, facts) {
            return takePlace(request, of: withdrawn)
        }
        let isAnswered = request.open(in: facts).isEmpty
        if !isAnswered, let refusal = throttleRefusal(of: request, now) ?? limitRefusal(of: request) {
            return effects.append(.refuse(request, refusal))
        }
        effects.append(.accept(request))
        let ended = endReservation(of: request.caller.connection)
        request.remainingReservation = ended?.reservation.remaining(at: now.uptime)
        if isAnswered {
            // It never waits and counts towards no limit.
            answer(request, at: ended?.index ?? slots.endIndex, settledReply(to: request, now, facts), now)
            return recordSettled(request, now, facts)
        }
        if let ended {
            slots.insert(.request(request), at: ended.index)
            mustRenumber = true
        } else {
            request.place = QueuePlace(position: slots.count { $0.request != nil })
            slots.append(.request(request))
            effects.append(.moved(request, from: nil))
        }
    }

    // MARK: The place of a withdrawn request

    /// Whether the prompt of a withdrawn request, as of a page that is loaded again, is also that of this one.
    private func takesPlace(_ request: Request, of withdrawn: Request, _ facts: some Facts) -> Bool {
        guard withdrawn.withdrawal != nil, !withdrawn.isSettling, let prompt = withdrawn.prompt else { return false }
        return request.continues(withdrawn) && request.open(in: facts) == prompt.items
    }

    private mutating func takePlace(_ request: Request, of withdrawn: Request) {
        var request = request
        request.prompt = withdrawn.prompt
        request.tried = withdrawn.tried
        request.place = withdrawn.place
        slots[0] = .request(request)
        effects += [.stopTimer(.withdrawal(withdrawn.id)), .accept(request), .moved(request, from: nil)]
        endReservation(of: request.caller.connection)
    }

    private func throttleRefusal(of request: Request, _ now: Instant) -> PermissionError? {
        guard let remaining = withdrawals.remaining(request.caller.app, at: now.uptime) else { return nil }
        return Queue.throttled(remaining)
    }

    private static func throttled(_ milliseconds: Int64) -> PermissionError {
        PermissionError(
            .limitExceeded,
            "this app withdrew \(Limits.withdrawals) requests within \(Limits.withdrawalWindow) s; ask again in \((milliseconds + 999) / 1000) s"
        )
    }

    private func limitRefusal(of request: Request) -> PermissionError? {
        let own = slots.count { $0.isWaiting && $0.request?.app == request.app }
        if own >= configuration.waitingPerApp {
            return PermissionError(
                .limitExceeded, "this app has \(own) requests waiting; ask again when one is answered")
        }
        let related = slots.count { $0.isWaiting && $0.request?.isRelated(to: request) == true }
        if let folder = request.userFolder, related >= configuration.waitingPerApp * Limits.appsPerFolder {
            return PermissionError(
                .limitExceeded, "programs in \(SafeText.line(folder)) have \(related) requests waiting; ask again later"
            )
        }
        let count = count
        let isSandboxed = request.caller.isSandboxed
        let others = slots.count { $0.isWaiting && $0.request?.caller.isSandboxed == false }
        let kept = configuration.waiting / Limits.sandboxedPlaces
        if count >= configuration.waiting || !isSandboxed && others >= configuration.waiting - kept {
            return PermissionError(.limitExceeded, "\(count) requests are waiting in total; ask again later")
        }
        return nil
    }

    private mutating func excludePaused(_ request: inout Request, _ now: Instant, _ facts: some Facts) {
        var rows: [HistoryRow] = []
        for item in request.open(in: facts)
        where dismissals.pauseEnd(request.app, item, at: now) != nil {
            request.excluded.insert(item)
            request.recorded.insert(item)
            rows.append(request.row(item, .dismissed, .throttle, now))
        }
        record(rows)
    }

    // MARK: Settling

    /// Re-evaluates every waiting request and answers those with nothing left to ask.
    mutating func settleAll(_ now: Instant, _ facts: some Facts) {
        let isSettled = { (request: Request) in !request.isSettling && request.open(in: facts).isEmpty }
        endRequests(where: isSettled) { queue, index in
            if let prompt = queue.slots[index].request?.prompt {
                queue.withdrawPrompt(prompt, .decided)
            }
            queue.finish(at: index, now, facts)
        }
    }

    /// Ends the requests that match, from the front. The places of the others may change meanwhile, as reservations move.
    mutating func endRequests(
        where isMeant: (Request) -> Bool = { _ in true }, _ end: (inout Queue, _ index: Int) -> Void
    ) {
        for request in slots.compactMap(\.request).filter(isMeant) {
            if let index = index(of: request.id) { end(&self, index) }
        }
    }

    /// Removes questions, undecided, from all waiting requests that are meant.
    mutating func exclude(
        _ items: [PromptItem], where isMeant: (Request) -> Bool, by author: Author, _ now: Instant,
        _ facts: some Facts
    ) {
        var rows: [HistoryRow] = []
        for index in slots.indices {
            guard let request = slots[index].request, isMeant(request), !request.isSettling else { continue }
            let open = request.open(in: facts).filter(items.contains)
            rows += open.map { request.row($0, .dismissed, author, now) }
            update(at: index) {
                $0.excluded.formUnion(open)
                $0.recorded.formUnion(open)
            }
        }
        record(rows)
    }

    /// Answers the request at `index` with the current statuses. A reservation may take its place.
    mutating func finish(at index: Int, _ now: Instant, _ facts: some Facts) {
        guard let request = slots[index].request else { return }
        remove(at: index)
        guard request.withdrawal == nil else { return withdrawalEnded(request, now, facts) }
        answer(request, at: index, settledReply(to: request, now, facts), now)
        recordSettled(request, now, facts)
    }

    /// Answers the request at `index` with an error. A reservation may take its place.
    mutating func fail(at index: Int, _ error: PermissionError, _ now: Instant, _ facts: some Facts) {
        guard let request = slots[index].request else { return }
        remove(at: index)
        guard request.withdrawal == nil else { return withdrawalEnded(request, now, facts) }
        answer(request, at: index, reply(to: request, .failed(error), facts), now)
        record(request.open(in: facts).map { request.row($0, .failed, .nobody, now) })
    }

    /// Answers a request that is not in the queue any more. A reservation may take its place.
    private mutating func answer(_ request: Request, at index: Int, _ reply: Reply, _ now: Instant) {
        var reply = reply
        reply.reservation = beginReservation(after: request, at: index, now)
        effects.append(.respond(request, reply))
    }

    // MARK: Withdrawal

    mutating func closed(_ id: RequestID, _ now: Instant, _ facts: some Facts) {
        guard let index = index(of: id), let request = slots[index].request else { return }
        if withdraw(at: index, .closed, now, facts) { countWithdrawal(of: request, now, facts) }
    }

    mutating func callerLeft(_ connection: String, _ now: Instant, _ facts: some Facts) {
        var withdrew: Request?
        endReservation(of: connection)
        for index in slots.indices.reversed() {
            guard let request = slots[index].request, request.caller.connection == connection else { continue }
            // The end of an enforcement point is not an action of the apps that it asked for.
            withdrew = withdraw(at: index, .left, now, facts) && request.device == nil ? request : nil
        }
        // A program that exits counts as one withdrawal, regardless of how many requests it had.
        if let withdrew { countWithdrawal(of: withdrew, now, facts) }
    }

    /// Removes a request whose caller wants no answer. Its prompt stays open for a moment, for an app that asks again.
    /// Returns false if the prompt stays, or an answer is already being written.
    private mutating func withdraw(at index: Int, _ why: WithdrawalReason, _ now: Instant, _ facts: some Facts) -> Bool
    {
        guard let request = slots[index].request, request.withdrawal == nil else { return false }
        effects.append(.forget(request))
        if request.prompt != nil, !request.isSettling {
            update(at: index) { $0.withdrawal = why }
            effects.append(.startTimer(.withdrawal(request.id), milliseconds: Limits.withdrawalGrace * 1000))
            return false
        }
        let open = request.isSettling ? [] : request.open(in: facts)
        remove(at: index)
        // Until the answer is on disk, the app's next request would ask the same question again.
        if request.isSettling { slots.insert(.settling(request.id), at: index) }
        record(open.map { request.row($0, .withdrawn, .nobody, now) })
        return !request.isSettling
    }

    /// The app has not asked again: its prompt is taken from the screen.
    mutating func withdrawalIsOver(_ id: RequestID, _ now: Instant, _ facts: some Facts) {
        guard let request = slots.first?.request, request.id == id, let why = request.withdrawal, !request.isSettling
        else { return }
        if let prompt = request.prompt { withdrawPrompt(prompt, why) }
        remove(at: 0)
        record(request.open(in: facts).map { request.row($0, .withdrawn, .nobody, now) })
        if why == .closed || request.device == nil { countWithdrawal(of: request, now, facts) }
    }

    /// A withdrawn request has left the queue before its prompt's time was over.
    private mutating func withdrawalEnded(_ request: Request, _ now: Instant, _ facts: some Facts) {
        effects.append(.stopTimer(.withdrawal(request.id)))
        record(request.open(in: facts).map { request.row($0, .withdrawn, .nobody, now) })
    }

    /// Counts a withdrawal. If the app is now throttled, its other requests fail, except the one on screen.
    private mutating func countWithdrawal(of request: Request, _ now: Instant, _ facts: some Facts) {
        let app = request.app
        let shown = request.prompt.map { now.uptime - $0.shown }
        if let shown { leftUnanswered(app, for: shown, now, facts) }
        let wanted = request.withdrawal == nil ? shown ?? 0 : (shown ?? 0) - Limits.withdrawalGrace * 1000
        guard wanted < Limits.flicker * 1000, withdrawals.withdrew(app, at: now.uptime) else { return }
        let error = Queue.throttled(withdrawals.remaining(app, at: now.uptime) ?? 0)
        let isWaiting = { (request: Request) in
            request.app == app && request.prompt == nil && !request.isSettling
        }
        endRequests(where: isWaiting) { queue, index in queue.fail(at: index, error, now, facts) }
    }

    private mutating func remove(at index: Int) {
        slots.remove(at: index)
        mustRenumber = true
    }

    // MARK: Reservations

    /// Ends the reservation of a connection, if it has one. Returns it and its place in the queue.
    @discardableResult
    mutating func endReservation(of connection: String) -> (reservation: Reservation, index: Int)? {
        guard let index = slots.firstIndex(where: { $0.reservation?.connection == connection }),
            let reservation = slots.remove(at: index).reservation
        else { return nil }
        effects.append(.stopTimer(.reservation(connection: connection)))
        return (reservation, index)
    }

    /// Replaces a request by a reservation if it asked for one and may have it. Returns the seconds that it lasts.
    private mutating func beginReservation(after request: Request, at index: Int, _ now: Instant) -> UInt32 {
        guard request.reservation > 0 else { return 0 }
        let wanted = Int64(min(request.reservation, Limits.maximumReservation)) * 1000
        let milliseconds: Int64
        if let left = request.remainingReservation {
            // The same reservation continues, regardless of how many requests use it.
            milliseconds = min(left, wanted)
        } else {
            milliseconds = reservations.begin(request.app, at: now.uptime) ? wanted : 0
        }
        guard milliseconds > 0 else { return 0 }
        let connection = request.caller.connection
        let others = slots[..<index].count { $0.reservation?.connection == connection }
        slots.removeAll { $0.reservation?.connection == connection }
        let reservation = Reservation(connection: connection, remaining: milliseconds, since: now.uptime)
        slots.insert(.reservation(reservation), at: index - others)
        effects.append(.startTimer(.reservation(connection: connection), milliseconds: milliseconds))
        return UInt32((milliseconds + 999) / 1000)
    }

    // MARK: Answers and rows

    func reply(to request: Request, _ code: Reply.Code, _ facts: some Facts) -> Reply {
        let permissions = request.items.compactMap(\.permission)
        var statuses: [Permission: Status] = [:]
        for permission in permissions { statuses[permission] = facts.status(of: permission, in: request) }
        return Reply(code: code, statuses: statuses, firstRefused: permissions.first { statuses[$0] != .granted })
    }

    /// The reply is "answered" if anything was decided or nothing is left undecided, otherwise "dismissed".
    private func settledReply(to request: Request, _ now: Instant, _ facts: some Facts) -> Reply {
        var reply = reply(to: request, .answered, facts)
        reply.answers = request.answers
        let open = request.items.filter { item in
            item.permission.map { reply.statuses[$0] == .undetermined } ?? true
        }
        reply.retryAfter = open.compactMap { dismissals.pauseEnd(request.app, $0, at: now) }.max()
            .map { $0 - now.epoch }
        let isDecided =
            request.answers.keys.contains { $0.permission == nil }
            || reply.statuses.values.contains { [.granted, .denied, .restricted].contains($0) }
        if !isDecided, !open.isEmpty { reply.code = .dismissed }
        return reply
    }

    /// Records outcomes that did not come from this request's own prompt.
    private mutating func recordSettled(_ request: Request, _ now: Instant, _ facts: some Facts) {
        let rows = request.items.filter { !request.recorded.contains($0) }.compactMap {
            item -> HistoryRow? in
            guard let permission = item.permission else { return nil }
            return switch facts.status(of: permission, in: request) {
            case .undetermined: nil
            case .granted: request.row(item, .granted, .nobody, now)
            case .denied: request.row(item, .denied, .nobody, now)
            case .restricted: request.row(item, .restricted, .administrator, now)
            case .unavailable: request.row(item, .unavailable, .nobody, now)
            }
        }
        record(rows)
    }

    mutating func record(_ rows: [HistoryRow]) {
        if !rows.isEmpty { effects.append(.record(rows)) }
    }
}
