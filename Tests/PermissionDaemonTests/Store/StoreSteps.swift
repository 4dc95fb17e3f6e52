// What the tests of the store do with one: commit, close, list.

import DBus
import PermissionDaemon
import PermissionModel

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
    try store.listDecisions(app: nil, permission: nil, at: 1000).map {
        "\($0.verdict.rawValue) \($0.duration.word.rawValue)"
    }
}
