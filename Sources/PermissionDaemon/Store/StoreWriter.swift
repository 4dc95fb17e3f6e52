// The store's writer: one thread with its own connection. What is queued is committed together.
//
// Files that were taken away are noticed before a group is written and before it is acknowledged. They are put back on the
// loop, whose connection has them open, too: the writer waits for that.

import CLinux
import DBus
import Glibc
import PermissionCore
import PermissionModel

// SAFETY: `jobs`, `target`, `paused`, `isStopping`, `onEnd` and `historyLimits` are touched under the mutex; `database`,
// `identity` and `untrimmed` by the writer's thread alone.
final class StoreWriter: @unchecked Sendable {
    /// What there is to write to.
    private enum Target {
        /// Opened here at the first write, not while permd starts.
        case file(path: String, identity: StoreIdentity)
        /// Every job fails.
        case none
        /// Jobs wait until it is known.
        case awaited
    }

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var jobs: [StoreJob] = []
    private var target = Target.none
    private var paused: (@LoopActor () -> Void)?
    private var isStopping = false
    private var onEnd: (@LoopActor () -> Void)?
    private var historyLimits: (rows: Int, days: Int) = (10_000, 90)

    private var database: Database?
    private var identity: StoreIdentity?
    /// Rows since the last trimming. The first row of a run trims: no run may add without ever removing.
    private var untrimmed = StoreWriter.rowsBetweenTrims

    /// The files are not at their path any more: `use` or `refuse` is to follow. Set before `start`.
    var onLoss: (@LoopActor () -> Void)?

    /// Rows between two trimmings, as one on every write would double its cost. A listing trims before.
    private static let rowsBetweenTrims = 1000
    /// Jobs in one transaction: bounds how long the first of them waits for its answer.
    private static let groupSize = 256
    /// Times the files are put back for one group: whoever takes them away faster gets an error.
    private static let lossesPerGroup = 3
    static let noFile = DatabaseError(code: 8, description: "there is no store that can be written")

    init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    func start() {
        let failed = runDetached { self.run() }
        precondition(failed == 0, "no thread is left for the store's writer")
    }

    func add(_ job: StoreJob) { change { jobs.append(job) } }

    func setHistoryLimits(rows: Int, days: Int) { change { historyLimits = (rows, days) } }

    /// Calls `then` once nothing is being written and the connection is closed. Jobs wait until `use` or `refuse`.
    func pause(then: @escaping @LoopActor () -> Void) {
        change {
            target = .awaited
            paused = then
        }
    }

    func use(path: String, _ identity: StoreIdentity) { change { target = .file(path: path, identity: identity) } }

    func refuse() { change { target = .none } }

    /// Ends the thread once everything queued is written, and closes the connection; then calls `completion`.
    func stop(then completion: @escaping @LoopActor () -> Void) {
        change {
            isStopping = true
            onEnd = completion
        }
    }

    private func locked<T>(_ body: () -> T) -> T {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    private func change(_ body: () -> Void) {
        locked(body)
        pthread_cond_signal(condition)
    }

    // MARK: The thread

    private func run() {
        while let group = next() { write(group) }
        closeDatabase()
        if let completion = locked({ onEnd }) { Loop.shared.post(completion) }
    }

    private func next() -> [StoreJob]? {
        while true {
            awaitTarget()
            let group = locked { () -> [StoreJob]? in
                while jobs.isEmpty, !isStopping, !isAwaiting { pthread_cond_wait(condition, mutex) }
                if isAwaiting { return nil }
                let group = Array(jobs.prefix(StoreWriter.groupSize))
                jobs.removeFirst(group.count)
                return group
            }
            guard let group else { continue }
            return group.isEmpty ? nil : group
        }
    }

    private var isAwaiting: Bool {
        if case .awaited = target { true } else { false }
    }

    /// Closes the connection, says so, and waits until there is something to write to again.
    private func awaitTarget() {
        guard locked({ isAwaiting }) else { return }
        closeDatabase()
        locked {
            while isAwaiting {
                if let then = paused {
                    paused = nil
                    Loop.shared.post(then)
                }
                pthread_cond_wait(condition, mutex)
            }
        }
    }

    private func closeDatabase() {
        database = nil
        identity = nil
    }

    /// Writes a group in one transaction; if it fails, each job alone, so that one does not spoil the others. What is
    /// acknowledged is in files that are at their paths.
    private func write(_ group: [StoreJob]) {
        var attempt = attempt(group)
        for _ in 0..<StoreWriter.lossesPerGroup {
            guard case .failure(let error) = attempt.result, error.isLoss else { break }
            locked {
                target = .awaited
                if paused == nil, let onLoss { Loop.shared.post(onLoss) }
            }
            awaitTarget()
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
    }

    /// Commits a group that is not yet `done`, and looks at the files.
    private func attempt(_ group: [StoreJob], done: [[Decision]]? = nil) -> Attempt {
        var attempt = Attempt(result: .success([]), done: done)
        do throws(DatabaseError) {
            if attempt.done == nil { attempt.done = try commit(group) }
            if group.contains(where: { !$0.isEmpty || $0.aim == .look }) { try lookAtFiles() }
            attempt.result = .success(attempt.done ?? [])
        } catch {
            attempt.result = .failure(error)
        }
        return attempt
    }

    private func commit(_ group: [StoreJob]) throws(DatabaseError) -> [[Decision]] {
        // Barriers have nothing to write.
        guard group.contains(where: { !$0.isEmpty || $0.aim == .trim && untrimmed > 0 }) else {
            return group.map { _ in [] }
        }
        let database = try opened()
        var removed: [[Decision]] = []
        try database.transaction { () throws(DatabaseError) in
            for job in group {
                removed.append(try job.apply(to: database))
                untrimmed += job.history.count
            }
            try trimHistory(database, isDue: group.contains { $0.aim == .trim })
        }
        return removed
    }

    private func opened() throws(DatabaseError) -> Database {
        try lookAtFiles()
        if let database { return database }
        guard case .file(let path, _) = locked({ target }) else { throw StoreWriter.noFile }
        let database = try StoreOpening.configured(path)
        try lookAtFiles()
        self.database = database
        return database
    }

    /// Throws when the files are not at their path, or there are none.
    private func lookAtFiles() throws(DatabaseError) {
        guard case .file(let path, let given) = locked({ target }) else { throw StoreWriter.noFile }
        guard let found = StoreIdentity(of: path), found.goesOn(from: identity ?? given) else {
            throw .loss(path)
        }
        identity = found
    }

    private func trimHistory(_ database: Database, isDue: Bool) throws(DatabaseError) {
        guard untrimmed >= StoreWriter.rowsBetweenTrims || isDue && untrimmed > 0 else { return }
        // A failure, as of a full disk, spoils this group's transaction, not also the jobs when they are tried alone.
        untrimmed = 0
        let limits = locked { historyLimits }
        try HistoryRows.trim(
            database, rows: limits.rows, before: EpochSeconds(time(nil)) - Int64(limits.days) * 86_400)
    }
}
