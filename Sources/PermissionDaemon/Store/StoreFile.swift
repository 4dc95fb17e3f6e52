// The store's file: open for reading on the loop and for writing in the writer. A file that could not be opened, read or
// written is tried again, one that was taken away is written again, one that is damaged is replaced.

import DBus
import Glibc
import Logging
import PermissionCore
import PermissionModel

@LoopActor
final class StoreFile {
    enum Event {
        /// Another file, or the same one anew: nothing that was read of it counts any more.
        case opened
        /// It could not be read before.
        case readable
        /// It could not be written before.
        case writable
    }

    /// An attempt to open the file that took longer waited for another program's lock, on the loop; the next attempt is not
    /// made so soon. In milliseconds.
    private static let longAttempt: Int64 = 1000
    private static let pauseAfterLongAttempt: Int64 = 30_000

    let path: String
    private let origin: SessionOrigin
    private let log: Logger
    let writer = StoreWriter()
    private(set) var reader: Database?
    /// The files that the reader has open; nil when they cannot be written.
    private var identity: StoreIdentity?
    private(set) var state = StoreState.readOnly(why: "the store is not open yet")
    /// What was found, each once, as sentences.
    private var notes: [String] = []
    /// From here on they are told when they are made.
    private var isOpen = false
    /// The writer has a file.
    private var hasTarget = false
    /// The writer is asked to close its connection.
    private var isPausing = false
    /// `Loop.uptimeMilliseconds()` before which no attempt is made.
    private var nextAttempt: Int64 = 0
    /// What memory holds of a file that is replaced, to be written into the next one.
    private var remembered: [Decision] = []

    var onEvent: (@LoopActor (Event) -> Void)?
    /// What memory holds of the file.
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

    /// What is wrong now, each a sentence.
    var findings: [String] {
        switch state {
        case .writable, .closed: notes
        case .newer(let why): notes + [why]
        case .readOnly(let why), .damaged(let why): notes + ["\(why); decisions hold for the asking process only"]
        }
    }

    func note(_ finding: String) {
        guard !notes.contains(finding) else { return }
        notes.append(finding)
        if isOpen { log.error("\(finding)") }
    }

    // MARK: Reading and writing

    /// Reads; nil when there is nothing to read, or it fails, which is noted.
    func read<T>(_ body: (Database) throws(DatabaseError) -> T) -> T? {
        guard let reader else { return nil }
        do throws(DatabaseError) { return try body(reader) } catch {
            failed(error)
            return nil
        }
    }

    /// Makes the changes of a job, all or none. `then` comes in the order of the calls.
    func write(_ job: StoreJob, then: @escaping @LoopActor (Result<[Decision], StoreError>) -> Void) {
        reopenIfRefused()
        let isEmpty = job.isEmpty
        var job = job
        job.completion = { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let removed):
                // A barrier has written nothing, and proves nothing.
                if !isEmpty { wrote() }
                then(.success(removed))
            case .failure(let error):
                // Nothing to write is a barrier, not a failure.
                if isEmpty, !error.isLoss { return then(.success([])) }
                failed(error)
                then(isEmpty ? .success([]) : .failure(StoreError(reason: state.why ?? error.description)))
            }
        }
        writer.add(job)
    }

    /// Tries a file again that could not be read.
    func readAgain() {
        if reader == nil { reopenIfRefused() }
    }

    /// Writes everything queued. What is read afterwards is still there; nothing may be written.
    func close(then: @escaping @LoopActor () -> Void) {
        writer.stop { [self] in
            state = .closed
            // The last connection puts the log back into the file.
            reader = nil
            then()
        }
    }

    private func wrote() {
        guard state != .writable, hasTarget else { return }
        becameWritable()
    }

    private func becameWritable() {
        state = .writable
        log.notice("The store can be written again")
        // Not within the change that was written.
        Loop.shared.post { [weak self] in self?.onEvent?(.writable) }
    }

    private func failed(_ error: DatabaseError) {
        switch state {
        case .closed, .newer: return
        case .writable, .readOnly, .damaged: break
        }
        if error.isDamage { return reader?.mode == .unchanging ? openAnew() : replaceDamaged(error) }
        // The reason stands already.
        guard hasTarget else { return }
        if error.isLoss { return pause { $0.recover() } }
        become(.readOnly(why: "the store cannot be written: \(path): \(error.description)"))
        // Connections that were opened on a read-only disk stay so: the next change opens the file anew.
        if error.isReadOnly { pause { $0.refuse() } }
    }

    /// In the journal when it is another reason than before.
    private func become(_ state: StoreState) {
        guard self.state != state else { return }
        self.state = state
        if isOpen, let finding = findings.last { log.error("\(finding)") }
    }

    // MARK: Opening

    /// The writer closes its connection before `then`, so that files can be moved.
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

    /// Goes on with what opening came to. The writer has no connection.
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
        // Not within the change that is on its way.
        Loop.shared.post { [weak self] in self?.onEvent?(.readable) }
    }

    /// Before a change, if the writer has no file.
    private func reopenIfRefused() {
        guard !hasTarget, !isPausing else { return }
        switch state {
        case .newer, .closed: return
        case .writable, .readOnly, .damaged: break
        }
        let start = Loop.uptimeMilliseconds()
        guard start >= nextAttempt else { return }
        recover()
        let end = Loop.uptimeMilliseconds()
        if end - start > StoreFile.longAttempt { nextAttempt = end + StoreFile.pauseAfterLongAttempt }
    }

    /// A file that was taken for unchanging is another one now.
    private func openAnew() {
        reader = nil
        identity = nil
        recover()
    }

    /// Puts files back that were taken away, and opens what is there. The writer has no connection.
    private func recover() {
        guard putBack() else { return }
        reader = nil
        adopt(StoreOpening.open(path, origin, now: EpochSeconds(time(nil))))
    }

    /// The writer waits for the files.
    private func filesLost() {
        // Whoever asked the writer to pause goes on instead.
        if !isPausing { recover() }
    }

    /// Writes what the reader has open at its path again, if it is not there; false when that fails: it is tried again at
    /// the next change, and until then nothing can be written.
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

    /// The open file is of no use either: what memory holds comes into the next one.
    private func giveUp() -> Bool {
        note("\(path) was cut or damaged while permd ran; only what permd remembered is in it now")
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
            note("what permd remembered could not be written: \(error.description)")
        }
    }

    /// Sets the file aside, once the writer has closed it, and begins anew: what is unknown is undetermined.
    private func replaceDamaged(_ error: DatabaseError) {
        reader = nil
        identity = nil
        become(.damaged(why: "the store is damaged: \(path): \(error.description)"))
        onEvent?(.opened)
        pause { file in
            let now = EpochSeconds(time(nil))
            let finding = StoreOpening.setAside(file.path, now)
            if let finding { file.note(finding) }
            var opened = StoreOpening.open(file.path, file.origin, now: now)
            if finding == nil, opened.state == .writable {
                // Still the damaged one, which opening does not see.
                opened.state = .readOnly(why: "\(file.path): \(error.description)")
                opened.identity = nil
            }
            file.adopt(opened)
        }
    }
}
