// The decisions: those of the apps that are present are in memory, where they are judged at each access. A change is
// published once it is on disk.

import DBus
import Logging
import PermissionCore
import PermissionModel

@LoopActor
final class DecisionStore {
    /// How many apps' decisions are kept that are not present, for those that come again. More than run at once on any
    /// desktop.
    private static let keptApps = 4096

    let queue: StoreQueue
    let processes: any ProcessLiveness
    let now: @Sendable () -> EpochSeconds

    private let log: Logger
    let history: StoreHistory
    let switches: Switches
    /// Waits for the next end of an `until` decision.
    var nextEnd: LoopTimer?

    /// The user's session, which decisions for the session belong to.
    private(set) var session: UserSession

    /// Called when decisions were made or have ended.
    var onChange: (@LoopActor ([DecisionChange]) -> Void)?
    /// Called when decisions of apps were read that may differ from those known so far; nil means all apps.
    var onRead: (@LoopActor (Set<AppID>?) -> Void)?
    /// Returns the apps whose decisions must stay in memory.
    var presentApps: (@LoopActor () -> Set<AppID>)?

    private var memory = DecisionMemory()
    private var mostApps = DecisionStore.keptApps
    /// Apps whose decisions could not be read. They have none until that works.
    private var unread: Set<AppID> = []

    /// The file is opened by the worker with the first job. If that fails, the store works in memory, and `problems`
    /// has the reason.
    ///
    /// - Parameters:
    ///   - session: The one that ``UserSession/init(path:boot:)`` has read.
    ///   - now: The wall clock.
    init(
        paths: StorePaths, session: UserSession, now: @escaping @Sendable () -> EpochSeconds,
        processes: any ProcessLiveness = ProcessWatch(), log: Logger
    ) {
        self.now = now
        self.processes = processes
        self.session = session
        self.log = log
        queue = StoreQueue(paths: paths, log: log)
        history = StoreHistory(queue, now: now)
        switches = Switches(queue, history, now: now)
        queue.owed = { [weak self] in self.map { Array($0.memory.void) } ?? [] }
        queue.onReopened = { [weak self] in self?.readAgain() }
        processes.onExit = { [weak self] in self?.exited($0) }
        saveSession()
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
        end(.otherScopes(session.scopes))
    }

    private func saveSession() {
        queue.add(session: session, inBackground: true) { _ in
        } then: { _ in
        }
    }

    // MARK: In memory

    func isInForce(_ decision: Decision) -> Bool {
        decision.isInForce(at: now(), in: session.scopes) { processes.isAlive($0) }
    }

    /// The decision that is in force for a process of the app: the app's, or else the process's own.
    func decision(_ app: AppID, _ permission: Permission, for process: ProcessKey) -> Decision? {
        appDecision(app, permission)
            ?? memory.first(app) { $0.permission == permission && $0.process == process && isInForce($0) }
    }

    /// The decision that is in force for every process of the app.
    func appDecision(_ app: AppID, _ permission: Permission) -> Decision? {
        missed(app)
        return memory.first(app) { $0.permission == permission && $0.process == nil && isInForce($0) }
    }

    /// Whether a process of the app has a grant of its own.
    func isGrantedOnce(_ app: AppID, _ permission: Permission) -> Bool {
        let grant = memory.first(app) {
            $0.permission == permission && $0.verdict == .grant && $0.process != nil && isInForce($0)
        }
        return grant != nil
    }

    /// The decisions that could not be written.
    var unwrittenDecisions: [Decision] { memory.unwrittenDecisions }

    /// Whether a reset has revoked a decision that is in the file.
    func isRevoked(_ decision: Decision) -> Bool { memory.isVoid(decision) }

    /// Who was not loaded, or whose decisions cannot be read, has none. They are read for the next time.
    private func missed(_ app: AppID) {
        guard !memory.has(app), unread.count < DecisionStore.keptApps, unread.insert(app).inserted else { return }
        readAndPublish([app])
    }

    /// Removes decisions that are over from memory. Returns those that no reset had revoked before.
    func forget(where isOver: (Decision) -> Bool) -> [Decision] { memory.remove(where: isOver) }

    /// The first end, after that time, of a decision in memory.
    func knownEnd(after time: EpochSeconds) -> EpochSeconds? { memory.firstEnd(after: time) }

    // MARK: Reading

    /// Calls `then` once the decisions of an app are in memory, or cannot be read. It may run before this returns.
    func load(_ app: AppID, then: @escaping @LoopActor () -> Void) {
        if memory.has(app) { then() } else { read([app]) { _ in then() } }
    }

    /// Loads the decisions of apps. The completions run in the order of the calls, in a later turn.
    func load(_ apps: [AppID], then: @escaping @LoopActor () -> Void) {
        read(apps.filter { !memory.has($0) }) { _ in then() }
    }

