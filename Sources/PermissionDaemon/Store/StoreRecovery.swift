// A store that cannot be opened, read or written, and how it goes on once that is mended.

import DBus
import Glibc
import Logging
import PermissionCore
import PermissionModel

extension DecisionStore {
    /// A try that took longer than this waited for somebody's lock, on the loop; then the next one is not so soon.
    private static let longTry: Int64 = 1000
    private static let pauseAfterLongTry: Int64 = 30_000

    /// Goes on with what opening came to.
    func taken(_ opened: OpenedFile, _ now: EpochSeconds) {
        reader = opened.database
        identity = opened.identity
        for finding in opened.findings { found(finding) }
        lookAtEnds(now)
        if let reader {
            putBackRemembered(reader)
            cache = [:]
            soonestEnd = nil
            fold.goOn(after: (try? HistoryRows.lastNumber(reader)) ?? 0)
            lastSerial = max(lastSerial, (try? reader.integer("SELECT value FROM meta WHERE key = 'serial'")) ?? 0)
        }
        isUnopened = opened.problem != nil
        mustReopen = isUnopened && !opened.isNewer
        if opened.problem == nil, let identity { return writer.use((paths.stateFile, identity)) }
        let problem = opened.problem ?? "\(paths.stateFile) cannot be written"
        writer.use(nil)
        condition = .unavailable(reason: problem)
        tell(opened.isNewer ? problem : "\(problem); decisions hold for the asking process only")
    }

    /// A row that a bad disk ended is listed nowhere, so it is looked for here: as the index of ends has it, or, among
    /// the rows of a filter, as each is itself.
    func lookAtEnds(_ now: EpochSeconds, among filter: RowCondition? = nil) {
        guard let reader else { return }
        var condition = filter ?? RowCondition(app: nil, permission: nil)
        // SQLite uses no index of ends for what could be true of a row without one.
        let end = filter == nil ? "until" : "coalesce(until, \(Int64.max))"
        condition.add("\(end) <= ?", .integer(now))
        let sql = "SELECT \(StoreRows.decisionColumns) FROM decision\(condition.sql)"
        try? reader.run(sql, condition.values) { row in if StoreRows.decision(row) == nil { foundBadRow() } }
    }

    /// Why nothing can be written; into the journal when it is another reason than before.
    private func tell(_ finding: String) {
        if writeFinding != finding { log.error("\(finding)") }
        writeFinding = finding
    }

    /// Of a file that the writer never got.
    var unopenedReason: String? {
        if isUnopened, case .unavailable(let reason) = condition { reason } else { nil }
    }

    func wrote() {
        guard writeFinding != nil else { return }
        writeFinding = nil
        mustReopen = !isReconciled
        condition = .ready
        log.notice("The store can be written again")
        // Not within the change that was written.
        Loop.shared.post { [weak self] in self?.onWritableAgain?() }
    }

    func failed(_ error: DatabaseError) {
        // A file that was taken for unchanging and is another one now is not damaged.
        if error.isDamage { return reader?.mode == .unchanging ? openAnew() : replaceDamaged(error) }
        if isUnopened { return }
        if error.isLoss { return filesLost() }
        mustReopen = error.isReadOnly || !isReconciled
        condition = .unavailable(reason: "\(paths.stateFile): \(error.description)")
        tell(
            "the store cannot be written: \(paths.stateFile): \(error.description); decisions hold for the asking process only"
        )
    }

    /// Tries a file again that could not be read, for a caller that lists before its change does; after `whenWritten`
    /// that is done.
    func readAgain() {
        if reader == nil, mustReopen { reopen() }
    }

    /// Tries the file again before a change.
    func reopen() {
        let start = Loop.uptimeMilliseconds()
        guard start >= nextTry else { return }
        openAnew()
        let end = Loop.uptimeMilliseconds()
        if end - start > DecisionStore.longTry { nextTry = end + DecisionStore.pauseAfterLongTry }
    }

