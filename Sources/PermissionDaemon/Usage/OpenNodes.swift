// Which processes have watched nodes open. inotify says when to search; the worker searches /proc. Without events,
// nothing runs.

import DBus
import PermissionCore
import PermissionModel
import ProcessIdentity
import System

/// A node whose openers are followed.
struct FollowedNode {
    let path: String
    /// dev_t
    let number: UInt64
    var device: UsedDevice
    /// Whether ALSA knows who records from it.
    let isKnownToALSA: Bool
}

@LoopActor
final class OpenNodes {
    /// Milliseconds between two searches of all processes, and between two of those that had a node open.
    private static let pause: (all: Int64, known: Int64) = (100, 20)
    /// Milliseconds of pause for each millisecond of a search: searches take a tenth of a processor at most, however
    /// many processes there are and however often nodes are opened.
    private static let pausePerSearch: Int64 = 9
    /// Milliseconds that a search may take: with a million descriptors it takes seconds.
    private static let deadline: Int64 = 60_000
    /// Milliseconds until the next search after one that was not possible.
    private static let retryTime: Int64 = 10_000

    private struct Node {
        var followed: FollowedNode
        var activity = NodeActivity()
        /// The processes that ALSA records for.
        var recording: Set<ProcessKey> = []

        func isSame(as other: FollowedNode) -> Bool {
            followed.device.permission == other.device.permission && followed.device.id == other.device.id
                && followed.number == other.number
        }
    }

    private let openings: any OpeningSource
    private let worker: Worker
    private let reader: ProcessReader
    private let identities: OpenerIdentities
    private let now: @Sendable () -> EpochSeconds
    private var nodes: [String: Node] = [:]
    private var isSearching = false
    private var timer: LoopTimer?
    /// Nodes that were closed since the last search.
    private var closed: Set<String> = []
    /// The uptime in milliseconds at which the next search may begin.
    private var earliest: (all: Int64, known: Int64) = (0, 0)
    /// Why nodes cannot be watched.
    private var failures: [String: String] = [:]
    /// Called with all processes that have the device open.
    var onOpeners: (@LoopActor (UsedDevice, [(process: ProcessKey?, since: EpochSeconds, isRecording: Bool)]) -> Void)?

    init(
        openings: any OpeningSource, worker: Worker, reader: ProcessReader, identities: OpenerIdentities,
        now: @escaping @Sendable () -> EpochSeconds
    ) {
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
        for (path, old) in nodes {
            if let new = wanted[path], old.isSame(as: new) {
                nodes[path]?.followed.device.name = new.device.name
                continue
            }
            nodes[path] = nil
            closed.remove(path)
            onOpeners?(old.followed.device, [])
        }
        let unwatched = failures
        failures = openings.watch(Set(wanted.keys))
        for (path, new) in wanted where nodes[path] == nil || unwatched[path] != nil && failures[path] == nil {
            nodes[path] = nodes[path] ?? Node(followed: new)
            nodes[path]?.activity.begin(at: Loop.uptimeMilliseconds(), epoch: now())
        }
        schedule()
    }

    // MARK: Events

    private func received(_ events: [String: NodeEvents]) {
        let (uptime, epoch) = (Loop.uptimeMilliseconds(), now())
        for (node, new) in events {
            nodes[node]?.activity.record(new, at: uptime, epoch: epoch)
            if new.closes > 0, nodes[node]?.activity.isOpen == true { closed.insert(node) }
        }
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
        guard !isSearching else { return }
        let uptime = Loop.uptimeMilliseconds()
        let all = nodes.values.compactMap(\.activity.due).min().map { max($0, earliest.all) }
        if let all, all <= uptime { return search(Set(nodes.keys), inAll: true, uptime) }
        let known = (nodes.values.compactMap(\.activity.judgeDue) + (closed.isEmpty ? [] : [uptime])).min()
            .map { max($0, earliest.known) }
        if let known, known <= uptime {
            let due = nodes.filter { $0.value.activity.judgeDue ?? .max <= uptime }.keys
            return search(closed.union(due), inAll: false, uptime)
        }
        guard let next = [all, known].compactMap({ $0 }).min() else { return }
        timer = Loop.shared.after(milliseconds: next - uptime) { [weak self] in self?.schedule() }
    }

    /// - Parameter inAll: Whether to search all processes; otherwise those that had one of the nodes open.
    private func search(_ paths: Set<String>, inAll: Bool, _ start: Int64) {
        closed = []
        isSearching = true
        let searched = nodes.filter { paths.contains($0.key) }.values
        let search = OpenerSearch(
            reader: reader, nodes: searched.map { ($0.followed.path, $0.followed.number, $0.followed.isKnownToALSA) },
            processes: inAll ? nil : Set(searched.flatMap(\.activity.processes)).map(\.pid))
        worker.run(about: "openers of devices", deadline: OpenNodes.deadline, search.run) { [weak self] found in
            guard let self else { return }
            guard let found else { return failed(paths) }
            let pause = found.duration * OpenNodes.pausePerSearch
            let end = Loop.uptimeMilliseconds()
            if inAll {
                earliest.all = end + max(pause, OpenNodes.pause.all)
            } else {
                earliest.known = end + max(pause, OpenNodes.pause.known)
            }
            adopt(found, of: paths, inAll: inAll, from: start)
        }
    }

    private func failed(_ paths: Set<String>) {
        isSearching = false
        closed.formUnion(paths)
        let next = Loop.uptimeMilliseconds() + OpenNodes.retryTime
        earliest = (next, next)
        schedule()
    }

    private func adopt(_ found: FoundOpeners, of paths: Set<String>, inAll: Bool, from start: Int64) {
        // A process that has closed the node meanwhile is no hidden one.
        openings.read()
        let (uptime, epoch) = (Loop.uptimeMilliseconds(), now())
        for path in paths where nodes[path] != nil {
            let openers = found.openers[path] ?? [:]
            nodes[path]?.recording = found.recording[path] ?? []
            if inAll {
                let seesAll = found.recording[path] != nil
                nodes[path]?.activity.foundAll(openers, from: start, to: uptime, epoch: epoch, seesAll: seesAll)
            } else {
                nodes[path]?.activity.foundKnown(openers, at: uptime, epoch: epoch)
            }
        }
        identify(nodes.values.flatMap { $0.activity.openings.compactMap(\.process) }[...])
    }

    /// One process at a time, between which other events are handled.
    private func identify(_ processes: ArraySlice<ProcessKey>) {
        let new = processes.drop { identities[$0] != nil }
        guard let first = new.first else { return publish() }
        identities.identify(first)
        Loop.shared.afterPoll { [weak self] in self?.identify(new.dropFirst()) }
    }

    private func publish() {
        isSearching = false
        publishOpeners()
        identities.forgetAll(except: Set(nodes.values.flatMap(\.activity.processes)))
        schedule()
    }

    /// Processes are left out until they are identified.
    private func publishOpeners() {
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
