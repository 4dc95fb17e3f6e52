// The decisions: cached from the file, judged at each access, and published once a change is on disk.

import DBus
import Glibc
import Logging
import PermissionCore
import PermissionModel

@LoopActor
final class DecisionStore {
    /// The number of apps whose decisions are cached: more than run at once on any desktop.
    private static let cachedApps = 4096
    /// The maximum number of `void` filters: each is compared at every access.
    static let maximumVoid = 1024
    /// The maximum number of `removals`. Further rows are found again at the next start.
    static let maximumRemovals = 1024

    struct Subject: Hashable {
        let app: AppID
        let permission: Permission
    }

    /// The rows of one app, whether or not they are in force.
    struct Rows {
        var ofApp: [Permission: Decision] = [:]
        var ofProcesses: [Decision] = []
    }

    let file: StoreFile
    let session: SessionToken
    let processes: any ProcessLiveness
    let now: @Sendable () -> EpochSeconds
    let log: Logger

    var historyLimits: (rows: Int, days: Int) = (10_000, 90) {
        didSet { file.writer.setHistoryLimits(rows: historyLimits.rows, days: historyLimits.days) }
    }

    /// Called when decisions were made or have ended.
    var onChange: (@LoopActor ([DecisionChange]) -> Void)?
    /// Called when the file can be read again; its decisions may differ from those known so far.
    var onReadAgain: (@LoopActor () -> Void)?
    /// Called when a change was written after others could not be.
    var onWritableAgain: (@LoopActor () -> Void)?

    var cache: [AppID: Rows] = [:]
    /// Decisions that could not be written. They hold for the asking process, in memory only.
    var held: [ProcessKey: [Subject: Decision]] = [:]
    /// Selects revoked or ended decisions whose rows may still be in the file.
    var void: Set<DecisionFilter> = []
    /// Obsolete rows, to be removed with the next change.
    var removals: [Removal] = []
    /// The history rows of the last minute.
    var fold = HistoryFold()
    var historyTimer: LoopTimer?
    /// The time up to which ended `until` decisions were noticed.
    var noticedEnds = EpochSeconds.min
    /// The first end of an `until` decision after `noticedEnds`; nil if it is not known yet.
    var soonestEnd: EpochSeconds?
    /// The next end of a decision, and the timer for it.
    var watchedEnd: (end: EpochSeconds, timer: LoopTimer)?

    /// Opens the file. If that fails, the store works in memory and `findings` gives the reason.
    /// - Parameter now: the wall clock.
    init(
        paths: StorePaths, bootID: String, now: @escaping @Sendable () -> EpochSeconds,
        processes: any ProcessLiveness = ProcessWatch(), log: Logger
    ) {
        self.log = log
        self.now = now
        self.processes = processes
        session = SessionToken(path: paths.sessionFile, boot: bootID)
        let session = session
        file = StoreFile(
            path: paths.stateFile,
            origin: SessionOrigin(folder: paths.session, scopes: session.scopes) { session.keep(logins: $0) }, log: log)
        session.onFinding = { [weak file] in file?.note($0) }
        for finding in session.findings { file.note(finding) }
        file.onEvent = { [weak self] in self?.happened($0) }
        file.memory = { [weak self] in self?.cache.values.flatMap { $0.ofApp.values + $0.ofProcesses } ?? [] }
        processes.onExit = { [weak self] in self?.exited($0) }
        file.open()
    }

    private func happened(_ event: StoreFile.Event) {
        switch event {
        case .opened:
            cache = [:]
            soonestEnd = nil
            remove(.otherScopes(session.scopes))
            guard let reader = file.reader else { return }
            fold.goOn(after: (try? HistoryRows.lastNumber(reader)) ?? 0)
        case .readable: onReadAgain?()
        case .writable: onWritableAgain?()
        }
    }

    // MARK: Queries

    var state: StoreState { file.state }

    /// The current problems, each as a sentence.
    var findings: [String] { file.findings }

    func holds(_ decision: Decision) -> Bool {
        decision.holds(at: now(), in: session.scopes) { processes.isAlive($0) }
    }

    /// The decision that is in force for a process of the app.
    func decision(_ app: AppID, _ permission: Permission, for process: ProcessKey) -> Decision? {
        let rows = rows(of: app)
        if let decision = inForce(rows, permission) { return decision }
        if !held.isEmpty, let decision = held[process]?[Subject(app: app, permission: permission)], holds(decision) {
            return decision
        }
        return rows.ofProcesses.first {
            $0.permission == permission && $0.process == process && holds($0) && !isVoid($0)
        }
    }

