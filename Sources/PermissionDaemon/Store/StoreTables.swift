// What the store keeps for other components: dismissals, rule files, answers to portals.

import DBus
import Logging
import PermissionCore
import PermissionModel

extension DecisionStore {
    /// Reads what a daemon that starts goes on with; nothing, if that fails.
    func restore(then: @escaping @LoopActor (StoredState) -> Void) {
        let session = session.scopes.session
        queue.add { (database) throws(DatabaseError) in
            StoredState(
                dismissals: try DismissalRows.all(session: session, database),
                portalVerdicts: try PortalVerdictRows.all(database))
        } then: {
            then((try? $0.get()) ?? StoredState())
        }
        forgetDismissals()
    }

    /// Removes the dismissals of earlier sessions, which have no effect.
    func forgetDismissals() {
        let session = session.scopes.session
        queue.add(writes: true, inBackground: true) { (database) throws(DatabaseError) in
            try DismissalRows.endOthers(than: session, database)
        } then: { _ in
        }
    }

    func save(_ record: DismissalRecord) {
        let session = session.scopes.session
        queue.add(writes: true) { (database) throws(DatabaseError) in
            try DismissalRows.save(record, session: session, database)
        } then: { [log] result in
            if case .failure(let error) = result { log.error("The count of dismissals could not be written: \(error)") }
        }
    }

    // MARK: Rule files

    /// Reads the last valid texts of files of rules and of the configuration; none, if that fails.
    func readRuleFiles(then: @escaping @LoopActor ([(path: String, text: String)]) -> Void) {
        queue.add(RuleFileRows.all) { then((try? $0.get()) ?? []) }
    }

    /// Replaces them. Passes whether that is on disk.
    func saveRuleFiles(_ texts: [ExactText: ExactText], then: @escaping @LoopActor (Bool) -> Void) {
        queue.add(writes: true) { (database) throws(DatabaseError) in
            try RuleFileRows.replaceAll(texts, database)
        } then: { [log] result in
            if case .failure(let error) = result {
                log.error("A fallback copy of the policy files could not be saved: \(error)")
            }
            then((try? result.get()) != nil)
        }
    }

    // MARK: Answers to portals

    /// Calls `then` once it is on disk, or cannot be written.
    func save(_ answer: PortalVerdict, then: @escaping @LoopActor () -> Void) {
        queue.add(writes: true) { (database) throws(DatabaseError) in
            try PortalVerdictRows.save(answer, database)
        } then: { [log] result in
            if case .failure(let error) = result {
                log.error("An answer to a portal could not be recorded, and may outlast its decision: \(error)")
            }
            then()
        }
    }

    func removePortalAnswer(_ key: PortalKey) {
        queue.add(writes: true, inBackground: true) { (database) throws(DatabaseError) in
            try PortalVerdictRows.remove(key, database)
        } then: { _ in
        }
    }
}
