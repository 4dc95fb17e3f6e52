// Decide, commit, enforce, notify, respond: the store reports a change and its completion as one event, which leads to
// the rest in the same turn.

import DBus
import Logging
import PermissionCore
import PermissionModel
import System

extension Coordinator: SettingsCalls, PortalDecisions {
    // MARK: Changes that are asked for

    func commit(_ request: Request, _ decisions: [Decision], _ rows: [HistoryRow]) {
        store.set(decisions, history: rows, orFor: request.caller.process) { [weak self] report in
            guard let self else { return }
            if let error = report.error {
                log.error("Decisions could not be written and hold for the asking process only: \(error)")
                // They are written when the store can be.
                store.history.record(rows)
            } else {
                log(rows)
                indicator.answered(decisions)
            }
            publish(report.changes, then: .committed(request.id))
        }
    }

    func decide(_ decision: Decision, _ completion: @escaping @LoopActor (Result<Void, PermissionError>) -> Void) {
        let item = PromptItem.permission(decision.permission)
        let row = HistoryRow(
            time: decision.decided, request: "", app: decision.app, item: item,
            outcome: decision.verdict == .grant ? .granted : .denied, by: decision.by)
        store.set([decision], history: [row]) { [weak self] report in
            guard let self else { return }
            if let error = report.error { return completion(.failure(error.ofChange)) }
            log([row])
            publish(report.changes, then: .throttleLifted(app: decision.app, item: item))
            completion(.success(()))
        }
    }

    func reset(
        app: AppID?, item: PromptItem?, by: Author,
        _ completion: @escaping @LoopActor (Result<Int, PermissionError>) -> Void
    ) {
        let time = now()
        store.reset(DecisionFilter(app: app, item: item), by: by) { [weak self] report in
            guard let self else { return }
            publish(report.changes, then: .throttleLifted(app: app, item: item))
            if let error = report.error { return completion(.failure(error.ofReset)) }
            log(Set(report.changes.map { HistoryRow(resetOf: $0.app, $0.permission, by: by, at: time) }))
            completion(.success(report.changes.count))
        }
    }

    func setSwitch(
        _ permission: Permission, on: Bool, by: Author,
        _ completion: @escaping @LoopActor (Result<Void, PermissionError>) -> Void
    ) {
        store.switches.set(permission, on: on, by: by) { [weak self] result in
            if case .success(let row?) = result {
                self?.log([row])
                self?.switched(permission)
            }
            completion(result.map { _ in }.mapError(\.ofChange))
        }
    }

    // MARK: What follows from changes

    /// What follows from a change of decisions, in the turn of the store's report: points and the guard enforce it,
    /// subscribers hear of it, and the queue settles what waits for it and answers.
    ///
    /// - Parameter event: What the change completes.
    private func publish(_ changes: [DecisionChange], then event: QueueEvent = .factsChanged) {
        guard !isDetached else { return }
        if case .throttleLifted(let app, let item) = event {
            // Of these are all changes, and a request that was dismissed unseen can be made again.
            enforcement.notify(app, item?.permission)
        } else {
            for change in changes { enforcement.notify(change.app, change.permission) }
        }
        for change in changes { settingsInterface.notifyDecision(change.app, change.permission, change.verdict) }
        reevaluate(Set(changes.map(\.app)), then: event)
    }

    /// Evaluates again what depends on facts about these apps; nil means all apps.
    func reevaluate(_ apps: Set<AppID>?, then event: QueueEvent = .factsChanged) {
        statuses.refresh(apps)
        portalSync.review()
        feed(event)
    }

    /// Facts have changed without anybody having asked for it.
    func changed(_ change: StoreChange) {
        guard !isDetached else { return }
        switch change {
        case .ended(let changes): publish(changes)
        case .read(let switches):
            enforcement.notify(nil, nil)
            for permission in switches { settingsInterface.notifySwitch(permission) }
            reevaluate(nil)
        }
    }

    /// Grants were taken back, and the store has reported their end.
    func tookBack(_ grants: [Decision]) {
        for grant in grants {
            log.notice(
                "\(grant.permission.rawValue) was taken back from \(grant.app), which has not used it for \(policy.configuration.unusedDays) days",
                metadata: ["app": "\(grant.app)", "permission": "\(grant.permission.rawValue)"])
        }
        indicator.tookBack()
    }

    /// A permission was switched off or on for every app.
    private func switched(_ permission: Permission) {
        guard !isDetached else { return }
        enforcement.notify(nil, permission)
        settingsInterface.notifySwitch(permission)
        reevaluate(nil)
    }

    /// Retries the background writes that failed.
    func writeAgain() {
        store.history.write()
        policy.saveValidTexts()
        portalSync.readAgain()
    }

    // MARK: State for settings programs

    var version: String { ProgramOptions.version }

    var waiting: [Request] { queue.requests }

    func pauses(app: AppID?, item: PromptItem?) -> [Pause] {
        queue.pauses(at: Instant(epoch: now(), uptime: Loop.uptimeMilliseconds())).filter {
            (app == nil || $0.app == app) && (item == nil || $0.item == item)
        }
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
        decide(decision) { [log] result in
            if case .failure(let error) = result {
                log.error("An entry of the portals' store could not be saved as a decision: \(error)")
            }
            completion((try? result.get()) != nil)
        }
    }

    func portalForgot(_ app: AppID, _ permission: Permission) {
        guard store.appDecision(app, permission) != nil else { return }
        reset(app: app, item: .permission(permission), by: .person) { [log] result in
            if case .failure(let error) = result { log.error("A decision could not be reset: \(error)") }
        }
    }

    // MARK: The session

    /// The last login session has ended.
    func sessionEnded() {
        store.endSession()
        publish([], then: .throttleLifted(app: nil, item: nil))
    }
}
