// The store as the rooms see it: reads from a cache, writes through the writer, answers once they are on disk.

public import DBus
import Glibc
public import Logging
public import PermissionCore
public import PermissionModel

@LoopActor
public final class DecisionStore {
    /// Apps whose decisions are kept in memory: more than run at once on any desktop.
    private static let cachedApps = 4096

    struct Key: Hashable {
        let app: AppID
        let permission: Permission
    }

    public internal(set) var condition: StoreCondition = .ready
    public var historyLimits: (rows: Int, days: Int) = (10_000, 90) {
        didSet { writer.setHistoryLimits(rows: historyLimits.rows, days: historyLimits.days) }
    }

    /// The lasting decisions are others than a moment ago, as the file can be read again.
    var onReadAgain: (@LoopActor () -> Void)?
    /// A change was written after others could not be.
    var onWritableAgain: (@LoopActor () -> Void)?

    let paths: StorePaths
    let log: Logger
    let writer: StoreWriter
    var reader: Database?
    /// The files that the reader has open; nil when nothing can be written.
    var identity: StoreIdentity?
    /// They are not at their path any more, and could not be written there again so far.
    var isLost = false
    /// What memory held of a file that was damaged meanwhile, until it is in the next one.
    var remembered: [Decision] = []
    /// What opening found, and why nothing can be written at the moment.
    var openFindings: [String] = []
    var writeFinding: String?
    /// The file could not be opened for writing: what opening said of it stands.
    var isUnopened = false
    /// Nothing is left of what a crash made of the two files.
    var isReconciled = false
    /// The next change is to try the file anew.
    var mustReopen = false
    /// `Loop.uptimeMilliseconds()` before which that is not worth it.
    var nextTry: Int64 = 0
    /// The session's decisions are in their file, not in memory alone.
    let isSessionKept: Bool
    /// From here on findings are told when they are made.
    private var isOpen = false
    var lastSerial: Int64
    /// Lasting decisions by app, those of absent ones included.
    var cache: [AppID: [Permission: Decision]] = [:]
    var sessionDecisions: [Key: Decision] = [:]
    private var processDecisions: [ProcessKey: [Key: Decision]] = [:]
    private var nags: [NagRecord] = []
    /// What happened within the last minute.
    var fold = HistoryFold()
    var historyTimer: LoopTimer?
    private var sessions: [String] = []
    /// No `until` decision ends before; nil: not looked yet.
    var soonestEnd: EpochSeconds?

    /// Opens both databases; on a bad day the store is there all the same, and says what is wrong.
    public init(paths: StorePaths, bootID: String, now: EpochSeconds, log: Logger) {
        self.paths = paths
        self.log = log
        let lasting = StoreOpening.open(paths.stateFile, .persistent, synchronous: "FULL", now: now)
        var opened = StoreOpening.open(paths.sessionFile, .session, synchronous: "OFF", now: now)
        openFindings = lasting.findings + opened.findings
        if paths.session == nil {
            openFindings.append("XDG_RUNTIME_DIR is not set; decisions for the session are forgotten when permd ends")
        }
        isSessionKept = paths.session != nil && opened.database != nil && opened.problem == nil
        if let problem = opened.problem {
            openFindings.append("\(problem); decisions for the session are forgotten when permd ends")
            opened.database = StoreOpening.open(":memory:", .session, synchronous: "OFF", now: now).database
        }
        guard let session = opened.database else { preconditionFailure("no memory for the session's decisions") }
        reader = lasting.database
        lastSerial = 0
        writer = StoreWriter(session: session, identity: opened.identity)
        writer.onLoss = { [weak self] in self?.filesLost() }
        writer.onFinding = { [weak self] in self?.found($0) }
        taken(lasting, now)
        load(session, bootID)
        for finding in openFindings { log.error("\(finding)") }
        isOpen = true
        writer.start()
    }

    private func load(_ session: Database, _ bootID: String) {
        do throws(DatabaseError) {
            if try session.integer("SELECT count(*) FROM boot WHERE id = ?", [.text(bootID)]) != 1 {
                try session.execute(
                    "DELETE FROM decision; DELETE FROM nag; DELETE FROM login; DELETE FROM boot")
                try session.run("INSERT INTO boot VALUES (?)", [.text(bootID)])
            }
            if let reader {
                isReconciled = try SessionRows.reconcile(session: session, persistent: reader)
                if !isReconciled, !isUnopened { mustReopen = true }
            }
            try session.run("SELECT \(StoreRows.sessionColumns) FROM decision") { row in
                if let decision = StoreRows.sessionDecision(row) { keep(decision) } else { foundBadRow() }
            }
            try session.run("SELECT app, permission, count, paused_until, since FROM nag") { row in
                if let record = StoreRows.nag(row) { nags.append(record) }
            }
            try session.run("SELECT id FROM login") { sessions.append($0.text(0)) }
        } catch {
            openFindings.append("the session's decisions could not be read: \(error.description)")
        }
    }

