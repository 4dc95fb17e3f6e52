// The store's one connection to its file, used by the store's worker: runs groups of jobs, each group in one transaction.
//
// A file that cannot be opened or written is tried again with the next change, a damaged one is replaced. One that was
// deleted or replaced by another program is noticed before changes are acknowledged: they fail, and what is at the path
// then is opened and read. Nothing is written again from memory.

import DBus
import Glibc
import PermissionCore
import PermissionModel
import System

/// Work on the database. The completions run on the loop.
struct StoreJob: Sendable {
    typealias Completion = @LoopActor () -> Void

    let writes: Bool
    /// Whether nobody waits for what it does. If files are lost before it, the next job of another kind fails, too.
    let isBackground: Bool
    /// The session that must be saved first, if any.
    let session: UserSession?
    /// The resets among the changes.
    let resets: [DecisionFilter]
    /// Runs within the group's transaction. Returns what to do once that is committed.
    let run: @Sendable (Database) throws(DatabaseError) -> Completion
    let fail: @LoopActor (StoreError) -> Void
}

// SAFETY: only jobs of the store's worker use it, which run one at a time.
final class StoreFile: @unchecked Sendable {
    /// The result of a group of jobs.
    struct Report: Sendable {
        /// In the order of the jobs.
        var completions: [StoreJob.Completion]
        var state: StoreState
        /// All problems found so far, without duplicates, as sentences.
        var findings: [String]
        /// Whether another file may have been opened than the one before.
        var isReopened: Bool
        /// What is in the file after these jobs, if it was read.
        var facts: StoredFacts?
    }

    private let path: String
    private let sessionFile: SessionFile
    private var database: Database?
    /// The open files; nil if they cannot be written.
    private var identity: StoreIdentity?
    private var state = StoreState.readOnly(why: "the store is not open yet")
    private var findings: [String] = []
    private var isReopened = false

    init(paths: StorePaths) {
        path = paths.stateFile
        sessionFile = SessionFile(path: paths.sessionFile)
        if paths.session == nil {
            report("XDG_RUNTIME_DIR is not set; decisions for the session are forgotten when permd exits")
        }
    }

    /// Runs jobs together. If that fails, each runs alone, so that one failure does not affect the others.
    ///
    /// - Parameters:
    ///   - owed: Resets that could not be written so far. They are written with the first change.
    ///   - end: The `Loop.uptimeMilliseconds()` after which nothing is committed, because the jobs have failed by then.
    ///   - reads: Whether to read the facts even if no file is opened.
    func run(_ jobs: [StoreJob], pendingResets: [DecisionFilter], before end: Int64, reads: Bool) -> Report {
        isReopened = false
        let completions = together(jobs, pendingResets, end)
        let facts = reads || isReopened ? readFacts() : nil
        if database?.hasDamagedRows == true {
            report("the store has damaged rows, which are left out; their content is unknown now, so apps ask again")
        }
        return Report(completions: completions, state: state, findings: findings, isReopened: isReopened, facts: facts)
    }

    /// Returns nil if the file cannot be read. One that is found to be damaged is replaced.
    private func readFacts() -> StoredFacts? {
        for _ in 0..<2 {
            guard let database else { return nil }
            do throws(DatabaseError) {
                try checkFiles()
                return StoredFacts(
                    decisions: try DecisionRows.all(database), off: try SwitchRows.all(database),
                    lastUses: try LastUseRows.all(database))
            } catch {
                _ = failed(error, inBackground: true)
            }
        }
        return nil
    }

    /// Adds the result of SQLite's check of the whole file to the findings, and decodes all decisions.
    func checkIntegrity(_ database: Database) throws(DatabaseError) {
        try database.run("PRAGMA quick_check(5)") { row in
            if row.text(0) != "ok" { report("the store is damaged: \(path): \(row.text(0))") }
        }
        _ = try DecisionRows.all(database)
    }

    func close() {
        // What is in the log is copied to the database when it closes; an empty log need not be read at the next start.
        try? database?.execute("PRAGMA journal_size_limit = 0")
        database = nil
        identity = nil
        state = .closed
    }

