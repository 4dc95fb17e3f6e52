// The store's writer: one thread with its own connections. What is queued is committed together.
//
// A change may touch both databases, and the machine may stop between two commits. So that no decision that was told is
// lost and none that ended comes back: a new session or once decision is committed before the lasting row it replaces is
// deleted, a new lasting decision before the session rows it replaces are. Whichever is left over has the lower serial,
// and `SessionRows.reconcile` removes it when the store is opened.

import CLinux
import DBus
import Glibc
import PermissionCore
import PermissionModel

// Files that were taken away are noticed before a group is written and before it is acknowledged. The lasting ones are put
// back on the loop, whose connection has them open, too: the writer waits for that. The session's are put back here.

// SAFETY: `jobs`, `file`, `persistent`, `uses` and `isStopping` are touched under the mutex; the databases are used by the writer's thread alone
// between hand-over and hand-back.
final class StoreWriter: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var jobs: [StoreJob] = []
    private var isStopping = false
    private var onEnd: (@LoopActor () -> Void)?
    /// The lasting database's file; opened here at the first write, not while permd starts.
    private var file: (path: String, identity: StoreIdentity)?
    private var persistent: Database?
    /// How often `use` was called.
    private var uses = 0
    private var session: Database
    private var sessionIdentity: StoreIdentity?
    /// The lasting database is not at its path any more: `use` is to follow, with what is there then.
    var onLoss: (@LoopActor () -> Void)?
    /// A sentence about the session's database.
    var onFinding: (@LoopActor (String) -> Void)?
    /// Rows since the last trimming. The first row of a run trims: no run may add without ever removing.
    private var untrimmed = StoreWriter.rowsBetweenTrims
    private var historyLimits: (rows: Int, days: Int) = (10_000, 90)

    /// Rows between two trimmings, as one on every write would double its cost. A listing trims before.
    private static let rowsBetweenTrims = 1000
    /// Jobs in one transaction: bounds how long the first of them waits for its answer.
    private static let groupSize = 256
    /// Times the files are put back for one group: whoever takes them away faster gets an error.
    private static let lossesPerGroup = 3

    init(session: Database, identity: StoreIdentity?) {
        self.session = session
        sessionIdentity = identity
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    func start() {
        let failed = runDetached { self.run() }
        precondition(failed == 0, "no thread is left for the store's writer")
    }

    func add(_ job: StoreJob) {
        locked { jobs.append(job) }
        pthread_cond_signal(condition)
    }

    func setHistoryLimits(rows: Int, days: Int) { locked { historyLimits = (rows, days) } }

    /// Closes the lasting database. Every job fails until `use`; what was under way when files were lost waits for it.
    func suspend() {
        locked {
            persistent = nil
            file = nil
        }
    }

    /// Takes another lasting database, or the same anew; nil refuses every job.
    func use(_ file: (path: String, identity: StoreIdentity)?) {
        suspend()
        locked {
            self.file = file
            uses += 1
        }
        pthread_cond_signal(condition)
    }

    /// Ends the thread once everything queued is written, and closes the lasting database; then calls `completion`.
    func stop(then completion: @escaping @LoopActor () -> Void) {
        locked {
            isStopping = true
            onEnd = completion
        }
        pthread_cond_signal(condition)
    }

    private func locked<T>(_ body: () -> T) -> T {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    // MARK: The thread

    private func run() {
        while let taken = next() {
            var group: [StoreJob] = []
            for job in taken {
                if job.changes.contains(where: \.setsSessionDecision) {
                    write(group)
                    group = []
                    write([job])
                } else {
                    group.append(job)
                    if group.count >= StoreWriter.groupSize {
                        write(group)
                        group = []
                    }
                }
            }
            write(group)
        }
        let completion = locked {
            persistent = nil
            return onEnd
        }
        if let completion { Loop.shared.post(completion) }
    }

    private func next() -> [StoreJob]? {
        locked {
            while jobs.isEmpty, !isStopping { pthread_cond_wait(condition, mutex) }
            guard !jobs.isEmpty else { return nil }
            let taken = jobs
            jobs = []
            return taken
        }
    }

    /// Writes a group in one transaction; if it fails, each job alone, so that one does not spoil the others. What is
    /// acknowledged is in files that are at their paths.
    private func write(_ group: [StoreJob]) {
        guard !group.isEmpty else { return }
        var attempt = attempt(group)
        for _ in 0..<StoreWriter.lossesPerGroup {
            guard case .failure(let error) = attempt.result, error.isLoss else { break }
            waitForFiles(attempt.uses)
            attempt = self.attempt(group, done: attempt.done)
        }
        var results: [Result<[Decision], DatabaseError>] = []
        switch attempt.result {
        case .success(let removed): results = removed.map { .success($0) }
        case .failure(let error):
            guard group.count == 1 || error.isLoss else {
                for job in group { write([job]) }
                return
            }
            results = group.map { _ in .failure(error) }
        }
        for (job, result) in zip(group, results) {
            Loop.shared.post { job.completion(result) }
        }
    }

    private struct Attempt {
        var result: Result<[[Decision]], DatabaseError>
        /// What was committed, though perhaps into files that are not there any more.
        var done: [[Decision]]?
        /// The files it was done with.
        let uses: Int
    }

    /// Commits a group that is not yet `done`, and looks at the files.
    private func attempt(_ group: [StoreJob], done: [[Decision]]? = nil) -> Attempt {
        var attempt = Attempt(result: .success([]), done: done, uses: locked { uses })
        do throws(DatabaseError) {
            if attempt.done == nil { attempt.done = try commit(group) }
            if group.contains(where: { !$0.isEmpty || $0.aim == .look }) { try lookAtLasting() }
            // That it cannot be put back is told as a finding.
            if group.contains(where: { $0.aim == .look }) { try? lookAtSession() }
            attempt.result = .success(attempt.done ?? [])
        } catch {
            attempt.result = .failure(error)
        }
        return attempt
    }

    /// Throws when the lasting database is not at its path, or there is none.
    private func lookAtLasting() throws(DatabaseError) {
        let (file, seen) = locked { (self.file, self.uses) }
        guard let file else { throw StoreWriter.noFile }
        guard let found = StoreIdentity(of: file.path), found.goesOn(from: file.identity) else {
            throw .loss(file.path)
        }
        locked { () -> Void in
            if uses == seen { self.file?.identity = found }
        }
    }

    /// Until the loop has put the lasting files back, or given them up.
    private func waitForFiles(_ seen: Int) {
        let onLoss = locked { uses == seen ? self.onLoss : nil }
        if let onLoss { Loop.shared.post(onLoss) }
        locked { while uses == seen { pthread_cond_wait(condition, mutex) } }
    }

    private static let noFile = DatabaseError(code: 8, description: "there is no store that can be written")

    private func commit(_ group: [StoreJob]) throws(DatabaseError) -> [[Decision]] {
        // Barriers have nothing to write.
        guard group.contains(where: { !$0.isEmpty || $0.aim == .trim && untrimmed > 0 }) else {
            return group.map { _ in [] }
        }
        let persistent = try lasting()
        let sessionFirst = group.contains { $0.changes.contains(where: \.setsSessionDecision) }
        // A file that is gone has lost, with the rest, what a lasting change would remove from it.
        do throws(DatabaseError) { try lookAtSession() } catch { if sessionFirst { throw error } }
        var removed: [[Decision]] = []
        var saved: [SessionRows.Saved] = []
        do throws(DatabaseError) {
            try persistent.execute("BEGIN IMMEDIATE")
            try session.execute("BEGIN IMMEDIATE")
            for job in group {
                if sessionFirst { saved += try SessionRows.save(job, session) }
                removed.append(try apply(job, persistent))
            }
            if let last = group.last {
                try persistent.run(
                    "INSERT OR REPLACE INTO meta VALUES ('serial', ?)", [.integer(last.serial)])
            }
            try trimHistory(persistent, isDue: group.contains { $0.aim == .trim })
            if sessionFirst {
                try session.execute("COMMIT")
                try lookAtSession()
                try persistent.execute("COMMIT")
            } else {
                try persistent.execute("COMMIT")
                try session.execute("COMMIT")
            }
            return removed
        } catch {
            persistent.rollback()
            session.rollback()
            // If the session's part was committed already, it is taken back.
            try? SessionRows.restore(saved, session)
            throw error
        }
    }

    private func lasting() throws(DatabaseError) -> Database {
        let (opened, file, seen) = locked { (self.persistent, self.file, self.uses) }
        try lookAtLasting()
        if let opened { return opened }
        guard let file else { throw StoreWriter.noFile }
        let database = try StoreOpening.configured(file.path, "FULL")
        try lookAtLasting()
        locked { () -> Void in
            if uses == seen, self.file != nil { persistent = database }
        }
        return database
    }

    /// Puts the session's database back if it is not at its path any more.
    private func lookAtSession() throws(DatabaseError) {
        guard let identity = sessionIdentity else { return }
        if let found = StoreIdentity(of: session.path), found.goesOn(from: identity) {
            sessionIdentity = found
            return
        }
        do throws(DatabaseError) {
            // With $XDG_RUNTIME_DIR itself the session is over.
            guard access(StoreOpening.folder(of: StoreOpening.folder(of: session.path)), F_OK) == 0 else {
                throw .loss(session.path)
            }
            let finding = try StoreReplacing.putBack(session, identity: identity, EpochSeconds(time(nil)))
            let database = try StoreOpening.configured(session.path, "OFF")
            // SQLite opens the files beside it at the first look.
            _ = try database.integer("PRAGMA user_version")
            guard let identity = StoreIdentity(of: session.path), !database.hasMoved else {
                throw .loss(session.path)
            }
            session = database
            sessionIdentity = identity
            tell(finding)
        } catch {
            let error = DatabaseError(
                code: DatabaseError.cannotOpen,
                description: "the session's decisions cannot be written: \(error.description)")
            tell(error.description)
            throw error
        }
    }

    private func tell(_ finding: String) {
        if let onFinding { Loop.shared.post { onFinding(finding) } }
    }

    private func apply(_ job: StoreJob, _ persistent: Database) throws(DatabaseError) -> [Decision] {
        var removed: [Decision] = []
        for change in job.changes {
            removed += try PersistentRows.apply(change, serial: job.serial, persistent)
            try SessionRows.apply(change, serial: job.serial, session)
        }
        for row in job.history { try HistoryRows.write(row, persistent) }
        untrimmed += job.history.count
        return removed
    }

    private func trimHistory(_ persistent: Database, isDue: Bool) throws(DatabaseError) {
        guard untrimmed >= StoreWriter.rowsBetweenTrims || isDue && untrimmed > 0 else { return }
        // A failure, as of a full disk, spoils this group's transaction, not also the jobs when they are tried alone.
        untrimmed = 0
        let limits = locked { historyLimits }
        try HistoryRows.trim(
            persistent, rows: limits.rows, before: EpochSeconds(time(nil)) - Int64(limits.days) * 86_400)
    }
}