    /// Reads what a daemon that starts goes on with; nothing, if that fails.
    func restore(then: @escaping @LoopActor (StoredState) -> Void) {
        switches.read()
        let session = session.scopes.session
        queue.add { (database) throws(DatabaseError) in
            StoredState(
                dismissals: try DismissalRows.all(session: session, database),
                portalAnswers: try PortalAnswerRows.all(database))
        } then: {
            then((try? $0.get()) ?? StoredState())
        }
    }

    /// - Parameter then: Gets whether the decisions are in memory.
    private func read(_ apps: [AppID], then: @escaping @LoopActor (Bool) -> Void) {
        queue.add { (database) throws(DatabaseError) in
            var rows: [(AppID, [Decision])] = []
            for app in apps { rows.append((app, try DecisionRows.all(of: app, database))) }
            return rows
        } then: { [weak self] result in
            guard let self else { return then(false) }
            switch result {
            case .failure: if unread.count < DecisionStore.keptApps { unread.formUnion(apps) }
            case .success(let rows):
                for (app, decisions) in rows {
                    memory.load(app, decisions)
                    watch(decisions)
                }
                unread.subtract(apps)
                makeRoom()
                if !unread.isEmpty { readAndPublish(Array(unread)) }
            }
            then((try? result.get()) != nil)
        }
    }

    private func readAndPublish(_ apps: [AppID]) {
        read(apps) { [weak self] isRead in
            if isRead { self?.onRead?(Set(apps)) }
        }
    }

    /// The file was opened again: what it says now counts.
    private func readAgain() {
        switches.read()
        read(Array(memory.apps.union(unread))) { [weak self] _ in self?.onRead?(nil) }
        findEnds()
    }

    private func makeRoom() {
        guard memory.appCount > mostApps, let present = presentApps?() else { return }
        memory.retain(present)
        mostApps = DecisionStore.keptApps + memory.appCount
    }

    // MARK: Changing

    /// Writes decisions with their history, all or none, and removes pauses of these apps. Once that is on disk, notifies
    /// observers, and then calls `then`.
    func set(
        _ decisions: [Decision], history rows: [HistoryRow],
        then: @escaping @LoopActor (Result<Void, StoreError>) -> Void
    ) {
        let (decisions, isForSession) = (decisions.map(scoped), decisions.contains { $0.duration == .session })
        // Rows that wait are older than these.
        history.write()
        queue.add(writes: true, session: isForSession ? session : nil) { (database) throws(DatabaseError) in
            for decision in decisions { try DecisionRows.set(decision, database) }
            for row in rows { try HistoryRows.write(row, database) }
        } then: { [weak self] result in
            if let self, case .success = result {
                memory.resetsWritten()
                for decision in decisions { memory.set(decision) }
                notify(decisions, [])
                history.wrote(rows.count)
            }
            then(result)
        }
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

    /// Removes decisions and pauses, with a row of history for each app and permission. Once that is on disk, notifies
    /// observers, and then calls `then` with the decisions that were in force. If it cannot be written, it takes effect
    /// in memory.
    func reset(
        _ filter: DecisionFilter, by author: Author,
        then: @escaping @LoopActor (Result<[Decision], StoreError>) -> Void
    ) {
        let (scopes, time) = (session.scopes, now())
        history.write()
        queue.add(writes: true, resets: [filter]) { (database) throws(DatabaseError) in
            try DecisionRows.reset(filter, by: author, at: time, in: scopes, database)
        } then: { [weak self] result in
            guard let self else { return then(result) }
            switch result {
            case .success(let removed):
                memory.resetsWritten()
                let unwritten = memory.unwrittenDecisions
                let inMemory = memory.remove(where: filter.matches).filter(unwritten.contains)
                let gone = (removed + inMemory).filter(isInForce)
                notify([], gone)
                then(.success(gone))
                history.wrote(removed.count)
            case .failure(let error):
                notify([], revoke(filter))
                then(.failure(error))
            }
        }
    }

    /// Revokes decisions whose reset cannot be written. Returns those that were in force.
    private func revoke(_ filter: DecisionFilter) -> [Decision] {
        if let revoked = memory.revoke(filter) { return revoked.filter(isInForce) }
        log.error("Too many resets could not be written; further ones have no effect until they can be")
        return []
    }

    func notify(_ made: [Decision], _ gone: [Decision]) {
        let changes =
            made.map { DecisionChange(app: $0.app, permission: $0.permission, verdict: $0.verdict) }
            + gone.map { DecisionChange(app: $0.app, permission: $0.permission, verdict: nil) }
        guard !changes.isEmpty else { return }
        onChange?(changes)
        watch(made)
        guard made.contains(where: { $0.duration.end != nil }) else { return }
        // After the completions of this turn: an end that is being written is reported by its own.
        Loop.shared.later { [weak self] in self?.noticeEnds() }
    }

    /// Keeps a decision that could not be written, for one process, until that process or permd exits.
    func setInMemory(_ decision: Decision, for process: ProcessKey) {
        var decision = decision
        decision.process = process
        decision.duration = .once
        decision = scoped(decision)
        memory.setUnwritten(decision)
        notify([decision], [])
    }

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
        nextEnd?.cancel()
        queue.close(then: then)
    }
}