    private func together(_ jobs: [StoreJob], _ pendingResets: [DecisionFilter], _ end: Int64) -> [StoreJob.Completion]
    {
        do throws(DatabaseError) { return try attempt(jobs, pendingResets, end) } catch {
            // In another file than the one that the jobs were meant for, they would succeed.
            let isFinal = error.isLoss || error.isDamage || jobs.count == 1
            let why = failed(error, inBackground: jobs.allSatisfy(\.isBackground))
            if isFinal { return jobs.map { job in { job.fail(why) } } }
        }
        var pendingResets = pendingResets
        return jobs.map { job in
            do throws(DatabaseError) {
                let completions = try attempt([job], pendingResets, end)
                if job.writes { pendingResets = [] }
                return completions[0]
            } catch {
                pendingResets += job.resets
                let why = failed(error, inBackground: job.isBackground)
                return { job.fail(why) }
            }
        }
    }

    private func attempt(
        _ jobs: [StoreJob], _ pendingResets: [DecisionFilter], _ end: Int64
    ) throws(DatabaseError) -> [StoreJob.Completion] {
        for case let session? in jobs.map(\.session) {
            guard let problem = sessionFile.save(session) else { continue }
            report(problem)
            throw .noFile(problem)
        }
        let writes = jobs.contains(where: \.writes)
        let database = try opened(writes: writes)
        var completions: [StoreJob.Completion] = []
        try checkFiles()
        guard writes else {
            for job in jobs { completions.append(try job.run(database)) }
            return completions
        }
        let changes = database.changes
        try database.transaction { () throws(DatabaseError) in
            for filter in pendingResets { try DecisionRows.delete(filter, database) }
            for job in jobs { completions.append(try job.run(database)) }
            if Loop.uptimeMilliseconds() > end { throw .late }
        }
        try checkFiles()
        // A transaction without changes does not show that the file can be written.
        if database.changes != changes { state = .writable }
        return completions
    }

    private func opened(writes: Bool) throws(DatabaseError) -> Database {
        if state != .closed, database == nil || writes && identity == nil { open() }
        guard let database, !writes || identity != nil else { throw .noFile(state.why ?? "") }
        return database
    }

    private func open() {
        (database, identity) = (nil, nil)
        if FileStatus(path)?.size == 0 {
            report("\(path) was empty; its former content is unknown now, so apps ask again")
        }
        do throws(DatabaseError) {
            let opened: OpenedFile
            do throws(DatabaseError) { opened = try StoreOpening.open(path) } catch {
                guard error.isDamage, setAside() else { throw error }
                opened = try StoreOpening.open(path)
            }
            (database, identity, isReopened) = (opened.database, opened.identity, true)
            state = opened.problem.map { .readOnly(why: $0) } ?? .writable
        } catch {
            state = .readOnly(
                why: error.isNoFile ? error.description : "\(path) cannot be opened: \(error.description)")
        }
    }

    /// Moves a damaged file aside. Returns whether another one can be opened.
    private func setAside() -> Bool {
        let target = "\(path).damaged-\(Loop.nanoseconds(of: CLOCK_REALTIME))"
        guard rename(path, target) == 0 else { return false }
        for suffix in StoreIdentity.suffixes.dropFirst() { rename(path + suffix, target + suffix) }
        report("the store was damaged and is set aside as \(target); its content is unknown now, so apps ask again")
        return true
    }

    /// Throws if the open files are not those at the path.
    private func checkFiles() throws(DatabaseError) {
        guard let open = identity else { return }
        guard let found = open.again(at: path), found.continues(open) else { throw .loss(path) }
        identity = found
    }

    /// Returns the error for the jobs that failed.
    private func failed(_ error: DatabaseError, inBackground: Bool) -> StoreError {
        switch error {
        case _ where error.isLoss:
            report("\(error.description) while permd ran; the file that is there now is used")
            if !inBackground { open() }
            return StoreError(reason: error.description)
        case _ where error.isDamage:
            let why = "the store is damaged: \(path): \(error.description)"
            (database, identity, state) = (nil, nil, .readOnly(why: why))
            if setAside() { open() }
            return StoreError(reason: why)
        case _ where error.isNoFile: return StoreError(reason: error.description)
        default:
            state = .readOnly(why: "the store cannot be written: \(path): \(error.description)")
            // A connection that was opened on a read-only disk stays read-only; the next change opens the file again.
            if error.isReadOnly { (database, identity) = (nil, nil) }
        }
        return StoreError(reason: state.why ?? "")
    }

    private func report(_ finding: String) {
        if !findings.contains(finding) { findings.append(finding) }
    }
}
