// Helpers of the store tests: open, commit, close, list.

import DBus
import Logging
import PermissionModel

@testable import PermissionDaemon

/// Processes that run until a test ends them.
@LoopActor
final class FakeProcesses: ProcessLiveness {
    var onExit: (@LoopActor (ProcessKey) -> Void)?
    private var exited: Set<ProcessKey> = []

    nonisolated init() {}

    func isAlive(_ process: ProcessKey) -> Bool { !exited.contains(process) }

    func forget(_ process: ProcessKey) {}

    /// - Parameter isTold: whether `onExit` is called.
    func exit(_ process: ProcessKey, isTold: Bool = true) {
        exited.insert(process)
        if isTold { onExit?(process) }
    }
}

/// A store at second 1000 of the epoch, unless another clock is given.
@LoopActor
func openStore(
    _ paths: StorePaths, boot: String = "boot", now: @escaping @Sendable () -> EpochSeconds = { 1000 },
    uptime: @escaping @Sendable () -> Int64 = { Loop.uptimeMilliseconds() },
    processes: FakeProcesses = FakeProcesses(), maximum: Int = Limits.decisions
) -> DecisionStore {
    var log = Logger(label: "test")
    log.logLevel = .critical
    let session = UserSession(path: paths.sessionFile, boot: boot)
    return DecisionStore(
        paths: paths, session: session, now: now, uptime: uptime, processes: processes, maximum: maximum, log: log)
}

/// Makes decisions, all or none.
@LoopActor
func commit(_ store: DecisionStore, _ decisions: Decision...) async throws {
    let report = await withCheckedContinuation { done in
        store.set(decisions, history: []) { done.resume(returning: $0) }
    }
    if let error = report.error { throw error }
}

@LoopActor
func reset(_ store: DecisionStore, _ app: AppID? = nil, _ permission: Permission? = nil) async throws {
    let report = await withCheckedContinuation { done in
        store.reset(DecisionFilter(app: app, item: permission.map(PromptItem.permission)), by: .permctl) {
            done.resume(returning: $0)
        }
    }
    if let error = report.error { throw error }
}

/// Changes other tables.
@LoopActor
func write(
    _ store: DecisionStore, _ body: @escaping @Sendable (Database) throws(DatabaseError) -> Void
) async throws {
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
        store.queue.add(writes: true, body) { done.resume(with: $0.mapError { $0 as any Error }) }
    }
}

@LoopActor
func close(_ store: DecisionStore) async {
    await withCheckedContinuation { done in store.close { done.resume() } }
}

/// The decisions in force after everything queued is on disk or has failed, by app and permission.
@LoopActor
func decisions(_ store: DecisionStore) async throws -> [Decision] {
    await written(store)
    return try store.decisions(DecisionFilter()).values.joined().sorted {
        ($0.app, $0.permission.rawValue) < ($1.app, $1.permission.rawValue)
    }
}

@LoopActor
func list(_ store: DecisionStore) async throws -> [String] {
    try await decisions(store).map { "\($0.verdict.rawValue) \($0.duration.kind.rawValue)" }
}

@LoopActor
func history(_ store: DecisionStore, outcome: Outcome? = nil) async throws -> [HistoryRow] {
    try await withCheckedThrowingContinuation { done in
        store.history.list(app: nil, item: nil, outcome: outcome, RowPage()) {
            done.resume(with: $0.mapError { $0 as any Error })
        }
    }
}

/// What a daemon that starts now would go on with.
@LoopActor
func restored(_ store: DecisionStore) async -> StoredState {
    await withCheckedContinuation { done in store.restore { done.resume(returning: $0) } }
}

/// Returns when every queued change is on disk or has failed. A file that could be opened has been read then.
@LoopActor
func written(_ store: DecisionStore) async {
    await withCheckedContinuation { done in store.whenWritten { done.resume() } }
}
