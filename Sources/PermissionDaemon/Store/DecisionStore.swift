// Decisions: read from memory and the file, judged as they are looked at, and told about once a change is on disk.

public import DBus
import Glibc
public import Logging
import PermissionCore
public import PermissionModel

/// Tells whether processes are running, and when they exit.
@LoopActor
public protocol ProcessLiveness: AnyObject {
    var onExit: (@LoopActor (ProcessKey) -> Void)? { get set }
    /// Whether exactly that process is running; if so, `onExit` follows when it has exited.
    func isAlive(_ process: ProcessKey) -> Bool
}

@LoopActor
public final class DecisionStore {
    /// Apps whose decisions are kept in memory: more than run at once on any desktop.
    private static let cachedApps = 4096
    /// Filters of decisions that are taken back and cannot be removed from the file: each is compared at every look.
    static let maximumVoid = 1024
    /// Rows of exited processes that cannot be removed from the file. They are found again at the next start.
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

    public var historyLimits: (rows: Int, days: Int) = (10_000, 90) {
        didSet { file.writer.setHistoryLimits(rows: historyLimits.rows, days: historyLimits.days) }
    }

    /// Decisions were made, or have ended.
    public var onChange: (@LoopActor ([DecisionChange]) -> Void)?
    /// The file's decisions are others than a moment ago, as it can be read again.
    var onReadAgain: (@LoopActor () -> Void)?
    /// A change was written after others could not be.
    var onWritableAgain: (@LoopActor () -> Void)?

    var cache: [AppID: Rows] = [:]
    /// What could not be written: it holds for the asking process, in memory alone.
    var held: [ProcessKey: [Subject: Decision]] = [:]
    /// Decisions that were taken back or have ended, whose rows may still be in the file.
    var void: Set<DecisionFilter> = []
    /// Rows that say nothing any more, to be removed with the next change.
    var removals: [Removal] = []
    /// What happened within the last minute.
    var fold = HistoryFold()
    var historyTimer: LoopTimer?
    /// The second up to which `until` decisions that are over were noticed.
    var noticedEnds = EpochSeconds.min
    /// No other `until` decision ends before; nil: not looked yet.
    var soonestEnd: EpochSeconds?
    /// The next end of a decision.
    var watchedEnd: (end: EpochSeconds, timer: LoopTimer)?

