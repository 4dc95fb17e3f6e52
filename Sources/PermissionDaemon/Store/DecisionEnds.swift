// The ends of decisions: noticed, told, and their rows removed. A decision is over by itself; see Decision.holds.

import DBus
import PermissionCore
import PermissionModel

extension DecisionStore {
    /// Looks for what ended while nobody looked, and waits for the next end.
    public func lookForEnds() {
        let once = try? rows(
            "SELECT \(DecisionRows.columns) FROM decision WHERE scope = ?", [.text(session.scopes.boot)],
            DecisionRows.decision)
        for decision in once ?? [] { watch(decision) }
        noticeEnds()
    }

    func watch(_ decision: Decision) {
        guard let process = decision.process, !processes.isAlive(process) else { return }
        exited(process)
    }

    /// Notices `until` decisions whose second has come. They were over by themselves; what is noticed here stays over when
    /// the clock is set back.
    public func noticeEnds() {
        let time = now()
        let over = try? rows(
            "SELECT \(DecisionRows.columns) FROM decision WHERE until <= ?", [.integer(time)], DecisionRows.decision)
        if let over {
            noticedEnds = time
            ended(over.filter { ($0.duration.end ?? .max) <= time && !isVoid($0) }) {
                for decision in $0 {
                    makeVoid(
                        DecisionFilter(
                            app: decision.app, permission: decision.permission, until: decision.duration.end))
                }
            }
        }
        watchNextEnd()
    }

    func exited(_ process: ProcessKey) {
        let stored = try? rows(
            "SELECT \(DecisionRows.columns) FROM decision WHERE scope = ? AND pid = ? AND start = ?",
            [
                .text(session.scopes.boot), .integer(Int64(process.pid)),
                .integer(Int64(bitPattern: process.startTime)),
            ], DecisionRows.decision)
        ended((stored ?? []).filter { !isVoid($0) } + (held.removeValue(forKey: process) ?? [:]).values) { gone in
            for decision in gone { cache[decision.app]?.ofProcesses.removeAll { $0.process == process } }
            remove(.process(process))
        }
    }

    /// The last login session is over.
    public func endSession() {
        let over = try? rows(
            "SELECT \(DecisionRows.columns) FROM decision WHERE scope = ?", [.text(session.scopes.session)],
            DecisionRows.decision)
        session.replace()
        removals.removeAll { if case .otherScopes = $0 { true } else { false } }
        remove(.otherScopes(session.scopes))
        ended((over ?? []).filter { !isVoid($0) }) { _ in }
    }

    func remove(_ removal: Removal) {
        if removals.count >= DecisionStore.maximumRemovals { removals.removeFirst() }
        if !removals.contains(removal) { removals.append(removal) }
    }

    /// Decisions are over: their rows are removed, which may fail, and everybody is told.
    private func ended(_ decisions: [Decision], _ note: ([Decision]) -> Void) {
        guard !decisions.isEmpty else { return }
        note(decisions)
        submit([], [], removes: true) { _ in }
        tell([], decisions)
    }

    /// The first end that was not noticed yet, which may be over.
    func nextEnd() -> EpochSeconds? {
        if soonestEnd.map({ $0 <= noticedEnds }) ?? true {
            let noticed = noticedEnds
            let found = file.read { (reader) throws(DatabaseError) in
                try reader.integer("SELECT min(until) FROM decision WHERE until > ?", [.integer(noticed)])
            }
            soonestEnd = found.map { $0 ?? .max }
        }
        return soonestEnd == .max ? nil : soonestEnd
    }

    func watchNextEnd() {
        let end = nextEnd()
        guard end != watchedEnd?.end else { return }
        watchedEnd?.timer.cancel()
        watchedEnd = end.map { end in
            let timer = Loop.shared.at(epochSeconds: end) { [weak self] in
                self?.watchedEnd = nil
                self?.noticeEnds()
            }
            return (end, timer)
        }
    }

    // MARK: Taken back

    func isOvertaken(_ changes: [Change], since void: Set<DecisionFilter>) -> Bool {
        let later = self.void.subtracting(void).filter { $0.until == nil }
        guard !later.isEmpty else { return false }
        return changes.contains { change in
            if case .set(let decision) = change { later.contains { $0.matches(decision) } } else { false }
        }
    }

    /// What cannot be removed from the file is not in force any more all the same; the decisions that were.
    func takeBack(_ changes: [Change]) -> [Decision] {
        var gone: [Decision] = []
        for case .remove(let app, let permission) in changes {
            let filter = DecisionFilter(app: app, permission: permission)
            let known = try? listDecisions(app: app, permission: permission)
            let held = dropHeld(filter)
            gone += makeVoid(filter) ? known ?? held : held
        }
        return gone
    }

    /// False when too many are void already.
    @discardableResult
    func makeVoid(_ filter: DecisionFilter) -> Bool {
        if void.count >= DecisionStore.maximumVoid {
            // An end needs no filter unless the clock is set back.
            guard let end = void.first(where: { $0.until != nil }) else {
                file.note("\(void.count) resets could not be written; others have no effect until they can")
                return false
            }
            void.remove(end)
        }
        void.insert(filter)
        return true
    }

    /// These rows are not in the file any more.
    func dropRemoved(_ filters: Set<DecisionFilter>) {
        void.subtract(filters)
        for filter in filters {
            if let app = filter.app { cache[app] = nil } else { cache = [:] }
        }
    }
}
