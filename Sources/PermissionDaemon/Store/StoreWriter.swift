// The store's writer: a thread with its own connection. Queued jobs are committed together.
//
// The writer checks that the files still exist before it writes a group and before it acknowledges it. If they do not,
// it waits until the loop, whose connection also has them open, has written them again.

import CLinux
import DBus
import Glibc
import PermissionCore
import PermissionModel

// SAFETY: `jobs`, `target`, `paused`, `isStopping`, `onEnd` and `historyLimits` are touched under the mutex; `database`,
// `identity` and `untrimmed` by the writer's thread alone.
final class StoreWriter: @unchecked Sendable {
    private enum Target {
        /// Opened by the writer at the first write, not during the start of permd.
        case file(path: String, identity: StoreIdentity)
        /// There is no file: every job fails.
        case none
        /// Jobs wait until `use` or `refuse`.
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
    /// Rows since the last trim. The first row of a run trims, so that even short runs remove old rows.
    private var untrimmed = StoreWriter.rowsBetweenTrims

    /// Called when the files are no longer at their path; `use` or `refuse` must follow. Set before `start`.
    var onLoss: (@LoopActor () -> Void)?

    /// Rows between two trims, because a trim at every write would double its cost. A listing trims first.
    private static let rowsBetweenTrims = 1000
    /// The maximum number of jobs in a transaction. It bounds how long the first of them waits for its answer.
    private static let groupSize = 256
    /// How often the files are written again for one group. If they are lost more often, its jobs fail.
    private static let lossesPerGroup = 3
    static let noFile = DatabaseError(code: 8, description: "there is no store that can be written")

    init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    func start() {
        let failed = runDetached { self.run() }
        precondition(failed == 0, "the thread of the store's writer cannot be created")
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

    /// Ends the thread and closes the connection once everything queued is written; then calls `completion`.
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

    /// Closes the connection, reports that, and waits for the next target.
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

    /// Writes a group in one transaction; if that fails, each job alone, so that one failure does not affect other
    /// jobs. Acknowledged changes are in files at their paths.
    private func write(_ group: [StoreJob]) {
        var done: [[Decision]]?
        var result = attempt(group, &done)
        for _ in 0..<StoreWriter.lossesPerGroup {
            guard case .failure(let error) = result, error.isLoss else { break }
            locked {
                target = .awaited
                if paused == nil, let onLoss { Loop.shared.post(onLoss) }
            }
            awaitTarget()
            result = attempt(group, &done)
        }
        switch result {
        case .success(let removed):
            for (job, removed) in zip(group, removed) { Loop.shared.post { job.completion(.success(removed)) } }
        case .failure(let error) where group.count == 1 || error.isLoss:
            for job in group { Loop.shared.post { job.completion(.failure(error)) } }
        case .failure:
            for job in group { write([job]) }
        }
    }

    /// Commits a group that is not yet `done`, and checks the files.
    /// - Parameter done: the result of the commit, possibly to files that no longer exist.
    private func attempt(
        _ group: [StoreJob], _ done: inout [[Decision]]?
    ) -> Result<[[Decision]], DatabaseError> {
        do throws(DatabaseError) {
            let removed = if let done { done } else { try commit(group) }
            done = removed
            if group.contains(where: { !$0.isEmpty || $0.aim == .look }) { try lookAtFiles() }
            return .success(removed)
        } catch {
            return .failure(error)
        }
    }

    private func commit(_ group: [StoreJob]) throws(DatabaseError) -> [[Decision]] {
        // Jobs without changes have nothing to write.
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

    /// Throws if the files are not at their path, or if there are none.
    private func lookAtFiles() throws(DatabaseError) {
        guard case .file(let path, let given) = locked({ target }) else { throw StoreWriter.noFile }
        guard let found = StoreIdentity(of: path), found.goesOn(from: identity ?? given) else {
            throw .loss(path)
        }
        identity = found
    }

    private func trimHistory(_ database: Database, isDue: Bool) throws(DatabaseError) {
        guard untrimmed >= StoreWriter.rowsBetweenTrims || isDue && untrimmed > 0 else { return }
        // Reset first: a failure, such as a full disk, must not also fail the group's jobs when they are retried alone.
        untrimmed = 0
        let limits = locked { historyLimits }
        try HistoryRows.trim(
            database, rows: limits.rows, before: EpochSeconds(time(nil)) - Int64(limits.days) * 86_400)
    }
}
