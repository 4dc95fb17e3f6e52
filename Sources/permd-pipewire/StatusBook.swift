// What permd says about each owner of a client. Kept while permd is away, so that who has a grant records on.

import CaptureRules
import DBus
import PermissionModel
import ProcessIdentity

@LoopActor
final class StatusBook {
    /// Calls in progress: permd refuses callers that have too many waiting.
    private static let mostCalls = 8
    private static let permissions: [Permission] = [.camera, .microphone]

    private struct Entry {
        var statuses: [Permission: Status]?
        var isKnown = false
        var isStale = true
        var isAsking = false
    }

    private let permd: PermdLink
    /// Called with the owner of whom permd has said something.
    private let changed: @LoopActor (Owner) -> Void
    private var entries: [Owner: Entry] = [:]
    private var queue: [Owner] = []
    private var calls = 0

    init(_ permd: PermdLink, changed: @escaping @LoopActor (Owner) -> Void) {
        self.permd = permd
        self.changed = changed
    }

    /// Nil if permd has not said anything yet.
    func status(_ owner: Owner, _ permission: Permission) -> Status? { entries[owner]?.statuses?[permission] }

    /// Whether permd has said anything about the owner, also that it cannot identify it.
    func isKnown(_ owner: Owner) -> Bool { entries[owner]?.isKnown == true }

    /// Whether permd is being asked about an owner, or will be.
    var isAsking: Bool { permd.isReady && (calls > 0 || !queue.isEmpty) }

    /// Keeps exactly these owners. Those in `first` are asked about before the others.
    func keep(_ owners: Set<Owner>, first: Set<Owner>) {
        entries = entries.filter { owners.contains($0.key) }
        for owner in owners where entries[owner] == nil {
            entries[owner] = Entry()
            if first.contains(owner) { queue.insert(owner, at: 0) } else { queue.append(owner) }
        }
        ask()
    }

    /// What was said about the app may no longer be true; nil is any. It holds until permd has answered.
    func refresh(_ app: String? = nil) {
        for owner in entries.keys where app == nil || owner.app?.description == app {
            entries[owner]?.isStale = true
            queue.append(owner)
        }
        ask()
    }

    /// permd has left: calls in progress are not answered.
    func stop() {
        calls = 0
        queue = []
        for owner in entries.keys { entries[owner]?.isAsking = false }
    }

    private func ask() {
        while permd.isReady, calls < StatusBook.mostCalls, !queue.isEmpty {
            let owner = queue.removeFirst()
            guard let entry = entries[owner], entry.isStale, !entry.isAsking else { continue }
            guard let who = owner.who else {
                entries[owner]?.statuses = nil
                entries[owner]?.isKnown = true
                entries[owner]?.isStale = false
                continue
            }
            entries[owner]?.isStale = false
            entries[owner]?.isAsking = true
            calls += 1
            permd.getStatus(who, StatusBook.permissions) { [weak self] in self?.answered(owner, $0) }
        }
    }

    private func answered(_ owner: Owner, _ statuses: [Permission: Status]?) {
        calls -= 1
        if entries[owner] != nil {
            entries[owner]?.isAsking = false
            // An owner that permd cannot identify has no status, and so no right.
            entries[owner]?.statuses = statuses
            entries[owner]?.isKnown = true
            if entries[owner]?.isStale == true { queue.append(owner) }
        }
        changed(owner)
        ask()
    }
}

extension Owner {
    var app: AppID? {
        switch self {
        case .process(_, let app), .app(let app): app
        case .session, .unsandboxed, .unknown: nil
        }
    }

    /// How permd is told who it is; nil if the process has exited, or is unknown.
    var who: Value? {
        switch self {
        case .session, .unsandboxed, .unknown: return nil
        case .app(let app): return .variant(.string(app.description))
        case .process(let key, _):
            let descriptor = Pidfd.open(key.pid)
            guard descriptor >= 0 else { return nil }
            let pidfd = UnixFD(owning: descriptor)
            // The ID was not used again before the pidfd was opened.
            guard ProcessReader().isThere(key) else { return nil }
            return .variant(.unixFD(pidfd))
        }
    }
}