    /// Opens the file. A store that cannot be opened works in memory, and `findings` says why.
    /// - Parameter now: the wall clock.
    public init(
        paths: StorePaths, bootID: String, now: @escaping @Sendable () -> EpochSeconds,
        processes: (any ProcessLiveness)? = nil, log: Logger
    ) {
        self.log = log
        self.now = now
        let processes = processes ?? ProcessWatch()
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
            lookForBadEnds()
        case .readable: onReadAgain?()
        case .writable: onWritableAgain?()
        }
    }

    // MARK: Looking

    public var state: StoreState { file.state }

    /// What is wrong now, each a sentence.
    public var findings: [String] { file.findings }

    /// Whether a decision is in force.
    func holds(_ decision: Decision) -> Bool {
        decision.holds(at: now(), in: session.scopes) { processes.isAlive($0) }
    }

    /// The decision that is in force for a process of the app.
    public func decision(_ app: AppID, _ permission: Permission, for process: ProcessKey) -> Decision? {
        let rows = rows(of: app)
        return inForce(rows, permission) ?? inForce(rows, app, permission, process)
    }

    /// The decision that is in force for every process of the app.
    public func appDecision(_ app: AppID, _ permission: Permission) -> Decision? { inForce(rows(of: app), permission) }

    /// The decision that is in force for one process alone.
    public func processDecision(_ app: AppID, _ permission: Permission, _ process: ProcessKey) -> Decision? {
        inForce(rows(of: app), app, permission, process)
    }

    private func inForce(_ rows: Rows, _ permission: Permission) -> Decision? {
        guard let decision = rows.ofApp[permission], holds(decision), !isVoid(decision) else { return nil }
        return decision
    }

    private func inForce(
        _ rows: Rows, _ app: AppID, _ permission: Permission, _ process: ProcessKey
    ) -> Decision? {
        if !held.isEmpty, let decision = held[process]?[Subject(app: app, permission: permission)], holds(decision) {
            return decision
        }
        return rows.ofProcesses.first {
            $0.permission == permission && $0.process == process && holds($0) && !isVoid($0)
        }
    }

    /// Whether a process of the app has been granted that once.
    func isGrantedOnce(_ app: AppID, _ permission: Permission) -> Bool {
        (heldDecisions + rows(of: app).ofProcesses.filter { !isVoid($0) }).contains {
            $0.app == app && $0.permission == permission && $0.verdict == .grant && holds($0)
        }
    }

    var heldDecisions: [Decision] { held.values.flatMap(\.values) }

    func isVoid(_ decision: Decision) -> Bool {
        !void.isEmpty && void.contains { $0.matches(decision) }
    }

    /// SQLite's own check of the file adds to the findings. Reads everything.
    public func checkIntegrity() {
        var problems: [String] = []
        _ = file.read { (reader) throws(DatabaseError) in
            try reader.run("PRAGMA quick_check(5)") { problems.append($0.text(0)) }
        }
        for problem in problems where problem != "ok" {
            file.note("the store is damaged: \(file.path): \(problem)")
        }
    }

    // MARK: Changing

    /// Makes the changes, all or none; `then` hears once they are on disk, and gets the decisions that are gone. Everybody
    /// else is told after that.
    public func commit(
        _ changes: [Change], history: [HistoryRow], then: @escaping @LoopActor (Result<[Decision], StoreError>) -> Void
    ) {
        guard session.ensureSaved() || !changes.contains(where: \.isForSession) else {
            // In the order of the calls.
            return whenWritten { then(.failure(StoreError(reason: "the session's file cannot be written"))) }
        }
        let uptime = Loop.uptimeMilliseconds()
        let rows = history.map { fold.add($0, at: uptime).numbered }
        fold.wrote(rows)
        write(changes.map(scoped), rows) { [weak self] result in
            if case .failure = result { self?.fold.forget(rows) }
            then(result)
        }
    }

    /// Ties a decision to the session or the boot it is made in.
    private func scoped(_ change: Change) -> Change {
        guard case .set(var decision) = change else { return change }
        scope(&decision)
        return .set(decision)
    }

    private func scope(_ decision: inout Decision) {
        switch decision.duration {
        case .session: decision.scope = session.scopes.session
        case .once: decision.scope = session.scopes.boot
        case .until, .always: decision.scope = nil
        }
    }

    func write(
        _ changes: [Change], _ history: [NumberedRow],
        _ then: @escaping @LoopActor (Result<[Decision], StoreError>) -> Void
    ) {
        submit(changes, history, removes: !(changes.isEmpty && history.isEmpty), then)
    }

    /// - Parameter removes: whether rows that say nothing any more are removed with it.
    func submit(
        _ changes: [Change], _ history: [NumberedRow], removes: Bool,
        _ then: @escaping @LoopActor (Result<[Decision], StoreError>) -> Void
    ) {
        let (pending, void) = removes ? (removals, void) : ([], [])
        if removes { removals = [] }
        let rowsToRemove = void.map { Removal.decisions($0) } + pending
        let job = StoreJob(
            removals: rowsToRemove, changes: changes, history: history, session: session.scopes.session)
        file.write(job) { [weak self] result in
            guard let self else { return then(result) }
            switch result {
            case .success(let removed):
                // Queued before a removal that failed: it is written again behind that.
                if isOvertaken(changes, since: void) { return submit(changes, history, removes: true, then) }
                let gone = removed.filter { holds($0) && !isVoid($0) } + changes.flatMap(apply)
                dropRemoved(void)
                then(.success(gone))
                tell(changes, gone)
            case .failure(let error):
                for removal in pending.reversed() where !removals.contains(removal) { removals.insert(removal, at: 0) }
                let gone = takeBack(changes)
                then(.failure(error))
                tell([], gone)
            }
        }
    }

    /// What a change, now on disk, does to memory; the decisions that only memory had and that are gone.
    private func apply(_ change: Change) -> [Decision] {
        switch change {
        case .set(let decision):
            if let end = decision.duration.end {
                soonestEnd = soonestEnd.map { min($0, end) }
                // It may have ended while it was being written.
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
                _ = dropHeld(DecisionFilter(app: decision.app, permission: decision.permission))
            }
            return []
        case .remove(let app, let permission):
            if let app { cache[app] = nil } else { cache = [:] }
            return dropHeld(DecisionFilter(app: app, permission: permission))
        case .saveDismissals, .removeDismissals, .saveRuleFile, .removeRuleFile, .savePortalAnswer,
            .removePortalAnswer:
            return []
        }
    }

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

    func tell(_ changes: [Change], _ gone: [Decision]) {
        var told: [DecisionChange] = []
        for case .set(let decision) in changes {
            told.append(DecisionChange(app: decision.app, permission: decision.permission, verdict: decision.verdict))
        }
        told += gone.map { DecisionChange(app: $0.app, permission: $0.permission, verdict: nil) }
        guard !told.isEmpty else { return }
        watchNextEnd()
        onChange?(told)
        for case .set(let decision) in changes { watch(decision) }
    }

    /// What could not be written, for one process, until it ends or permd does.
    func hold(_ decision: Decision) {
        guard let process = decision.process else { return }
        var decision = decision
        decision.duration = .once
        scope(&decision)
        held[process, default: [:]][Subject(app: decision.app, permission: decision.permission)] = decision
        tell([.set(decision)], [])
    }

    /// Tries a file again that could not be read, for a caller that lists before its change does.
    func readAgain() { file.readAgain() }

    /// Calls `body` once everything that was queued before is on disk, or could not be written.
    public func whenWritten(_ body: @escaping @LoopActor () -> Void) {
        write([], []) { _ in body() }
    }

    /// Calls `body` once it was looked whether the files are still there, which the findings tell then.
    public func whenLookedAt(_ body: @escaping @LoopActor () -> Void) {
        session.ensureSaved()
        file.write(StoreJob(aim: .look)) { _ in body() }
    }

    /// Writes everything queued; nothing may be written after.
    public func close(then: @escaping @LoopActor () -> Void) {
        writeHistory()
        watchedEnd?.timer.cancel()
        watchedEnd = nil
        file.close(then: then)
    }

    // MARK: Inside

    private func rows(of app: AppID) -> Rows {
        if let known = cache[app] { return known }
        let found = file.read { (reader) throws(DatabaseError) -> Rows in
            var rows = Rows()
            try reader.run(
                "SELECT \(DecisionRows.columns) FROM decision WHERE app = ?", [.text(app.description)]
            ) { row in
                guard let decision = DecisionRows.decision(row) else { return foundBadRow() }
                if decision.process == nil {
                    rows.ofApp[decision.permission] = decision
                } else {
                    rows.ofProcesses.append(decision)
                }
            }
            return rows
        }
        guard let found else { return Rows() }
        if cache.count >= DecisionStore.cachedApps { cache.removeAll(keepingCapacity: true) }
        cache[app] = found
        return found
    }

    /// A row that a failing disk has ended is listed nowhere, so it is looked for here, as the index of ends has it.
    private func lookForBadEnds() {
        _ = try? rows(
            "SELECT \(DecisionRows.columns) FROM decision WHERE until <= ?", [.integer(now())], DecisionRows.decision)
    }

    /// A row that a failing disk, or an editor, has changed. Told once.
    func foundBadRow() {
        file.note("the store has damaged rows, which are left out; what they held is unknown now, apps ask again")
    }

    func rows<Row>(
        _ sql: String, _ values: [SQLValue], _ decode: (Statement) -> Row?
    ) throws(PermissionError) -> [Row] {
        var found: [Row] = []
        let read: Void? = file.read { (reader) throws(DatabaseError) in
            try reader.run(sql, values) { row in
                if let value = decode(row) { found.append(value) } else { foundBadRow() }
            }
        }
        if read == nil {
            throw PermissionError(.storeUnavailable, "the store cannot be read: \(state.why ?? "no file is open")")
        }
        return found
    }
}
