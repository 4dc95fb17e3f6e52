// What becomes of decisions: written, told, watched to their end, and reset.

import DBus
import Logging
import PermissionCore
import PermissionModel

extension Broker: PolicyCalls, PortalDecisions {
    func commit(_ id: RequestID, _ decisions: [Decision], _ rows: [HistoryRow]) {
        let caller = queue.caller(of: id)
        store.commit(decisions.map { .set($0) }, history: rows) { [weak self] result in
            guard let self else { return }
            switch result {
            case .success: log(rows)
            case .failure(let error):
                log.error("Decisions could not be written and hold for the asking process only: \(error)")
                for decision in decisions { holdInMemory(decision, caller) }
            }
            feed(.committed(id))
        }
    }

    /// What could not be written holds `once`, for the process that asked.
    private func holdInMemory(_ decision: Decision, _ caller: Caller?) {
        var held = decision
        held.process = decision.process ?? caller?.process
        store.hold(held)
    }

    /// A decision of `permctl` or a settings program: on disk before `completion` hears of it.
    func settle(_ decision: Decision, _ completion: @escaping @LoopActor (Result<Void, PermissionError>) -> Void) {
        let question = Question.permission(decision.permission)
        let row = HistoryRow(
            time: decision.decided, request: "", app: decision.app, question: question,
            outcome: decision.verdict == .grant ? .granted : .denied, by: decision.by)
        store.commit([.set(decision), .removeDismissals(app: decision.app, question: question)], history: [row]) {
            [weak self] result in
            guard let self else { return }
            switch result {
            case .failure(let error): completion(.failure(error.asPermissionError))
            case .success:
                log([row])
                completion(.success(()))
                feed(.throttleLifted(app: decision.app, question: question))
            }
        }
    }

    /// Forgets decisions and lifts pauses; nil means any. The completion gets how many decisions went.
    ///
    /// What cannot be removed from the store is taken back all the same, for as long as permd runs, and removed when that is
    /// possible; the completion gets an error then.
    func reset(
        app: AppID?, question: Question?, by: Author,
        _ completion: @escaping @LoopActor (Result<Int, PermissionError>) -> Void
    ) {
        let time = now()
        store.readAgain()
        var seen: Set<HistoryRow> = []
        var changes = [Change.removeDismissals(app: app, question: question)]
        var rows: [HistoryRow] = []
        // No decision is kept about a portal's question: only its pause is lifted.
        if question == nil || question?.permission != nil {
            let permission = question?.permission
            changes.append(.remove(app: app, permission: permission))
            rows = ((try? store.listDecisions(app: app, permission: permission)) ?? []).map {
                HistoryRow(
                    time: time, request: "", app: $0.app, question: .permission($0.permission), outcome: .reset, by: by)
            }.filter { seen.insert($0).inserted }
        }
        store.commit(changes, history: rows) { [weak self] result in
            guard let self else { return }
            switch result {
            case .failure(let error): completion(.failure(error.ofReset))
            case .success(let removed):
                log(rows)
                completion(.success(removed.count))
            }
            feed(.throttleLifted(app: app, question: question))
        }
    }

    var entries: [QueueEntry] { queue.entries }

    func pauses(app: AppID?, question: Question?) -> [Pause] {
        queue.pauses(at: Moment(epoch: now(), uptime: Loop.uptimeMilliseconds())).filter {
            (app == nil || $0.app == app) && (question == nil || $0.question == question)
        }
    }

    /// Tells everybody of decisions that are made or over, and looks at the waiting requests again: once for all that
    /// came in the same turn of the loop, before anything that is called next.
    func changed(_ decisions: [DecisionChange]) {
        guard !isDetached else { return }
        for decision in decisions {
            policyInterface.tellDecision(decision.app, decision.permission, decision.verdict)
        }
        if changedApps.isEmpty { Loop.shared.later { self.settleChanges() } }
        changedApps.formUnion(decisions.map(\.app))
    }

    private func settleChanges() {
        guard !isDetached else { return }
        let apps = changedApps
        changedApps = []
        lookAgain(at: apps)
    }

    /// Decisions, rules or what can be read of them are not what they were, for these apps, or for all for nil.
    func lookAgain(at apps: Set<AppID>?) {
        statuses.refresh(apps)
        portalSync.review()
        feed(.factsChanged)
    }

    /// A disk was mended: decisions hold that nobody knew of.
    func decisionsRead() {
        lookAgain(at: nil)
        store.lookForEnds()
    }

    /// Something that nobody waits for could not be written. It is tried again though nothing else is written meanwhile.
    func writeLater() {
        guard rewriteTimer == nil else { return }
        rewriteTimer = Loop.shared.after(milliseconds: Broker.rewriteTime) { [weak self] in self?.writeAgain() }
    }

    /// A disk was mended: what nobody waits for and could not be written is written now.
    func writeAgain() {
        rewriteTimer?.cancel()
        rewriteTimer = nil
        policy.keepLastGood()
        portalSync.adoptAgain()
    }

    // MARK: The portals' store

    /// Another program wrote it into the portals' store; true once it is a decision here.
    func portalSettled(
        _ app: AppID, _ permission: Permission, _ verdict: Verdict, _ completion: @escaping @LoopActor (Bool) -> Void
    ) {
        if facts.portalStanding(of: permission, for: app) == verdict { return completion(true) }
        let decision = Decision(
            app: app, permission: permission, verdict: verdict, duration: .always, decided: now(), by: .person)
        settle(decision) { [weak self, log] result in
            if case .failure(let error) = result {
                log.error("What the portals say is not kept here: \(error)")
                self?.writeLater()
            }
            completion((try? result.get()) != nil)
        }
    }

    /// Another program deleted it from the portals' store.
    func portalForgot(_ app: AppID, _ permission: Permission) {
        guard store.appDecision(app, permission) != nil else { return }
        reset(app: app, question: .permission(permission), by: .person) { [log] result in
            if case .failure(let error) = result { log.error("A decision could not be forgotten: \(error)") }
        }
    }

    // MARK: The session

    /// The last login session is over.
    func sessionEnded() {
        store.endSession()
        feed(.throttleLifted(app: nil, question: nil))
    }
}
