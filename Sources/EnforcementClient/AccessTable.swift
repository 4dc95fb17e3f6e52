// What permd says about each subject. Kept while permd is away, so that who has a grant goes on.

package import DBus
package import PermissionModel
import System

@LoopActor
package final class AccessTable {
    /// Calls in progress: permd refuses callers that have too many waiting.
    private static let maximumCalls = 8

    private struct Entry {
        var access: [Permission: SubjectAccess]?
        var isKnown = false
        var isStale = true
        var isAsking = false
        /// After a call that failed.
        var backoff = Backoff(first: 100, longest: 10_000)
        var retry: LoopTimer?
    }

    private let permd: PermdLink
    private let permissions: [Permission]
    private let changed: @LoopActor (Subject) -> Void
    private var entries: [Subject: Entry] = [:]
    private var queue: [Subject] = []
    private var calls = 0

    init(_ permd: PermdLink, _ permissions: [Permission], changed: @escaping @LoopActor (Subject) -> Void) {
        self.permd = permd
        self.permissions = permissions
        self.changed = changed
    }

    /// Nil if permd has not said anything yet, or cannot identify the subject.
    package subscript(_ subject: Subject, _ permission: Permission) -> SubjectAccess? {
        entries[subject]?.access?[permission]
    }

    /// Whether permd has said anything about the subject, also that it cannot identify it.
    package func isKnown(_ subject: Subject) -> Bool { entries[subject]?.isKnown == true }

    /// Whether permd is being asked about a subject, or will be.
    package var isAsking: Bool { permd.isReady && (calls > 0 || !queue.isEmpty) }

    /// Follows exactly these subjects. Those in `first` are asked about before the others.
    package func follow(_ subjects: Set<Subject>, first: Set<Subject>) {
        for (subject, entry) in entries where !subjects.contains(subject) {
            entry.retry?.cancel()
            entries[subject] = nil
        }
        for subject in subjects where entries[subject] == nil {
            entries[subject] = Entry()
            if first.contains(subject) { queue.insert(subject, at: 0) } else { queue.append(subject) }
        }
        ask()
    }

    /// What was said about the app may no longer be true; nil is any. It counts until permd has answered.
    func refresh(_ app: String?) {
        for subject in entries.keys where app == nil || subject.app.description == app { refresh(subject) }
        ask()
    }

    private func refresh(_ subject: Subject) {
        entries[subject]?.retry?.cancel()
        entries[subject]?.retry = nil
        entries[subject]?.isStale = true
        queue.append(subject)
    }

    /// permd has left: calls in progress are not answered.
    func disconnected() {
        calls = 0
        queue = []
        for subject in entries.keys {
            entries[subject]?.isAsking = false
            entries[subject]?.retry?.cancel()
            entries[subject]?.retry = nil
        }
    }

    private func ask() {
        while permd.isReady, calls < AccessTable.maximumCalls, !queue.isEmpty {
            let subject = queue.removeFirst()
            guard let entry = entries[subject], entry.isStale, !entry.isAsking else { continue }
            entries[subject]?.isStale = false
            guard let who = subject.who else {
                entries[subject]?.access = nil
                entries[subject]?.isKnown = true
                continue
            }
            entries[subject]?.isAsking = true
            calls += 1
            permd.getAccess(who, permissions) { [weak self] in self?.answered(subject, $0) }
        }
    }

    private func answered(_ subject: Subject, _ answer: Result<[Permission: SubjectAccess], PermdLink.Failure>) {
        calls -= 1
        if var entry = entries[subject] {
            entry.isAsking = false
            switch answer {
            case .success(let access):
                (entry.access, entry.isKnown) = (access, true)
                entry.backoff.reset()
            case .failure(let failure):
                // A subject that permd cannot identify may nothing. It may identify it later.
                if !failure.isRetryable { (entry.access, entry.isKnown) = (nil, true) }
                entry.retry = Loop.shared.after(milliseconds: entry.backoff.next()) { [weak self] in
                    self?.refresh(subject)
                    self?.ask()
                }
            }
            entries[subject] = entry
            if entry.isStale { queue.append(subject) }
        }
        changed(subject)
        ask()
    }
}
