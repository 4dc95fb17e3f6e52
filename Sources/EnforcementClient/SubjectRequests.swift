// The requests that permd is asked to put to the person: one for each subject and permission at a time.

package import DBus
import PermissionClient
package import PermissionModel

/// What a subject does with a device.
package struct SubjectState {
    /// The streams, or whatever else the point counts as one beginning to use the device.
    package var attempts: Set<UInt32>
    package var device: String
    /// What permd said last; nil if it has said nothing yet.
    package var said: SubjectAccess?
    /// Whether it gets nothing until somebody has decided.
    package var isUndecided: Bool

    package init(attempts: Set<UInt32>, device: String, said: SubjectAccess?, isUndecided: Bool) {
        self.attempts = attempts
        self.device = device
        self.said = said
        self.isUndecided = isUndecided
    }
}

@LoopActor
package final class SubjectRequests {
    /// Milliseconds after which a request that permd could not take is made again, if nothing is heard before.
    private static let retryDelay: Int64 = 10_000

    private struct Entry {
        var request: RequestObject?
        /// The attempts of the last update.
        var attempts: Set<UInt32> = []
        /// The attempts that need no further question: they were asked about, or a person took their grant.
        var settled: Set<UInt32> = []
        var last: Access?
        var timer: LoopTimer?

        /// A grant that a person took is not asked about until the app begins anew; one that ended is, at once.
        mutating func heard(_ said: SubjectAccess?) {
            guard let said, said.access != last else { return }
            switch (last, said.access) {
            case (_, .allowed): settled = []
            case (.allowed, .refused): settled = attempts
            case (.allowed, .ask) where said.ended == .person: settled = attempts
            default: break
            }
            last = said.access
        }
    }

    private let permd: PermdLink
    /// Called when a request may have to be made.
    private let changed: @LoopActor () -> Void
    private var entries: [SubjectPermission: Entry] = [:]
    private var count: UInt64 = 0

    init(_ permd: PermdLink, changed: @escaping @LoopActor () -> Void) {
        self.permd = permd
        self.changed = changed
    }

    /// Makes the requests that are needed now, and withdraws those that no longer are.
    package func update(_ states: [SubjectPermission: SubjectState]) {
        for (key, entry) in entries where states[key] == nil {
            end(entry)
            entries[key] = nil
        }
        for (key, state) in states {
            var entry = entries[key] ?? Entry()
            entry.attempts = state.attempts
            entry.settled.formIntersection(state.attempts)
            entry.heard(state.said)
            entries[key] = entry
            if state.isUndecided {
                request(key, state)
            } else if entry.request != nil {
                end(entry)
                entries[key]?.request = nil
            }
        }
    }

    /// permd has left, and its requests with it.
    func disconnected() {
        for (key, entry) in entries {
            entry.request?.close()
            entries[key]?.request = nil
            entries[key]?.timer?.cancel()
            entries[key]?.timer = nil
        }
    }

    /// What kept permd from taking a request may be over.
    func retry(_ app: String?) {
        for (key, entry) in entries where entry.timer != nil && (app == nil || key.subject.app.description == app) {
            retry(key)
        }
    }

    private func retry(_ key: SubjectPermission) {
        entries[key]?.timer?.cancel()
        entries[key]?.timer = nil
        changed()
    }

    // MARK: Requests

    private func request(_ key: SubjectPermission, _ state: SubjectState) {
        guard let entry = entries[key], entry.request == nil, entry.timer == nil,
            !state.attempts.isSubset(of: entry.settled), let who = key.subject.who
        else { return }
        count += 1
        entries[key]?.request = permd.request(who, key.permission, device: state.device, number: count) { [weak self] in
            self?.ended(key, $0)
        }
    }

    private func ended(_ key: SubjectPermission, _ end: PermdLink.RequestEnd) {
        guard entries[key] != nil else { return }
        entries[key]?.request = nil
        switch end {
        case .answered(let seconds?):
            let timer = Loop.shared.after(milliseconds: Int64(seconds) * 1000) { [weak self] in self?.retry(key) }
            entries[key]?.timer = timer
        case .failed(isRetryable: true):
            let timer = Loop.shared.after(milliseconds: SubjectRequests.retryDelay) { [weak self] in self?.retry(key) }
            entries[key]?.timer = timer
        case .answered(nil), .failed:
            let attempts = entries[key]?.attempts ?? []
            entries[key]?.settled = attempts
        }
        changed()
    }

    private func end(_ entry: Entry) {
        entry.timer?.cancel()
        entry.request?.close()
    }
}
