// What becomes of decisions: written, told, watched to their end, and reset.

import DBus
import Logging
import PermissionCore
import PermissionModel

extension Broker {
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
            for decision in decisions { watchProcess(of: decision) }
            feed(.committed(id))
            changed(decisions.map { ($0.app, $0.permission, $0.verdict) })
        }
    }

    /// What could not be written holds `once`, for the process that asked.
    private func holdInMemory(_ decision: Decision, _ caller: Caller?) {
        guard let process = decision.process ?? caller?.process else { return }
        var held = decision
        held.duration = .once
        held.process = process
        store.holdInMemory(held)
        watchProcess(of: held)
    }

    /// A decision of `permctl` or a settings program: on disk before `completion` hears of it.
    func settle(_ decision: Decision, _ completion: @escaping @LoopActor (Result<Void, PermissionError>) -> Void) {
        let row = HistoryRow(
            time: decision.decided, request: "", app: decision.app, permission: decision.permission,
            outcome: decision.verdict == .grant ? .granted : .denied, by: decision.by)
        store.commit([.set(decision)], history: [row]) { [weak self] result in
            guard let self else { return }
            switch result {
            case .failure(let error): completion(.failure(error.asPermissionError))
            case .success:
                log([row])
                completion(.success(()))
                feed(.nagLifted(app: decision.app, permission: decision.permission))
                changed([(decision.app, decision.permission, decision.verdict)])
            }
        }
    }

    /// Forgets decisions and lifts the nag guard; nil means any. The completion gets how many decisions went.
    func reset(
        app: AppID?, permission: Permission?, by: Author = .permctl,
        _ completion: @escaping @LoopActor (Result<Int, PermissionError>) -> Void
    ) throws(PermissionError) {
        let time = now()
        store.readAgain()
        var seen: Set<HistoryRow> = []
        let rows = try store.listDecisions(app: app, permission: permission, at: time).map {
            HistoryRow(
                time: time, request: "", app: $0.app, permission: $0.permission, outcome: .reset, by: by)
        }.filter { seen.insert($0).inserted }
        store.commit(
            [.remove(app: app, permission: permission), .removeNag(app: app, permission: permission)], history: rows
        ) { [weak self] result in
            guard let self else { return }
            switch result {
            case .failure(let error): completion(.failure(error.asPermissionError))
            case .success(let removed):
                log(rows)
                completion(.success(removed.count))
                feed(.nagLifted(app: app, permission: permission))
                changed(removed.map { ($0.app, $0.permission, nil) })
            }
        }
    }

    func pauses(app: AppID?, permission: Permission?) -> [Pause] {
        queue.pauses(at: Moment(epoch: now(), uptime: Loop.uptimeMilliseconds())).filter {
            (app == nil || $0.app == app) && (permission == nil || $0.permission == permission)
        }
    }

    /// Tells everybody of decisions that are made or over, and looks at the waiting requests again: once for all that
    /// came in the same turn of the loop, before anything that is called next.
    func changed(_ decisions: [(app: AppID, permission: Permission, verdict: Verdict?)]) {
        guard !decisions.isEmpty, !isDetached else { return }
        for decision in decisions {
            policyDoor.tellDecision(decision.app, decision.permission, decision.verdict)
        }
        if changedApps.isEmpty { Loop.shared.later { self.settleChanges() } }
        changedApps.formUnion(decisions.map(\.app))
    }

    private func settleChanges() {
        guard !isDetached else { return }
        let apps = changedApps
        changedApps = []
        lookAgain(at: apps)
        watchNextEnd()
    }

    /// Decisions, rules or what can be read of them are not what they were, for these apps, or for all for nil.
    func lookAgain(at apps: Set<AppID>?) {
        statuses.refresh(apps)
        portalAnswers.review()
        feed(.worldChanged)
    }

    /// A disk was mended: decisions hold that nobody knew of.
    func decisionsRead() {
        lookAgain(at: nil)
        endDecisions()
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
        rules.keepLastGood()
        portalAnswers.adoptAgain()
    }

    // MARK: The portals' store

    /// What decisions and rules say about an app as portals know it, which is every process of it at once. The Camera
    /// portal looks again when the camera is opened, so what one process has once stays as long as the process does.
    func portalStanding(of permission: Permission, for app: AppID) -> Verdict? {
        if rules.isRestricted(app, permission) { return .deny }
        if let decided = verdict(store.appDecision(app, permission)) { return decided }
        if rules.isGranted(app, permission) { return .grant }
        let isOnce = store.onceDecisions.contains {
            $0.app == app && $0.permission == permission && $0.verdict == .grant
        }
        return permission == .camera && isOnce ? .grant : nil
    }

    /// Another program wrote it into the portals' store; true once it is a decision here.
    func portalSettled(
        _ app: AppID, _ permission: Permission, _ verdict: Verdict, _ completion: @escaping @LoopActor (Bool) -> Void
    ) {
        if portalStanding(of: permission, for: app) == verdict { return completion(true) }
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
        do throws(PermissionError) {
            try reset(app: app, permission: permission, by: .person) { [log] result in
                if case .failure(let error) = result { log.error("A decision could not be forgotten: \(error)") }
            }
        } catch {
            log.error("A decision could not be forgotten: \(error)")
        }
    }

    // MARK: Ends

    func watchProcess(of decision: Decision) {
        guard !isDetached, let process = decision.process else { return }
        let isRunning = processes.watch(process) { [weak self] in self?.drop(.endProcess(process)) }
        if !isRunning { drop(.endProcess(process)) }
    }

    /// Drops `until` decisions whose second has come, and waits for the next.
    func endDecisions() {
        if let end = store.nextEnd(after: EpochSeconds.min), end <= now() { drop(.expire(now())) }
        watchNextEnd()
    }

    private func watchNextEnd() {
        let end = store.nextEnd(after: now())
        guard end != watchedEnd?.end else { return }
        watchedEnd?.timer.cancel()
        watchedEnd = end.map { end in
            let timer = Loop.shared.at(epochSeconds: end) { [weak self] in
                self?.watchedEnd = nil
                self?.endDecisions()
            }
            return (end, timer)
        }
    }

    /// The last login session is over.
    func sessionEnded() { drop(.endSession) }

    func keepSessions(_ sessions: [String]) {
        guard sessions != store.savedSessions() else { return }
        store.commit([.saveSessions(sessions)], history: []) { _ in }
    }

    private func drop(_ change: Change) {
        store.commit([change], history: []) { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let removed): changed(removed.map { ($0.app, $0.permission, nil) })
            case .failure(let error): log.error("Decisions that are over could not be removed: \(error)")
            }
        }
    }
}
