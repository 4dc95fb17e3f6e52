// Handles decisions: writes them, notifies others of changes, and resets them.

import DBus
import Logging
import PermissionCore
import PermissionModel
import System

extension Broker: PolicyCalls, PortalDecisions {
    func commit(_ request: Request, _ decisions: [Decision], _ rows: [HistoryRow]) {
        store.set(decisions, history: rows) { [weak self] result in
            guard let self else { return }
            switch result {
            case .success:
                log(rows)
                indicator.answered(decisions)
            case .failure(let error):
                log.error("Decisions could not be written and hold for the asking process only: \(error)")
                for decision in decisions {
                    store.setInMemory(decision, for: decision.process ?? request.caller.process)
                }
                // They are written when the store can be.
                store.history.record(rows)
            }
            feed(.committed(request.id))
        }
    }

    func settle(_ decision: Decision, _ completion: @escaping @LoopActor (Result<Void, PermissionError>) -> Void) {
        let question = Question.permission(decision.permission)
        let row = HistoryRow(
            time: decision.decided, request: "", app: decision.app, question: question,
            outcome: decision.verdict == .grant ? .granted : .denied, by: decision.by)
        store.set([decision], history: [row]) { [weak self] result in
            guard let self else { return }
            switch result {
            case .failure(let error): completion(.failure(error.ofChange))
            case .success:
                log([row])
                liftThrottle(decision.app, question)
                completion(.success(()))
            }
        }
    }

    func reset(
        app: AppID?, question: Question?, by: Author,
        _ completion: @escaping @LoopActor (Result<Int, PermissionError>) -> Void
    ) {
        let time = now()
        store.reset(DecisionFilter(app: app, question: question), by: by) { [weak self] result in
            guard let self else { return }
            liftThrottle(app, question)
            switch result {
            case .failure(let error): completion(.failure(error.ofReset))
            case .success(let removed):
                log(Set(removed.map { HistoryRow(resetOf: $0, by: by, at: time) }))
                completion(.success(removed.count))
            }
        }
    }

    func setSwitch(
        _ permission: Permission, on: Bool, by: Author,
        _ completion: @escaping @LoopActor (Result<Void, PermissionError>) -> Void
    ) {
        store.switches.set(permission, on: on, by: by) { [weak self] result in
            if case .success(let row?) = result { self?.log([row]) }
            completion(result.map { _ in }.mapError(\.ofChange))
        }
    }

    /// Permissions were switched off or on for every app.
    func switched(_ permissions: Set<Permission>) {
        guard !isDetached else { return }
        for permission in permissions {
            enforcement.notify(nil, permission)
            policyInterface.notifySwitch(permission)
        }
        reevaluate(nil)
    }

    var version: String { ProgramOptions.version }

    var waiting: [Request] { queue.requests }

    func pauses(app: AppID?, question: Question?) -> [Pause] {
        queue.pauses(at: Instant(epoch: now(), uptime: Loop.uptimeMilliseconds())).filter {
            (app == nil || $0.app == app) && (question == nil || $0.question == question)
        }
    }

    /// Notifies enforcement points, subscribers and the apps' connections of decisions that were made or have ended, and
    /// evaluates again what else depends on them.
    func changed(_ decisions: [DecisionChange]) {
        guard !isDetached else { return }
        for decision in decisions {
            enforcement.notify(decision.app, decision.permission)
            policyInterface.notifyDecision(decision.app, decision.permission, decision.verdict)
        }
        reevaluate(Set(decisions.map(\.app)))
    }

    /// Re-evaluates everything that depends on decisions and rules about these apps; nil means all apps.
    func reevaluate(_ apps: Set<AppID>?) {
        statuses.refresh(apps)
        portalSync.review()
        feed(.factsChanged)
    }

    /// The decisions of apps were read, and may be others than those known so far; nil means all apps.
    func decisionsRead(_ apps: Set<AppID>?) {
        guard !isDetached else { return }
        if let apps { for app in apps { enforcement.notify(app, nil) } } else { enforcement.notify(nil, nil) }
        reevaluate(apps)
    }

    /// Retries the background writes that failed.
    func writeAgain() {
        store.history.write()
        policy.saveValidTexts()
        portalSync.readAgain()
    }

    // MARK: The portals' store

    func portalSettled(
        _ app: AppID, _ permission: Permission, _ verdict: Verdict, _ completion: @escaping @LoopActor (Bool) -> Void
    ) {
        // A decision while the permission is switched off counts when it is on again.
        if !store.switches.isOff(permission), facts.portalVerdict(of: permission, for: app) == verdict {
            return completion(true)
        }
        let decision = Decision(
            app: app, permission: permission, verdict: verdict, duration: .always, decided: now(), by: .person)
        settle(decision) { [log] result in
            if case .failure(let error) = result {
                log.error("An entry of the portals' store could not be saved as a decision: \(error)")
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
        enforcement.notify(app, question?.permission)
    }
}