    // MARK: Looking

    /// What is wrong now, each a sentence.
    public var findings: [String] { openFindings + (writeFinding.map { [$0] } ?? []) }

    /// The decision for every process of the app.
    public func appDecision(_ app: AppID, _ permission: Permission) -> Decision? {
        if !sessionDecisions.isEmpty, let decision = sessionDecisions[Key(app: app, permission: permission)] {
            return decision
        }
        return lasting(app)[permission]
    }

    /// The decision for one process alone.
    public func processDecision(_ app: AppID, _ permission: Permission, _ process: ProcessKey) -> Decision? {
        processDecisions.isEmpty ? nil : processDecisions[process]?[Key(app: app, permission: permission)]
    }

    public var onceDecisions: [Decision] { processDecisions.values.flatMap(\.values) }

    public func listNags() -> [NagRecord] { nags }

    public func savedSessions() -> [String] { sessions }

    /// When to look for `until` decisions that are over, after that second: not later than the earliest end.
    public func nextEnd(after time: EpochSeconds) -> EpochSeconds? {
        if soonestEnd == nil || soonestEnd! <= time {
            let found = read { (reader) throws(DatabaseError) in
                try reader.integer("SELECT min(until) FROM decision WHERE until > ?", [.integer(time)])
            }
            soonestEnd = found.map { $0 ?? .max }
        }
        return soonestEnd == .max ? nil : soonestEnd
    }

    /// The last good texts of rule files.
    public func ruleFiles() -> [(path: String, text: String)] {
        (try? rows("SELECT path, text FROM rule_file", []) { ($0.text(0), $0.text(1)) }) ?? []
    }

    /// What portals may have stored on our word.
    public func portalAnswers() -> [PortalAnswer] {
        (try? rows("SELECT portal_app, permission, app, verdict FROM portal_answer", [], StoreRows.portalAnswer)) ?? []
    }

    /// SQLite's own check of the file adds to the findings. Reads everything.
    public func checkIntegrity() {
        var problems: [String] = []
        _ = read { (reader) throws(DatabaseError) in
            try reader.run("PRAGMA quick_check(5)") { problems.append($0.text(0)) }
        }
        for problem in problems where problem != "ok" { found("the store is damaged: \(paths.stateFile): \(problem)") }
    }

    // MARK: Changing

    /// Makes the changes, all or none; `then` hears once they are on disk, and gets the decisions that are gone.
    public func commit(
        _ changes: [Change], history: [HistoryRow], then: @escaping @LoopActor (Result<[Decision], StoreError>) -> Void
    ) {
        let uptime = Loop.uptimeMilliseconds()
        let rows = history.map { fold.add($0, at: uptime).numbered }
        fold.wrote(rows)
        write(changes, rows) { [weak self] result in
            if case .failure = result { self?.fold.forget(rows) }
            then(result)
        }
    }

    func write(
        _ changes: [Change], _ history: [NumberedRow],
        _ then: @escaping @LoopActor (Result<[Decision], StoreError>) -> Void
    ) {
        if mustReopen { reopen() }
        lastSerial = max(lastSerial + 1, Int64(time(nil)) * 1_000_000)
        writer.add(
            StoreJob(changes: changes, history: history, serial: lastSerial) { [weak self] result in
                guard let self else { return }
                switch result {
                case .success(let removed):
                    // A barrier has written nothing, and proves nothing.
                    if !changes.isEmpty || !history.isEmpty { wrote() }
                    var gone = removed
                    for change in changes { gone += apply(change, removed) }
                    then(.success(gone))
                case .failure(let error):
                    // Nothing to write is a barrier, not a failure.
                    if changes.isEmpty, history.isEmpty { return then(.success([])) }
                    failed(error)
                    then(.failure(StoreError(reason: unopenedReason ?? error.description)))
                }
            })
    }

    /// Calls `body` once everything that was queued before is on disk, or could not be written.
    public func whenWritten(_ body: @escaping @LoopActor () -> Void) {
        commit([], history: []) { _ in body() }
    }

    /// Calls `body` once it was looked whether the files are still there, which the findings tell then.
    public func whenLookedAt(_ body: @escaping @LoopActor () -> Void) {
        if mustReopen { reopen() }
        writer.add(
            StoreJob(changes: [], history: [], serial: lastSerial, aim: .look) { [weak self] result in
                if case .failure(let error) = result, error.isLoss { self?.failed(error) }
                body()
            })
    }

