// The store's file: open for reading on the loop and for writing in the writer's thread. A file that cannot be opened,
// read or written is retried, one that was deleted or replaced is written again, a damaged one is replaced.

import DBus
import Glibc
import Logging
import PermissionCore
import PermissionModel

@LoopActor
final class StoreFile {
    enum Event {
        /// The file was opened or replaced; what was read from it before is obsolete.
        case opened
        /// The file can be read again.
        case readable
        /// The file can be written again.
        case writable
    }

    /// If an attempt to open the file blocks the loop for longer than this, because another program holds a lock, the
    /// next attempt is delayed. In milliseconds.
    private static let longAttempt: Int64 = 1000
    private static let pauseAfterLongAttempt: Int64 = 30_000

    let path: String
    private let origin: SessionOrigin
    private let log: Logger
    let writer = StoreWriter()
    private(set) var reader: Database?
    /// The files that the reader has open; nil if they cannot be written.
    private var identity: StoreIdentity?
    private(set) var state = StoreState.readOnly(why: "the store is not open yet")
    /// The problems found so far, without duplicates, as sentences.
    private var notes: [String] = []
    /// Whether the file was opened once; problems found after that are logged at once.
    private var isOpen = false
    /// Whether the writer has a file.
    private var hasTarget = false
    /// Whether the writer was asked to close its connection.
    private var isPausing = false
    /// The `Loop.uptimeMilliseconds()` before which no attempt is made to open the file.
    private var nextAttempt: Int64 = 0
    /// Decisions in memory from a file that is being replaced, to be written to its replacement.
    private var remembered: [Decision] = []

    var onEvent: (@LoopActor (Event) -> Void)?
    /// Returns the decisions of the file that are in memory.
    var memory: (@LoopActor () -> [Decision])?

    init(path: String, origin: SessionOrigin, log: Logger) {
        self.path = path
        self.origin = origin
        self.log = log
        writer.onLoss = { [weak self] in self?.filesLost() }
    }

    func open() {
        adopt(StoreOpening.open(path, origin, now: EpochSeconds(time(nil))))
        for note in findings { log.error("\(note)") }
        isOpen = true
        writer.start()
    }

    /// The current problems, each as a sentence.
    var findings: [String] {
        switch state {
        case .writable, .closed: notes
        case .newer(let why): notes + [why]
        case .readOnly(let why): notes + ["\(why); decisions hold for the asking process only"]
        }
    }

    /// Whether no file will be opened any more.
    private var isFinal: Bool {
        switch state {
        case .newer, .closed: true
        case .writable, .readOnly: false
        }
    }

    func note(_ finding: String) {
        guard !notes.contains(finding) else { return }
        notes.append(finding)
        if isOpen { log.error("\(finding)") }
    }

    // MARK: Reading and writing

    /// Reads from the file. Returns nil if no file is open, or if the read fails, which is noted.
    func read<T>(_ body: (Database) throws(DatabaseError) -> T) -> T? {
        guard let reader else { return nil }
        do throws(DatabaseError) { return try body(reader) } catch {
            failed(error)
            return nil
        }
    }