    /// The decision that is in force for every process of the app.
    func appDecision(_ app: AppID, _ permission: Permission) -> Decision? { inForce(rows(of: app), permission) }

    private func inForce(_ rows: Rows, _ permission: Permission) -> Decision? {
        guard let decision = rows.ofApp[permission], holds(decision), !isVoid(decision) else { return nil }
        return decision
    }

    /// Whether a process of the app has a grant of its own.
    func isGrantedOnce(_ app: AppID, _ permission: Permission) -> Bool {
        (heldDecisions + rows(of: app).ofProcesses.filter { !isVoid($0) }).contains {
            $0.app == app && $0.permission == permission && $0.verdict == .grant && holds($0)
        }
    }

    var heldDecisions: [Decision] { held.values.flatMap(\.values) }

    func isVoid(_ decision: Decision) -> Bool {
        !void.isEmpty && void.contains { $0.matches(decision) }
    }

    /// Adds the result of SQLite's check of the file to the findings. Reads the whole file.
    func checkIntegrity() {
        _ = file.read { (reader) throws(DatabaseError) in
            try reader.run("PRAGMA quick_check(5)") { row in
                if row.text(0) != "ok" { file.note("the store is damaged: \(file.path): \(row.text(0))") }
            }
        }
    }

    // MARK: Changing

    /// Makes the changes, all or none. Once they are on disk, notifies observers, and then calls `then` with the decisions
    /// that were removed.
    func commit(
        _ changes: [Change], history: [HistoryRow], then: @escaping @LoopActor (Result<[Decision], StoreError>) -> Void
    ) {
        guard session.ensureSaved() || !changes.contains(where: { $0.decision?.duration == .session }) else {
            // Reported in the order of the calls.
            return whenWritten { then(.failure(StoreError(reason: "the session's token cannot be written"))) }
        }
        let uptime = Loop.uptimeMilliseconds()
        let rows = history.map { fold.add($0, at: uptime).numbered }
        fold.wrote(rows)
        write(changes.map(scoped), rows) { [weak self] result in
            if case .failure = result { self?.fold.forget(rows) }
            then(result)
        }
    }

    /// Ties a decision to the current session or boot.
    private func scoped(_ change: Change) -> Change {
        guard var decision = change.decision else { return change }
        switch decision.duration {
        case .session: decision.scope = session.scopes.session
        case .once: decision.scope = session.scopes.boot
        case .until, .always: decision.scope = nil
        }
        return .set(decision)
    }

    /// Writes the changes, and removes obsolete rows as well.
    func write(
        _ changes: [Change], _ history: [NumberedRow],
        _ then: @escaping @LoopActor (Result<[Decision], StoreError>) -> Void
    ) {
        let (pending, void) = (removals, void)
        removals = []
        let rowsToRemove = void.map { Removal.decisions($0) } + pending
        let job = StoreJob(
            removals: rowsToRemove, changes: changes, history: history, session: session.scopes.session)
        file.write(job) { [weak self] result in
            guard let self else { return then(result) }
            switch result {
            case .success(let removed):
                // An earlier reset of these decisions failed after this job was queued: write the job again.
                if isOvertaken(changes, since: void) { return write(changes, history, then) }
                let gone = removed.filter { holds($0) && !isVoid($0) } + changes.flatMap(apply)
                for filter in void {
                    self.void.remove(filter)
                    dropCached(filter)
                }
                tell(changes.compactMap(\.decision), gone)
                then(.success(gone))
            case .failure(let error):
                for removal in pending.reversed() where !removals.contains(removal) { removals.insert(removal, at: 0) }
                let gone = takeBack(changes)
                tell([], gone)
                then(.failure(error))
            }
        }
    }

