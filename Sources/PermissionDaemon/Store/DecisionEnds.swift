// Notices when decisions end, notifies observers and removes rows. Decisions end without this; see Decision.isInForce.

import DBus
import PermissionCore
import PermissionModel

/// Waits for the next end of an `until` decision.
@LoopActor
final class EndTimer {
    private var next: (end: EpochSeconds, timer: LoopTimer)?

    /// Calls `body` at that time, unless an earlier end is awaited: `body` finds the later ones.
    func await(_ end: EpochSeconds, _ body: @escaping @LoopActor () -> Void) {
        if let next, next.end <= end { return }
        stop()
        let timer = Loop.shared.at(epochSeconds: end) { [weak self] in
            self?.next = nil
            body()
        }
        next = (end, timer)
    }

    func stop() {
        next?.timer.cancel()
        next = nil
    }
}

extension DecisionStore {
    /// Notices decisions that ended while nothing watched for it, and waits for the next end. That a process has exited
    /// is noticed when the decisions of its app are read.
    func findEnds() {
        end(.otherScopes(session.scopes))
        noticeEnds()
    }

    /// Notices `until` decisions whose time has passed. They end by themselves.
    func noticeEnds() {
        let time = now()
        end(.until(time))
        queue.add(inBackground: true) { (database) throws(DatabaseError) in
            try DecisionRows.firstEnd(after: time, database)
        } then: { [weak self] result in
            if case .success(let end?) = result { self?.awaitEnd(end) }
        }
    }

    /// Notices when a decision ends that is tied to a time or a process.
    func awaitEnd(_ decision: Decision) {
        if let end = decision.duration.end { awaitEnd(end) }
        if let process = decision.process, !processes.isAlive(process) { exited(process) }
    }

    private func awaitEnd(_ end: EpochSeconds) { ends.await(end) { [weak self] in self?.noticeEnds() } }

    /// Ends the `once` decisions of a process that has exited, or those of one app that the process holds for it.
    func exited(_ process: ProcessKey, of app: AppID? = nil) {
        end(.process(process, of: app, boot: session.scopes.boot))
    }

    /// Ends decisions: those in memory at once, the others once their rows are removed.
    func end(_ ended: EndedDecisions) {
        let known = forget(where: ended.contains)
        notify([], known)
        queue.add(writes: true, inBackground: true) { (database) throws(DatabaseError) in
            try DecisionRows.delete(ended, database)
        } then: { [weak self] result in
            guard let self else { return }
            let removed = ((try? result.get()) ?? []).filter { !known.contains($0) && !isRevoked($0) }
            // They may have been read meanwhile.
            notify([], Array(Set(forget(where: ended.contains)).union(removed)))
        }
    }
}
