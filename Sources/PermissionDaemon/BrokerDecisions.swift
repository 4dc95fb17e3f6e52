// Handles decisions: writes them, notifies others of changes, and resets them.

import DBus
import Logging
import PermissionCore
import PermissionModel
import System

extension Broker: PolicyCalls, PortalDecisions {
    func commit(_ request: Request, _ decisions: [Decision], _ rows: [HistoryRow]) {
        store.commit(decisions.map { .set($0) }, history: rows) { [weak self] result in
            guard let self else { return }
            switch result {
            case .success:
                log(rows)
                indicator.answered(decisions)
            case .failure(let error):
                log.error("Decisions could not be written and hold for the asking process only: \(error)")
                for decision in decisions { holdInMemory(decision, request.caller) }
            }
            feed(.committed(request.id))
        }
    }

    /// Keeps a decision that could not be written in memory, as a `once` decision for the requesting process.
    private func holdInMemory(_ decision: Decision, _ caller: Caller) {
        var held = decision
        held.process = decision.process ?? caller.process
        store.holdInMemory(held)
    }

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
                liftThrottle(decision.app, question)
            }
        }
    }

    func reset(
        app: AppID?, question: Question?, by: Author,
        _ completion: @escaping @LoopActor (Result<Int, PermissionError>) -> Void
    ) {
        let time = now()
        store.readAgain()
        var seen: Set<HistoryRow> = []
        var changes = [Change.removeDismissals(app: app, question: question)]
        var rows: [HistoryRow] = []
        if let filter = DecisionFilter(app: app, question: question) {
            changes.append(.remove(filter))
            rows = ((try? store.listDecisions(filter)) ?? []).map {
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
            liftThrottle(app, question)
        }
    }

    var version: String { ProgramOptions.version }

    var waiting: [Request] { queue.requests }

    func pauses(app: AppID?, question: Question?) -> [Pause] {
        queue.pauses(at: Instant(epoch: now(), uptime: Loop.uptimeMilliseconds())).filter {
            (app == nil || $0.app == app) && (question == nil || $0.question == question)
        }
    }

    /// Notifies subscribers of decisions that were made or have ended. Their effects are evaluated once for all changes
    /// of the same turn of the loop, before later calls are handled.
    func changed(_ decisions: [DecisionChange]) {
        guard !isDetached else { return }
        for decision in decisions {
            enforcement.tell(decision.app, decision.permission)
            policyInterface.tellDecision(decision.app, decision.permission, decision.verdict)
        }
        if changedApps.isEmpty { Loop.shared.later { self.publishChanges() } }
        changedApps.formUnion(decisions.map(\.app))
    }

    func publishChanges() {
        guard !isDetached, !changedApps.isEmpty else { return }
        let apps = changedApps
        changedApps = []
        lookAgain(at: apps)
    }

    /// Re-evaluates everything that depends on decisions and rules about these apps; nil means all apps.
    func lookAgain(at apps: Set<AppID>?) {
        statuses.refresh(apps)
        portalSync.review()
        feed(.factsChanged)
    }

    /// The store can be read again and may contain further decisions.
    func decisionsRead() {
        enforcement.tell(nil, nil)
        lookAgain(at: nil)
        store.lookForEnds()
    }

    /// Schedules another attempt at a failed background write, for the case that no other write happens.
    func writeLater() {
        guard rewriteTimer == nil else { return }
        rewriteTimer = Loop.shared.after(milliseconds: Broker.rewriteTime) { [weak self] in self?.writeAgain() }
    }

    /// Retries the background writes that failed.
    func writeAgain() {
        rewriteTimer?.cancel()
        rewriteTimer = nil
        policy.keepLastGood()
        portalSync.readAgain()
    }

    // MARK: The portals' store

    func portalSettled(
        _ app: AppID, _ permission: Permission, _ verdict: Verdict, _ completion: @escaping @LoopActor (Bool) -> Void
    ) {
        if facts.portalVerdict(of: permission, for: app) == verdict { return completion(true) }
        let decision = Decision(
            app: app, permission: permission, verdict: verdict, duration: .always, decided: now(), by: .person)
        settle(decision) { [weak self, log] result in
            if case .failure(let error) = result {
                log.error("An entry of the portals' store could not be saved as a decision: \(error)")
                self?.writeLater()
            }
            completion((try? result.get()) != nil)
        }
    }

    func portalForgot(_ app: AppID, _ permission: Permission) {
        guard store.appDecision(app, permission) != nil else { return }
        reset(app: app, question: .permission(permission), by: .person) { [log] result in
            if case .failure(let error) = result { log.error("A decision could not be reset: \(error)") }
        }
    }

    // MARK: The session

    /// The last login session has ended.
    func sessionEnded() {
        store.endSession()
        liftThrottle(nil, nil)
    }

    private func liftThrottle(_ app: AppID?, _ question: Question?) {
        feed(.throttleLifted(app: app, question: question))
        enforcement.tell(app, question?.permission)
    }
}
