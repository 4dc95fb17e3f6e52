// The requests that permd is asked to put to the person: one for each owner and permission at a time.

import CaptureRules
import DBus
import PermissionModel

/// An owner that records, or waits to.
struct CaptureKey: Hashable {
    let owner: Owner
    let permission: Permission
}

struct CaptureState {
    var nodes: Set<ObjectID>
    var device: String
    var status: Status?
    var right: RecordingRight
}

@LoopActor
final class Prompts {
    /// Milliseconds after which a request that permd could not take is made again, if nothing is heard before.
    private static let retryDelay: Int64 = 10_000

    private struct Entry {
        var path: String?
        /// The recorders of the last update.
        var nodes: Set<ObjectID> = []
        /// The recorders that need no further question: they were asked about, or a person took their grant.
        var settled: Set<ObjectID> = []
        var last: Status?
        /// Whether it is being found out why a grant ended.
        var isHeld = false
        var timer: LoopTimer?
    }

    private let permd: PermdLink
    /// Called when a question may have to be asked.
    private let changed: @LoopActor () -> Void
    private var entries: [CaptureKey: Entry] = [:]
    private var count: UInt64 = 0

    init(_ permd: PermdLink, changed: @escaping @LoopActor () -> Void) {
        self.permd = permd
        self.changed = changed
    }

    func update(_ states: [CaptureKey: CaptureState]) {
        for (key, entry) in entries where states[key] == nil {
            end(entry)
            entries[key] = nil
        }
        for (key, state) in states {
            var entry = entries[key] ?? Entry()
            entry.nodes = state.nodes
            entry.settled.formIntersection(state.nodes)
            note(key, state, &entry)
            entries[key] = entry
            if state.right == .undecided {
                ask(key, state)
            } else if entry.path != nil {
                end(entry)
                entries[key]?.path = nil
            }
        }
    }

    /// permd has left, and its requests with it.
    func stop() {
        for key in entries.keys {
            entries[key]?.path = nil
            entries[key]?.isHeld = false
            entries[key]?.timer?.cancel()
            entries[key]?.timer = nil
        }
    }

    /// What kept permd from asking may be over.
    func retry(_ app: String?) {
        for (key, entry) in entries where entry.timer != nil && (app == nil || key.owner.app?.description == app) {
            again(key)
        }
    }

    // MARK: Why a status changed

    private func note(_ key: CaptureKey, _ state: CaptureState, _ entry: inout Entry) {
        guard let status = state.status, status != entry.last else { return }
        let before = entry.last
        entry.last = status
        switch (before, status) {
        case (_, .granted): entry.settled = []
        case (.granted, .denied), (.granted, .restricted): entry.settled = state.nodes
        case (.granted, .undetermined): findOut(key, &entry)
        default: break
        }
    }

    /// A grant that a person took is not asked about until the app starts to record again; one that ended is, at once.
    private func findOut(_ key: CaptureKey, _ entry: inout Entry) {
        guard let app = key.owner.app, permd.isReady else { return }
        entry.isHeld = true
        permd.lastOutcome(app, key.permission) { [weak self] outcome in
            guard let self, var entry = entries[key] else { return }
            entry.isHeld = false
            if outcome == "reset" { entry.settled = entry.nodes }
            entries[key] = entry
            changed()
        }
    }

    // MARK: Asking

    private func ask(_ key: CaptureKey, _ state: CaptureState) {
        guard let entry = entries[key], entry.path == nil, !entry.isHeld, entry.timer == nil,
            !state.nodes.isSubset(of: entry.settled), let who = key.owner.who
        else { return }
        count += 1
        let token = "pipewire\(count)"
        entries[key]?.path = permd.request(who, key.permission, device: state.device, token: token) { [weak self] in
            self?.ended(key, $0)
        }
    }

    private func ended(_ key: CaptureKey, _ outcome: PermdLink.Outcome) {
        guard entries[key] != nil else { return }
        entries[key]?.path = nil
        switch outcome {
        case .over(let pausedUntil?):
            wait(key, Loop.shared.at(epochSeconds: Int64(clamping: pausedUntil)) { [weak self] in self?.again(key) })
        case .failed(isRetryable: true):
            wait(key, Loop.shared.after(milliseconds: Prompts.retryDelay) { [weak self] in self?.again(key) })
        case .over(nil), .failed:
            let nodes = entries[key]?.nodes ?? []
            entries[key]?.settled = nodes
        }
        changed()
    }

    private func wait(_ key: CaptureKey, _ timer: LoopTimer) {
        entries[key]?.timer?.cancel()
        entries[key]?.timer = timer
    }

    private func again(_ key: CaptureKey) {
        entries[key]?.timer?.cancel()
        entries[key]?.timer = nil
        changed()
    }

    private func end(_ entry: Entry) {
        entry.timer?.cancel()
        if let path = entry.path { permd.close(path) }
    }
}