    /// What could not be written, for one process, until it ends or permd does.
    public func holdInMemory(_ decision: Decision) {
        guard decision.process != nil else { return }
        keep(decision)
    }

    /// Writes everything queued; nothing may be added or read after.
    public func close(then: @escaping @LoopActor () -> Void) {
        writeHistory()
        // The reader has the files open, should they be taken away now; the last connection puts the log back into the
        // file.
        writer.stop { [self] in
            reader = nil
            then()
        }
    }

    // MARK: Inside

    private func lasting(_ app: AppID) -> [Permission: Decision] {
        if let known = cache[app] { return known }
        var found: [Permission: Decision] = [:]
        _ = read { (reader) throws(DatabaseError) in
            try reader.run(
                "SELECT \(StoreRows.decisionColumns) FROM decision WHERE app = ?", [.text(app.description)]
            ) { row in
                if let decision = StoreRows.decision(row) {
                    found[decision.permission] = decision
                } else {
                    foundBadRow()
                }
            }
        }
        if cache.count >= DecisionStore.cachedApps { cache.removeAll(keepingCapacity: true) }
        cache[app] = found
        return found
    }

    private func keep(_ decision: Decision) {
        let key = Key(app: decision.app, permission: decision.permission)
        if let process = decision.process {
            processDecisions[process, default: [:]][key] = decision
        } else {
            sessionDecisions[key] = decision
        }
    }

    /// What a change, now on disk, does to memory; the decisions of the session that are gone.
    private func apply(_ change: Change, _ removed: [Decision]) -> [Decision] {
        for decision in removed { cache[decision.app]?[decision.permission] = nil }
        switch change {
        case .set(let decision):
            let key = Key(app: decision.app, permission: decision.permission)
            if decision.process == nil {
                _ = drop { $0 == key }
                cache[decision.app]?[decision.permission] = decision.duration == .session ? nil : decision
            }
            if let end = decision.duration.end, let soonest = soonestEnd { soonestEnd = min(soonest, end) }
            if [.once, .session].contains(decision.duration) { keep(decision) }
            return []
        case .remove(let app, let permission):
            return drop { (app == nil || $0.app == app) && (permission == nil || $0.permission == permission) }
        case .endProcess(let process): return (processDecisions.removeValue(forKey: process) ?? [:]).map(\.value)
        case .endSession:
            nags = []
            return drop { _ in true }
        case .saveSessions(let now): sessions = now
        case .expire, .saveNag, .removeNag, .saveRuleFile, .removeRuleFile, .savePortalAnswer, .removePortalAnswer:
            break
        }
        return []
    }

    private func drop(_ isMeant: (Key) -> Bool) -> [Decision] {
        var gone: [Decision] = []
        for (key, decision) in sessionDecisions where isMeant(key) {
            gone.append(decision)
            sessionDecisions[key] = nil
        }
        for (process, decisions) in processDecisions {
            for (key, decision) in decisions where isMeant(key) {
                gone.append(decision)
                processDecisions[process]?[key] = nil
            }
            if processDecisions[process]?.isEmpty == true { processDecisions[process] = nil }
        }
        return gone
    }

    /// What a bad disk made of a row, or an editor. Told once.
    func foundBadRow() {
        found("the store has damaged rows, which are left out; what they held is unknown now, apps ask again")
    }

    func found(_ finding: String) {
        guard !openFindings.contains(finding) else { return }
        openFindings.append(finding)
        if isOpen { log.error("\(finding)") }
    }

    /// A decision of the session that a crash had left behind.
    func forget(_ decision: Decision) {
        let key = Key(app: decision.app, permission: decision.permission)
        if let process = decision.process {
            if processDecisions[process]?[key] == decision { processDecisions[process]?[key] = nil }
        } else if sessionDecisions[key] == decision {
            sessionDecisions[key] = nil
        }
    }

    func rows<Row>(
        _ sql: String, _ values: [SQLValue], _ decode: (Statement) -> Row?
    ) throws(PermissionError) -> [Row] {
        var found: [Row] = []
        let read: Void? = read { (reader) throws(DatabaseError) in
            try reader.run(sql, values) { row in
                if let value = decode(row) { found.append(value) } else { foundBadRow() }
            }
        }
        if read == nil, case .unavailable(let reason) = condition {
            throw PermissionError(.storeUnavailable, "the store cannot be read: \(reason)")
        }
        return found
    }

    /// Reads from the lasting database; nil when there is none or it fails, which is noted.
    private func read<T>(_ body: (Database) throws(DatabaseError) -> T) -> T? {
        guard let reader else { return nil }
        do throws(DatabaseError) { return try body(reader) } catch {
            failed(error)
            return nil
        }
    }
}