    /// Makes the changes of a job, all or none. `then` is called in the order of the jobs.
    func write(_ job: StoreJob, then: @escaping @LoopActor (Result<[Decision], StoreError>) -> Void) {
        reopenIfRefused()
        let isEmpty = job.isEmpty
        var job = job
        job.completion = { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let removed):
                // A job without changes has written nothing, so it does not show that the file can be written.
                if !isEmpty, state != .writable, hasTarget { becameWritable() }
                then(.success(removed))
            case .failure(let error):
                // A failure matters to a job without changes only if files were lost.
                if isEmpty, !error.isLoss { return then(.success([])) }
                failed(error)
                then(isEmpty ? .success([]) : .failure(StoreError(reason: state.why ?? error.description)))
            }
        }
        writer.add(job)
    }

    /// Retries a file that could not be read.
    func readAgain() {
        if reader == nil { reopenIfRefused() }
    }

    /// Writes everything queued and closes the file. Nothing may be written afterwards.
    func close(then: @escaping @LoopActor () -> Void) {
        writer.stop { [self] in
            state = .closed
            // Closing the last connection copies the write-ahead log into the file.
            reader = nil
            then()
        }
    }

    private func becameWritable() {
        state = .writable
        log.notice("The store can be written again")
        // Posted, so that it does not run within the change that was written.
        Loop.shared.post { [weak self] in self?.onEvent?(.writable) }
    }

    private func failed(_ error: DatabaseError) {
        if isFinal { return }
        // A file that was opened as unchanging may have changed.
        if error.isDamage { return reader?.mode == .unchanging ? recover() : replaceDamaged(error) }
        // The state already gives the reason.
        guard hasTarget else { return }
        if error.isLoss { return pause { $0.recover() } }
        become(.readOnly(why: "the store cannot be written: \(path): \(error.description)"))
        // Connections that were opened on a read-only disk stay read-only, so the next change opens the file again.
        if error.isReadOnly { pause { $0.refuse() } }
    }

    /// Sets the state, and logs a reason that has changed.
    private func become(_ state: StoreState) {
        guard self.state != state else { return }
        self.state = state
        if isOpen, let finding = findings.last { log.error("\(finding)") }
    }

    // MARK: Opening

    /// Calls `then` after the writer has closed its connection, so that files can be moved.
    private func pause(then: @escaping @LoopActor (StoreFile) -> Void) {
        guard !isPausing else { return }
        isPausing = true
        writer.pause { [weak self] in
            guard let self else { return }
            isPausing = false
            then(self)
        }
    }

    private func refuse() {
        hasTarget = false
        writer.refuse()
    }

    /// Continues with an opened file. The writer must have no connection.
    private func adopt(_ opened: OpenedFile) {
        let couldRead = reader != nil
        reader = opened.database
        identity = opened.identity
        for finding in opened.findings { note(finding) }
        if let reader { writeRemembered(reader) }
        onEvent?(.opened)
        if opened.state == .writable, let identity {
            hasTarget = true
            writer.use(path: path, identity)
            if isOpen, state != .writable { becameWritable() }
            state = .writable
        } else {
            refuse()
            become(opened.state)
        }
        guard isOpen, reader != nil, !couldRead else { return }
        // Posted, so that it does not run within the current change.
        Loop.shared.post { [weak self] in self?.onEvent?(.readable) }
    }

    /// Opens the file again, before a change, if the writer has none.
    private func reopenIfRefused() {
        guard !hasTarget, !isPausing, !isFinal else { return }
        let start = Loop.uptimeMilliseconds()
        guard start >= nextAttempt else { return }
        recover()
        let end = Loop.uptimeMilliseconds()
        if end - start > StoreFile.longAttempt { nextAttempt = end + StoreFile.pauseAfterLongAttempt }
    }

    /// Writes lost files again and opens what is there. The writer must have no connection.
    private func recover() {
        guard putBack() else { return }
        reader = nil
        adopt(StoreOpening.open(path, origin, now: EpochSeconds(time(nil))))
    }

    /// Called while the writer waits for the files.
    private func filesLost() {
        // If a pause was requested, its completion continues instead.
        if !isPausing { recover() }
    }

    /// Writes the files that the reader has open to their path again if they are missing there. Returns false if that
    /// fails: the next change retries it, and nothing can be written until then.
    private func putBack() -> Bool {
        guard let reader, let identity, StoreIdentity(of: path)?.goesOn(from: identity) != true else { return true }
        do throws(DatabaseError) {
            note(try StoreReplacing.putBack(reader, identity: identity, EpochSeconds(time(nil))))
            return true
        } catch {
            if error.isDamage { return giveUp() }
            refuse()
            become(
                .readOnly(
                    why:
                        "\(path), or a file beside it, was deleted or replaced while permd ran, and cannot be written again: \(error.description)"
                ))
            return false
        }
    }

    /// The open file is damaged too: the decisions in memory are written to the next one.
    private func giveUp() -> Bool {
        note("\(path) was truncated or damaged while permd ran; it now has only the decisions that permd had in memory")
        remembered = memory?() ?? []
        _ = StoreOpening.setAside(path, EpochSeconds(time(nil)))
        return true
    }

    private func writeRemembered(_ database: Database) {
        guard !remembered.isEmpty else { return }
        do throws(DatabaseError) {
            try database.transaction { () throws(DatabaseError) in
                for decision in remembered { try DecisionRows.set(decision, database) }
            }
            remembered = []
        } catch {
            note("the decisions in memory could not be written: \(error.description)")
        }
    }

    /// Moves the damaged file aside once the writer has closed it, and creates an empty one.
    private func replaceDamaged(_ error: DatabaseError) {
        reader = nil
        identity = nil
        become(.readOnly(why: "the store is damaged: \(path): \(error.description)"))
        onEvent?(.opened)
        pause { file in
            let now = EpochSeconds(time(nil))
            let finding = StoreOpening.setAside(file.path, now)
            if let finding { file.note(finding) }
            var opened = StoreOpening.open(file.path, file.origin, now: now)
            if finding == nil, opened.state == .writable {
                // The damaged file is still there, which opening does not detect.
                opened.state = .readOnly(why: "\(file.path): \(error.description)")
                opened.identity = nil
            }
            file.adopt(opened)
        }
    }
}
