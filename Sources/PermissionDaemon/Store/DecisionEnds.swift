// Notices when decisions end, notifies observers and removes rows. Decisions end without this; see Decision.holds.

import DBus
import PermissionCore
import PermissionModel

extension DecisionStore {
    /// Notices decisions that ended while nothing watched for it, and waits for the next end.
    func lookForEnds() {
        for decision in (try? decisions(" WHERE scope = ?", [.text(session.scopes.boot)])) ?? [] { watch(decision) }
        noticeEnds()
    }

    func watch(_ decision: Decision) {
        guard let process = decision.process, !processes.isAlive(process) else { return }
        exited(process)
    }

    /// Notices `until` decisions whose time has passed. They end by themselves; once noticed, they stay ended when the
    /// clock is set back.
    func noticeEnds() {
        let time = now()
        if let over = try? decisions(" WHERE until <= ?", [.integer(time)]) {
            noticedEnds = time
            let gone = over.filter { ($0.duration.end ?? .max) <= time && !isVoid($0) }
            for decision in gone {
                makeVoid(
                    DecisionFilter(app: decision.app, permission: decision.permission, until: decision.duration.end))
            }
            ended(gone)
        }
        watchNextEnd()
    }

    /// Ends the `once` decisions of a process that has exited, or those of one app that the process holds for it.
    func exited(_ process: ProcessKey, of app: AppID? = nil) {
        let stored = try? decisions(
            " WHERE scope = ? AND pid = ? AND start = ?",
            [.text(session.scopes.boot)] + ProcessKey.columns(process))
        let known = (stored ?? []).filter { !isVoid($0) } + (held[process] ?? [:]).values
        let gone = known.filter { app == nil || $0.app == app }
        guard !gone.isEmpty else { return }
        for decision in gone {
            cache[decision.app]?.ofProcesses.removeAll { $0.process == process }
            held[process]?[Subject(app: decision.app, permission: decision.permission)] = nil
        }
        if held[process]?.isEmpty == true { held[process] = nil }
        remove(.process(process, app))
        ended(gone)
    }

    /// Ends the session's decisions after the last login session has ended.
    func endSession() {
        let over = try? decisions(" WHERE scope = ?", [.text(session.scopes.session)])
        session.replace()
        removals.removeAll { if case .otherScopes = $0 { true } else { false } }
        remove(.otherScopes(session.scopes))
        ended((over ?? []).filter { !isVoid($0) })
    }

    func remove(_ removal: Removal) {
        if removals.count >= DecisionStore.maximumRemovals { removals.removeFirst() }
        if !removals.contains(removal) { removals.append(removal) }
    }

    /// Removes the rows of ended decisions, which may fail, and notifies observers.
    private func ended(_ decisions: [Decision]) {
        guard !decisions.isEmpty else { return }
        write([], []) { _ in }
        tell([], decisions)
    }

    /// The first end that was not noticed yet. It may be in the past.
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

    // MARK: Revoked decisions

    func isOvertaken(_ changes: [Change], since void: Set<DecisionFilter>) -> Bool {
        let later = self.void.subtracting(void).filter { $0.until == nil }
        guard !later.isEmpty else { return false }
        return changes.compactMap(\.decision).contains { decision in later.contains { $0.matches(decision) } }
    }

    /// Revokes decisions that cannot be removed from the file. Returns those that were in force.
    func takeBack(_ changes: [Change]) -> [Decision] {
        var gone: [Decision] = []
        for case .remove(let filter) in changes {
            let known = try? listDecisions(filter)
            let held = dropHeld(filter)
            gone += makeVoid(filter) ? known ?? held : held
        }
        return gone
    }

    /// Returns false if too many filters are void already.
    @discardableResult
    func makeVoid(_ filter: DecisionFilter) -> Bool {
        if void.count >= DecisionStore.maximumVoid {
            // The filter of an ended decision has an effect only if the clock is set back.
            guard let end = void.first(where: { $0.until != nil }) else {
                file.note("\(void.count) resets could not be written; further ones have no effect until they can be")
                return false
            }
            void.remove(end)
        }
        void.insert(filter)
        return true
    }
}