    /// Applies a change that is on disk to memory. Returns the removed decisions that only memory had.
    private func apply(_ change: Change) -> [Decision] {
        switch change {
        case .set(let decision):
            if let end = decision.duration.end {
                soonestEnd = soonestEnd.map { min($0, end) }
                // The decision may have ended while it was being written.
                noticedEnds = min(noticedEnds, end - 1)
            }
            if let process = decision.process {
                cache[decision.app]?.ofProcesses.removeAll {
                    $0.permission == decision.permission && $0.process == process
                }
                cache[decision.app]?.ofProcesses.append(decision)
                held[process]?[Subject(app: decision.app, permission: decision.permission)] = nil
            } else {
                cache[decision.app]?.ofApp[decision.permission] = decision
                cache[decision.app]?.ofProcesses.removeAll { $0.permission == decision.permission }
                dropHeld(DecisionFilter(app: decision.app, permission: decision.permission))
            }
            return []
        case .remove(let filter):
            dropCached(filter)
            return dropHeld(filter)
        case .saveDismissals, .removeDismissals, .saveRuleFile, .removeRuleFile, .savePortalAnswer,
            .removePortalAnswer:
            return []
        }
    }

    private func dropCached(_ filter: DecisionFilter) {
        if let app = filter.app { cache[app] = nil } else { cache = [:] }
    }

    @discardableResult
    func dropHeld(_ filter: DecisionFilter) -> [Decision] {
        var gone: [Decision] = []
        for (process, decisions) in held {
            for (subject, decision) in decisions where filter.matches(decision) {
                gone.append(decision)
                held[process]?[subject] = nil
            }
            if held[process]?.isEmpty == true { held[process] = nil }
        }
        return gone
    }

    func tell(_ made: [Decision], _ gone: [Decision]) {
        let told =
            made.map { DecisionChange(app: $0.app, permission: $0.permission, verdict: $0.verdict) }
            + gone.map { DecisionChange(app: $0.app, permission: $0.permission, verdict: nil) }
        guard !told.isEmpty else { return }
        watchNextEnd()
        onChange?(told)
        for decision in made { watch(decision) }
    }

    /// Keeps a decision that could not be written, for one process, until that process or permd exits.
    func holdInMemory(_ decision: Decision) {
        guard let process = decision.process else { return }
        var decision = decision
        decision.duration = .once
        decision.scope = session.scopes.boot
        held[process, default: [:]][Subject(app: decision.app, permission: decision.permission)] = decision
        tell([decision], [])
    }

    /// Retries a file that could not be read, for a caller that lists before its change would retry it.
    func readAgain() { file.readAgain() }

    /// Calls `body` once everything queued before is on disk or has failed.
    func whenWritten(_ body: @escaping @LoopActor () -> Void) {
        file.write(StoreJob()) { _ in body() }
    }

    /// Calls `body` once the writer has checked that the files still exist; `findings` then has the result.
    func whenLookedAt(_ body: @escaping @LoopActor () -> Void) {
        session.ensureSaved()
        file.write(StoreJob(aim: .look)) { _ in body() }
    }

    /// Writes everything queued. Nothing may be written afterwards.
    func close(then: @escaping @LoopActor () -> Void) {
        writeHistory()
        watchedEnd?.timer.cancel()
        watchedEnd = nil
        file.close(then: then)
    }

    // MARK: Rows

    private func rows(of app: AppID) -> Rows {
        if let known = cache[app] { return known }
        guard let found = try? decisions(" WHERE app = ?", [.text(app.description)]) else { return Rows() }
        var rows = Rows()
        for decision in found {
            if decision.process == nil {
                rows.ofApp[decision.permission] = decision
            } else {
                rows.ofProcesses.append(decision)
            }
        }
        if cache.count >= DecisionStore.cachedApps { cache.removeAll(keepingCapacity: true) }
        cache[app] = rows
        return rows
    }

    /// The decisions whose rows are selected by `clauses`, in force or not.
    func decisions(_ clauses: String, _ values: [SQLValue]) throws(PermissionError) -> [Decision] {
        try rows("SELECT \(DecisionRows.columns) FROM decision\(clauses)", values, DecisionRows.decision)
    }

    func rows<Row>(
        _ sql: String, _ values: [SQLValue], _ decode: (Statement) -> Row?
    ) throws(PermissionError) -> [Row] {
        let found = file.read { (reader) throws(DatabaseError) in
            try reader.rows(sql, values) { row in
                let value = decode(row)
                // A failing disk or an editor has changed the row. This is reported only once.
                if value == nil {
                    file.note(
                        "the store has damaged rows, which are left out; their content is unknown now, so apps ask again"
                    )
                }
                return value
            }
        }
        guard let found else {
            throw PermissionError(.storeUnavailable, "the store cannot be read: \(state.why ?? "no file is open")")
        }
        return found
    }
}
