// The decisions: all of them are in memory, where they are judged at each access, and the file is the log of their changes.
// A change is in force, and reported, once it is on disk.

import DBus
import Logging
import PermissionCore
import PermissionModel

@LoopActor
final class DecisionStore {
    let queue: StoreQueue
    let history: StoreHistory
    let switches: Switches
    private let lastUses: LastUses
    let log: Logger
    /// How many decisions are kept.
    let maximum: Int

    private let processes: any ProcessLiveness
    private let now: @Sendable () -> EpochSeconds
    private let uptime: @Sendable () -> Int64
    /// The user's session, which decisions for the session belong to.
    private(set) var session: UserSession
    private var memory = DecisionMemory()
    /// Whether the decisions in the file were read. Until then nobody has one.
    private var isRead = false
    /// Decisions that are being written and replace no other.
    private var growth = 0
    /// Wait for the next end of an `until` decision, by the wall clock and by the time since boot.
    private var nextEnds: [LoopTimer] = []

    /// Called with what has changed without having been asked for.
    var onChange: (@LoopActor (StoreChange) -> Void)?

    /// The file is opened and read by the worker with the first job. If that fails, the store works in memory, and
    /// `problems` has the reason.
    ///
    /// - Parameters:
    ///   - session: The one that ``UserSession/init(path:boot:)`` has read.
    ///   - now: The wall clock.
    ///   - uptime: Milliseconds since boot.
    init(
        paths: StorePaths, session: UserSession, now: @escaping @Sendable () -> EpochSeconds,
        uptime: @escaping @Sendable () -> Int64 = { Loop.uptimeMilliseconds() },
        processes: any ProcessLiveness = ProcessWatch(), maximum: Int = Limits.decisions, log: Logger
    ) {
        self.now = now
        self.uptime = uptime
        self.maximum = maximum
        self.processes = processes
        self.session = session
        self.log = log
        queue = StoreQueue(paths: paths, log: log)
        history = StoreHistory(queue, now: now)
        switches = Switches(queue, history, now: now)
        lastUses = LastUses(queue, now: now)
        queue.pendingResets = { [weak self] in self.map { Array($0.memory.pendingResets) } ?? [] }
        queue.onRead = { [weak self] in self?.read($0) }
        processes.onExit = { [weak self] in self?.exited($0) }
        saveSession()
    }

    private func read(_ facts: StoredFacts) {
        memory.read(facts.decisions.map(limited), atMost: maximum)
        isRead = true
        lastUses.read(facts.lastUses)
        let turned = switches.read(facts.off)
        onChange?(.read(switches: turned))
        noticeEnds()
    }

    // MARK: The session

    func setLogins(_ logins: [String]) {
        guard logins != session.logins else { return }
        session.logins = logins
        saveSession()
    }

    /// Ends the session's decisions after the last login session has ended.
    func endSession() {
        session.replace()
        saveSession()
        noticeEnds()
        forgetDismissals()
    }

    private func saveSession() {
        queue.add(session: session, inBackground: true) { _ in
        } then: { _ in
        }
    }

    // MARK: In memory

    private func isInForce(_ decision: Decision) -> Bool {
        decision.isInForce(at: now(), uptime: uptime(), in: session.scopes) { processes.isAlive($0) }
    }

    /// The decision that is in force for a process of the app: the app's, or else the process's own.
    func decision(_ app: AppID, _ permission: Permission, for process: ProcessKey) -> Decision? {
        appDecision(app, permission)
            ?? memory.first(app) { $0.permission == permission && $0.process == process && isInForce($0) }
    }

    /// The decision that is in force for every process of the app.
    func appDecision(_ app: AppID, _ permission: Permission) -> Decision? {
        if !isRead { queue.read() }
        return memory.first(app) { $0.permission == permission && $0.process == nil && isInForce($0) }
    }