    /// Connections that were opened while the file was read-only stay so, and new ones beside them, too: all are closed
    /// first, so that a mended disk is written again.
    private func openAnew() {
        let couldRead = reader != nil
        if isLost, !putBack() { return }
        reader = nil
        writer.suspend()
        let now = EpochSeconds(time(nil))
        taken(StoreOpening.open(paths.stateFile, .persistent, synchronous: "FULL", now: now), now)
        if !isReconciled { reconcile() }
        guard reader != nil, !couldRead else { return }
        // Not within the change that is on its way.
        Loop.shared.post { [weak self] in self?.onReadAgain?() }
    }

    /// The lasting files were taken away: they are written again. The writer waits meanwhile.
    func filesLost() {
        isLost = true
        openAnew()
    }

    /// Writes what the reader has open at its path again; false when that fails: it is tried again at the next change,
    /// and until then nothing can be written.
    private func putBack() -> Bool {
        guard let reader, let identity else {
            isLost = false
            return true
        }
        writer.suspend()
        do throws(DatabaseError) {
            // Somebody may have brought them back.
            if StoreIdentity(of: paths.stateFile)?.goesOn(from: identity) != true {
                found(try StoreReplacing.putBack(reader, identity: identity, EpochSeconds(time(nil))))
            }
            isLost = false
            return true
        } catch {
            return error.isDamage ? giveUp() : cannotPutBack(error)
        }
    }

    /// The open file is of no use either: what memory holds comes into the next one.
    private func giveUp() -> Bool {
        found("\(paths.stateFile) was cut or damaged while permd ran; only what permd remembered is in it now")
        remembered = cache.values.flatMap(\.values)
        _ = StoreOpening.setAside(paths.stateFile, EpochSeconds(time(nil)))
        isLost = false
        return true
    }

    private func cannotPutBack(_ error: DatabaseError) -> Bool {
        mustReopen = true
        isUnopened = true
        writer.use(nil)
        let problem =
            "\(paths.stateFile), or a file beside it, was deleted or replaced while permd ran, and cannot be written again: \(error.description)"
        condition = .unavailable(reason: problem)
        tell("\(problem); decisions hold for the asking process only")
        return false
    }

    /// The decisions that memory held of a file that was damaged meanwhile.
    private func putBackRemembered(_ database: Database) {
        guard !remembered.isEmpty else { return }
        do throws(DatabaseError) {
            try database.transaction { () throws(DatabaseError) in
                for decision in remembered {
                    _ = try PersistentRows.apply(.set(decision), serial: lastSerial, database)
                }
            }
            remembered = []
        } catch {
            found("what permd remembered could not be written: \(error.description)")
        }
    }

    /// What opening both files does, for a lasting one that could not be opened or written then.
    private func reconcile() {
        guard let reader else { return }
        guard isSessionKept else {
            isReconciled = true
            return
        }
        do throws(DatabaseError) {
            let session = try StoreOpening.configured(paths.sessionFile, "OFF")
            let before = try SessionRows.decisions(session)
            isReconciled = try SessionRows.reconcile(session: session, persistent: reader)
            let after = Set(try SessionRows.decisions(session))
            for decision in before where !after.contains(decision) { forget(decision) }
            if !isReconciled, !isUnopened { mustReopen = true }
        } catch {
            found("the session's decisions could not be compared with the lasting ones: \(error.description)")
        }
    }

    /// Sets the file aside and begins anew: what is unknown is undetermined.
    private func replaceDamaged(_ error: DatabaseError) {
        reader = nil
        cache = [:]
        soonestEnd = nil
        writer.suspend()
        let now = EpochSeconds(time(nil))
        let finding = StoreOpening.setAside(paths.stateFile, now)
        if let finding { found(finding) }
        var opened = StoreOpening.open(paths.stateFile, .persistent, synchronous: "FULL", now: now)
        if finding == nil, opened.problem == nil {
            // Still the damaged one, which opening does not see.
            opened.problem = "\(paths.stateFile): \(error.description)"
        }
        taken(opened, now)
    }
}
