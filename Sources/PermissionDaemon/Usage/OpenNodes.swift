// Which processes have watched nodes open. inotify says when to search; the worker searches /proc. Without events,
// nothing runs.

import DBus
import PermissionCore
import PermissionModel
import ProcessIdentity
import System

/// A node whose openers are followed.
struct FollowedNode: Sendable, Hashable {
    let path: String
    /// dev_t
    let number: UInt64
    let device: UsedDevice
}

@LoopActor
final class OpenNodes {
    /// Milliseconds between two searches.
    private static let pause: Int64 = 100
    /// Milliseconds of pause for each millisecond of a search: searches take a tenth of a processor at most, however
    /// many processes there are and however often nodes are opened.
    private static let pausePerSearch: Int64 = 9
    /// Milliseconds that a search may take: with a million descriptors it takes seconds.
    private static let deadline: Int64 = 60_000

    private struct Node {
        let followed: FollowedNode
        var activity = NodeActivity()
        /// The processes that ALSA records for.
        var recording: Set<ProcessKey> = []
    }

    private let openings: any OpeningSource
    private let worker: Worker
    private let reader: ProcessReader
    private let identities: OpenerIdentities
    private let now: @Sendable () -> EpochSeconds
    private var nodes: [String: Node] = [:]
    private var isSearching = false
    private var timer: LoopTimer?
    /// The uptime in milliseconds at which the next search may begin.
    private var earliest: Int64 = 0
    /// Why nodes cannot be watched.
    private var failures: [String: String] = [:]
    /// Milliseconds until a search that was not possible, or nodes that could not be watched, are tried again.
    private let retryTime: Int64
    private var retry: LoopTimer?
    /// Called with all processes that have the device open.
    var onOpeners: (@LoopActor (UsedDevice, [(process: ProcessKey?, since: EpochSeconds, isRecording: Bool)]) -> Void)?

    init(
        openings: any OpeningSource, worker: Worker, reader: ProcessReader, identities: OpenerIdentities,
        retryTime: Int64, now: @escaping @Sendable () -> EpochSeconds
    ) {
        self.retryTime = retryTime
        self.openings = openings
        self.worker = worker
        self.reader = reader
        self.identities = identities
        self.now = now
        openings.onEvents = { [weak self] in self?.received($0) }
        identities.onExit = { [weak self] in self?.exited($0) }
        identities.onIdentified = { [weak self] in self?.publishOpeners() }
    }

    /// Why openings may go unnoticed, for a person to read.
    var problems: [String] {
        failures.sorted { $0.key < $1.key }.map { "\($0.key) cannot be watched, so its uses go unnoticed: \($0.value)" }
    }

    /// Watches these nodes and no others.
    func follow(_ followed: [FollowedNode]) {
        let wanted = Dictionary(followed.map { ($0.path, $0) }) { first, _ in first }
        for (path, old) in nodes where wanted[path] != old.followed {
            nodes[path] = nil
            onOpeners?(old.followed.device, [])
        }
        let unwatched = failures
        failures = openings.watch(Set(wanted.keys))
        for (path, new) in wanted where nodes[path] == nil || unwatched[path] != nil && failures[path] == nil {
            nodes[path] = nodes[path] ?? Node(followed: new)
            nodes[path]?.activity.begin(at: Loop.uptimeMilliseconds(), epoch: now())
        }
        schedule()
        retry?.cancel()
        retry =
            failures.isEmpty
            ? nil : Loop.shared.after(milliseconds: retryTime) { [weak self] in self?.follow(followed) }
    }

    // MARK: Events

    private func received(_ events: [String: NodeEvents]) {
        let (uptime, epoch) = (Loop.uptimeMilliseconds(), now())
        for (node, new) in events { nodes[node]?.activity.record(new, at: uptime, epoch: epoch) }
        schedule()
    }

    private func exited(_ process: ProcessKey) {
        let (uptime, epoch) = (Loop.uptimeMilliseconds(), now())
        for node in nodes.keys { nodes[node]?.activity.exited(process, at: uptime, epoch: epoch) }
        schedule()
    }

    // MARK: Searches

    /// Starts the next search if it is due, or waits for it.
    private func schedule() {
        timer?.cancel()
        timer = nil
        guard !isSearching, let due = nodes.values.compactMap(\.activity.due).min() else { return }
        let wait = max(due, earliest) - Loop.uptimeMilliseconds()
        if wait <= 0 { return search() }
        timer = Loop.shared.after(milliseconds: wait) { [weak self] in self?.schedule() }
    }

    private func search() {
        isSearching = true
        let start = Loop.uptimeMilliseconds()
        let search = OpenerSearch(reader: reader, nodes: nodes.values.map(\.followed))
        worker.run(about: "openers of devices", deadline: OpenNodes.deadline, search.run) { [weak self] found in
            guard let self else { return }
            isSearching = false
            let pause = found.map { max($0.duration * OpenNodes.pausePerSearch, OpenNodes.pause) }
            earliest = Loop.uptimeMilliseconds() + (pause ?? retryTime)
            if let found { apply(found, from: start) }
            schedule()
        }
    }

    private func apply(_ found: FoundOpeners, from start: Int64) {
        // A process that has closed the node meanwhile is no hidden one.
        openings.read()
        let epoch = now()
        for path in nodes.keys {
            nodes[path]?.recording = found.recording[path] ?? []
            nodes[path]?.activity.found(
                found.openers[path] ?? [:], from: start, epoch: epoch, seesAll: found.recording[path] != nil)
        }
        for process in nodes.values.flatMap(\.activity.openings).compactMap(\.process) { identities.identify(process) }
        publishOpeners()
        identities.forgetAll(except: Set(nodes.values.flatMap(\.activity.processes)))
    }

    /// Processes are left out until they are identified.
    func publishOpeners() {
        for node in nodes.values {
            let openings = node.activity.openings.filter { $0.process.map { identities[$0] != nil } ?? true }
            onOpeners?(
                node.followed.device,
                openings.map { opening in
                    (opening.process, opening.since, opening.process.map { node.recording.contains($0) } ?? false)
                })
        }
    }
}