    /// Why the app's last grant that has ended did; nil if that is not known.
    func lastEnd(_ app: AppID, _ permission: Permission) -> GrantEnd? { memory.lastEnd(app, permission) }

    /// Whether a process of the app has a grant of its own.
    func isGrantedOnce(_ app: AppID, _ permission: Permission) -> Bool {
        let grant = memory.first(app) {
            $0.permission == permission && $0.verdict == .grant && $0.process != nil && isInForce($0)
        }
        return grant != nil
    }

    /// The decisions in force, by app. Throws if they are unknown, because the file could not be read yet.
    func decisions(_ filter: DecisionFilter) throws(StoreError) -> [AppID: [Decision]] {
        guard isRead else {
            queue.read()
            throw StoreError(reason: queue.state?.why ?? "it is not open yet")
        }
        return memory.all(filter.app) { filter.matches($0) && isInForce($0) }
    }

    /// Whether there is room only for decisions that replace others.
    var isFull: Bool { memory.writtenCount + growth >= maximum }

    // MARK: Changing

    /// Writes decisions with their history, all or none, and removes pauses of these apps. Calls `then` once that is on
    /// disk, or has failed.
    ///
    /// - Parameter process: What decisions that cannot be written hold for, until it exits; nil if they are not made then.
    func set(
        _ decisions: [Decision], history rows: [HistoryRow], orFor process: ProcessKey? = nil,
        then: @escaping @LoopActor (StoreReport) -> Void
    ) {
        let (decisions, isForSession) = (decisions.map(scoped), decisions.contains { $0.duration == .session })
        let new = decisions.count { !memory.replaces($0) }
        let isTooMany = new > 0 && memory.writtenCount + growth + new > maximum
        growth += new
        // Rows that wait are older than these.
        history.write()
        queue.add(writes: !isTooMany, session: isForSession ? session : nil) { (database) throws(DatabaseError) in
            guard !isTooMany else { return }
            for decision in decisions { try DecisionRows.set(decision, database) }
            for row in rows { try HistoryRows.write(row, database) }
        } then: { [self] result in
            growth -= new
            switch isTooMany ? .failure(.full(maximum)) : result {
            case .success:
                memory.resetsWritten()
                for decision in decisions { memory.set(limited(decision)) }
                history.wrote(rows.count)
                then(made(decisions))
            case .failure(let error):
                let unwritten = process.map { process in decisions.map { held($0, for: process) } } ?? []
                for decision in unwritten { memory.setUnwritten(decision) }
                then(made(unwritten, error))
            }
        }
    }

    /// The report of decisions that are in memory now. One that has ended already ends after the report.
    private func made(_ decisions: [Decision], _ error: StoreError? = nil) -> StoreReport {
        if decisions.contains(where: { $0.duration != .always }) { Loop.shared.later { self.noticeEnds() } }
        return StoreReport(made: decisions, error: error)
    }

    /// Ties a decision to the current session or boot.
    private func scoped(_ decision: Decision) -> Decision {
        var decision = decision
        switch decision.duration {
        case .session: decision.scope = session.scopes.session
        case .once: decision.scope = session.scopes.boot
        case .until, .always: decision.scope = nil
        }
        return decision
    }

    private func limited(_ decision: Decision) -> Decision {
        decision.limited(at: Instant(epoch: now(), uptime: uptime()))
    }

    /// The decision as it holds for one process, until that process or permd exits.
    private func held(_ decision: Decision, for process: ProcessKey) -> Decision {
        var decision = decision
        decision.process = decision.process ?? process
        decision.duration = .once
        return scoped(decision)
    }

