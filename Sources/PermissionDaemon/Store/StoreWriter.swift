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

// SAFETY: `jobs`, `file`, `persistent` and `isStopping` are touched under the mutex; the databases are used by the writer's thread alone
// between hand-over and hand-back.
final class StoreWriter: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var jobs: [StoreJob] = []
    private var isStopping = false
    private var onEnd: (@LoopActor () -> Void)?
    /// The lasting database's file; opened here at the first write, not while permd starts.
    private var file: String?
    private var persistent: Database?
    private let session: Database
    /// Rows since the last trimming. The first row of a run trims: no run may add without ever removing.
    private var untrimmed = StoreWriter.rowsBetweenTrims
    private var historyLimits: (rows: Int, days: Int) = (10_000, 90)

    /// Rows between two trimmings, as each on every write would double its cost; what is over is not shown meanwhile.
    private static let rowsBetweenTrims = 100
    /// Jobs in one transaction: bounds how long the first of them waits for its answer.
    private static let groupSize = 256

    init(session: Database) {
        self.session = session
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    func start() {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self).toOpaque()
        let failed = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<StoreWriter>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context)
        precondition(failed == 0, "no thread is left for the store's writer")
        pthread_detach(thread)
    }

    func add(_ job: StoreJob) {
        locked { jobs.append(job) }
        pthread_cond_signal(condition)
    }

    func setHistoryLimits(rows: Int, days: Int) { locked { historyLimits = (rows, days) } }

    /// Takes another lasting database, or the same anew; nil refuses every job.
    func use(_ path: String?) {
        locked {
            persistent = nil
            file = path
        }
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

    /// Writes a group in one transaction; if it fails, each job alone, so that one does not spoil the others.
    private func write(_ group: [StoreJob]) {
        guard !group.isEmpty else { return }
        var results: [Result<[Decision], DatabaseError>] = []
        do throws(DatabaseError) {
            results = try commit(group).map { .success($0) }
        } catch {
            guard group.count == 1 else {
                for job in group { write([job]) }
                return
            }
            results = [.failure(error)]
        }
        for (job, result) in zip(group, results) {
            Loop.shared.post { job.completion(result) }
        }
    }

    private func commit(_ group: [StoreJob]) throws(DatabaseError) -> [[Decision]] {
        // Barriers have nothing to write.
        guard group.contains(where: { !$0.isEmpty }) else { return group.map { _ in [] } }
        let persistent = try lasting()
        let sessionFirst = group.contains { $0.changes.contains(where: \.setsSessionDecision) }
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
            try trimHistory(persistent)
            for database in sessionFirst ? [session, persistent] : [persistent, session] {
                try database.execute("COMMIT")
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
        let (opened, file) = locked { (self.persistent, self.file) }
        if let opened { return opened }
        guard let file else { throw DatabaseError(code: 8, description: "there is no store that can be written") }
        let database = try StoreOpening.configured(file, "FULL")
        locked { if self.file == file { persistent = database } }
        return database
    }

    private func apply(_ job: StoreJob, _ persistent: Database) throws(DatabaseError) -> [Decision] {
        var removed: [Decision] = []
        for change in job.changes {
            removed += try PersistentRows.apply(change, serial: job.serial, persistent)
            try SessionRows.apply(change, serial: job.serial, session)
        }
        for row in job.history { try PersistentRows.insert(row, persistent) }
        untrimmed += job.history.count
        return removed
    }

    private func trimHistory(_ persistent: Database) throws(DatabaseError) {
        guard untrimmed >= StoreWriter.rowsBetweenTrims else { return }
        untrimmed = 0
        let limits = locked { historyLimits }
        try persistent.run(
            "DELETE FROM history WHERE id <= (SELECT max(id) FROM history) - ?", [.integer(Int64(limits.rows))])
        try persistent.run(
            "DELETE FROM history WHERE time < ?", [.integer(EpochSeconds(time(nil)) - Int64(limits.days) * 86_400)])
    }
}
