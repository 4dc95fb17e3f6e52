// The store's jobs: queued on the loop and run in order by a worker of its own. Those that have gathered while others ran
// become the next group, with one transaction and one write to the disk.

import DBus
import Logging
import System

@LoopActor
final class StoreQueue {
    /// The most jobs in a group. It bounds how long the first of them waits, and the completions in one turn of the loop.
    private static let groupSize = 64

    private let path: String
    private let file: StoreFile
    private let log: Logger
    private let worker = Worker(threads: 1)
    private var waiting: [StoreJob] = []
    private var isRunning = false
    /// Whether the facts in the file may be others than those read so far.
    private var mustRead = true
    /// Nil until the file was opened or could not be.
    private(set) var state: StoreState?
    /// What the worker has reported.
    private var findings: [String] = []

    /// The resets that could not be written so far.
    var pendingResets: @LoopActor () -> [DecisionFilter] = { [] }
    /// Called with the facts in a file that was opened, after the completions of the jobs that it was opened for.
    var onRead: (@LoopActor (StoredFacts) -> Void)?
    /// Called when a change was written after others could not be.
    var onWritableAgain: (@LoopActor () -> Void)?

    init(paths: StorePaths, log: Logger) {
        path = paths.stateFile
        self.log = log
        file = StoreFile(paths: paths)
    }

    /// The current problems, each as a sentence.
    var problems: [String] {
        switch state {
        case .writable, .closed, nil: findings
        case .readOnly(let why): findings + ["\(why); decisions hold for the asking process only"]
        }
    }

    // MARK: Jobs

    /// Runs `body` in the worker, and `then` on the loop with what it returned. Completions run in the order of the jobs.
    ///
    /// - Parameters:
    ///   - writes: Whether it changes the database.
    ///   - resets: Those among the changes.
    ///   - session: What must be saved first, or the job fails.
    ///   - inBackground: Whether nobody waits for what it does.
    func add<Value: Sendable>(
        writes: Bool = false, resets: [DecisionFilter] = [], session: UserSession? = nil, inBackground: Bool = false,
        _ body: @escaping @Sendable (Database) throws(DatabaseError) -> Value,
        then: @escaping @LoopActor (Result<Value, StoreError>) -> Void
    ) {
        let job = StoreJob(
            writes: writes, isBackground: inBackground, session: session, resets: resets,
            run: { (database) throws(DatabaseError) in
                let value = try body(database)
                return { then(.success(value)) }
            }, fail: { then(.failure($0)) })
        waiting.append(job)
        guard !isRunning else { return }
        isRunning = true
        // Calls that arrive in the same turn become one group.
        Loop.shared.later { self.runNext() }
    }

    /// Adds the result of SQLite's check of the file to the problems, and then calls `then`.
    func checkIntegrity(then: @escaping @LoopActor () -> Void) {
        add { [file] (database) throws(DatabaseError) in
            try file.checkIntegrity(database)
        } then: { _ in
            then()
        }
    }

    /// Closes the file once all jobs have run. Those that are added afterwards fail.
    func close(then: @escaping @LoopActor () -> Void) {
        add { _ in
        } then: { [self] _ in
            worker.run(about: path) { [file] in
                file.close()
            } then: { [self] _ in
                state = .closed
                then()
            }
        }
    }

    /// Tries again to read the facts, unless they are read with a job that waits.
    func read() {
        guard !isRunning else { return }
        add(inBackground: true) { _ in
        } then: { _ in
        }
    }

    private func runNext() {
        guard !waiting.isEmpty else {
            isRunning = false
            return
        }
        let group = Array(waiting.prefix(StoreQueue.groupSize))
        waiting.removeFirst(group.count)
        let (pendingResets, reads) = (pendingResets(), mustRead)
        let end = Loop.uptimeMilliseconds() + Worker.deadline
        worker.run(about: path) { [file] in
            file.run(group, pendingResets: pendingResets, before: end, reads: reads)
        } then: { [self] report in
            if let report { apply(report) } else { hang() }
            let hung = StoreError(reason: state?.why ?? "")
            for completion in report?.completions ?? group.map({ job in { job.fail(hung) } }) { completion() }
            if let facts = report?.facts { onRead?(facts) }
            runNext()
        }
    }

    /// The disk does not answer. The worker fails further jobs at once until it does.
    private func hang() {
        mustRead = true
        enter(.readOnly(why: "\(path) does not answer"))
    }

    private func apply(_ report: StoreFile.Report) {
        for finding in report.findings where !findings.contains(finding) { log.error("\(finding)") }
        findings = report.findings
        let isFirst = state == nil
        let couldWrite = state == .writable
        enter(report.state)
        mustRead = report.facts == nil && (mustRead || report.isReopened)
        guard report.state == .writable, !couldWrite, !isFirst else { return }
        log.notice("The store can be written again")
        Loop.shared.later { self.onWritableAgain?() }
    }

    /// Sets the state, and logs a reason that has changed.
    private func enter(_ state: StoreState) {
        guard self.state != state else { return }
        self.state = state
        if state.why != nil, let problem = problems.last { log.error("\(problem)") }
    }
}