    /// Removes decisions and pauses, with a row of history for each app and permission. Calls `then` once that is on disk;
    /// if it cannot be written, it takes effect in memory. The report has the decisions that were in force.
    func reset(_ filter: DecisionFilter, by author: Author, then: @escaping @LoopActor (StoreReport) -> Void) {
        let (scopes, time) = (session.scopes, now())
        history.write()
        queue.add(writes: true, resets: [filter]) { (database) throws(DatabaseError) in
            try DecisionRows.reset(filter, by: author, at: time, in: scopes, database)
        } then: { [self] result in
            switch result {
            case .success(let rows):
                memory.resetsWritten()
                let gone = memory.reset(filter).filter(isInForce)
                history.wrote(rows)
                then(StoreReport(gone: gone))
            case .failure(let error):
                then(StoreReport(gone: revoke(filter), error: error))
            }
        }
    }

    /// Revokes decisions whose reset cannot be written. Returns those that were in force.
    private func revoke(_ filter: DecisionFilter) -> [Decision] {
        if let revoked = memory.revoke(filter) { return revoked.filter(isInForce) }
        log.error("Too many resets could not be written; further ones have no effect until they can be")
        return []
    }

    // MARK: Ends

    /// Notices decisions that have ended, and waits for the next end of an `until`. They end without this; see
    /// Decision.isInForce.
    func noticeEnds() {
        end(by: { GrantEnd(of: $0.duration) }, where: { !isInForce($0) })
        for timer in nextEnds { timer.cancel() }
        nextEnds = [
            memory.firstEnd.map { Loop.shared.at(epochSeconds: $0) { [weak self] in self?.noticeEnds() } },
            memory.firstDeadline.map {
                Loop.shared.after(milliseconds: max(0, $0 - uptime())) { [weak self] in self?.noticeEnds() }
            },
        ].compactMap(\.self)
    }

    /// The app uses what it is granted.
    func noteUse(_ app: AppID, _ permission: Permission) {
        if let grant = appDecision(app, permission), grant.isGrantForEver { lastUses.note(grant) }
    }

    /// Ends the grants for ever that nobody has used since that time, with a row of history for each.
    func endUnused(since time: EpochSeconds, unless isInUse: (AppID, Permission) -> Bool) -> [Decision] {
        let isOver = { [lastUses] (decision: Decision) in
            decision.isGrantForEver && lastUses.time(of: decision) < time && !isInUse(decision.app, decision.permission)
        }
        let ended = end(by: { _ in .unused }, where: isOver)
        history.record(ended.map { HistoryRow(resetOf: $0.app, $0.permission, by: .unused, at: now()) })
        queue.add(writes: true, inBackground: true, LastUseRows.trim) { _ in }
        return ended
    }

    /// Ends the `once` decisions of a process that has exited, or those of one app that the process holds for it.
    func exited(_ process: ProcessKey, of app: AppID? = nil) {
        end(by: { GrantEnd(of: $0.duration) }, where: { $0.process == process && (app == nil || app == $0.app) })
    }

    /// Removes decisions from memory. Their rows, which have no effect, are removed when that is possible.
    @discardableResult
    private func end(by why: (Decision) -> GrantEnd?, where isOver: (Decision) -> Bool) -> [Decision] {
        let ended = memory.remove(ending: why, where: isOver)
        guard !ended.isEmpty else { return [] }
        queue.add(writes: true, inBackground: true) { (database) throws(DatabaseError) in
            for decision in ended { try DecisionRows.delete(decision, database) }
        } then: { _ in
        }
        onChange?(.ended(StoreReport(gone: ended).changes))
        return ended
    }

    // MARK: The file

    /// Calls `body` once everything queued before is on disk or has failed.
    func whenWritten(_ body: @escaping @LoopActor () -> Void) {
        queue.add(inBackground: true) { _ in
        } then: { _ in
            body()
        }
    }

    /// Writes everything queued and closes the file. Nothing may be written afterwards.
    func close(then: @escaping @LoopActor () -> Void) {
        history.write()
        for timer in nextEnds { timer.cancel() }
        queue.close(then: then)
    }
}

extension Decision {
    var isGrantForEver: Bool { verdict == .grant && duration == .always }
}
