// Notices when decisions end, notifies observers and removes rows. Decisions end without this; see Decision.isInForce.

import DBus
import PermissionCore
import PermissionModel

extension DecisionStore {
    /// Notices decisions that ended while nothing watched for it. That a process has exited is noticed when the decisions
    /// of its app are read.
    func findEnds() {
        end(.otherScopes(session.scopes))
        noticeEnds()
    }

    /// Notices `until` decisions whose time has passed, and waits for the next end. They end by themselves.
    func noticeEnds() {
        let time = now()
        end(.until(time))
        queue.add(inBackground: true) { (database) throws(DatabaseError) in
            try DecisionRows.firstEnd(after: time, database)
        } then: { [weak self] result in
            guard let self else { return }
            // Those in memory are noticed even if the file cannot be read.
            let ends = [(try? result.get()) ?? nil, knownEnd(after: time)].compactMap { $0 }
            nextEnd?.cancel()
            nextEnd = ends.min().map { Loop.shared.at(epochSeconds: $0) { [weak self] in self?.noticeEnds() } }
        }
    }

    /// Watches the processes of decisions. One that has exited ends them.
    func watch(_ decisions: [Decision]) {
        for process in decisions.compactMap(\.process) where !processes.isAlive(process) { exited(process) }
    }

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
