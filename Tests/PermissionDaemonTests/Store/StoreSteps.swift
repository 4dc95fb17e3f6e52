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
    processes: FakeProcesses = FakeProcesses()
) -> DecisionStore {
    var log = Logger(label: "test")
    log.logLevel = .critical
    return DecisionStore(paths: paths, bootID: boot, now: now, processes: processes, log: log)
}

@LoopActor
func commit(_ store: DecisionStore, _ changes: Change...) async throws {
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
        store.commit(changes, history: []) { result in
            done.resume(with: result.map { _ in }.mapError { $0 as any Error })
        }
    }
}

@LoopActor
func close(_ store: DecisionStore) async {
    await withCheckedContinuation { done in store.close { done.resume() } }
}

@LoopActor
func list(_ store: DecisionStore) throws -> [String] {
    try store.listDecisions().map {
        "\($0.verdict.rawValue) \($0.duration.word.rawValue)"
    }
}

/// Returns when every queued change is on disk or has failed.
@LoopActor
func written(_ store: DecisionStore) async {
    await withCheckedContinuation { done in store.whenWritten { done.resume() } }
}
