// Which processes have the nodes of cameras and microphones open. inotify says when to look; a look goes through /proc
// in slices, between which all other events are handled. Without events, nothing runs.

import CLinux
import DBus
import Glibc
import PermissionCore
import PermissionModel
import ProcessIdentity

@LoopActor
final class OpenNodes {
    /// Nanoseconds of a slice, about as long as a call of another program takes: calls wait for one slice at most.
    private static let slice: Int64 = 100_000
    /// Processes and descriptors between two looks at the clock, which take some 20 µs.
    private static let sliceSteps = 8
    /// Milliseconds between two looks through all processes, and between two at those that had a node open.
    private static let pause: (all: Int64, known: Int64) = (100, 20)

    private struct Node {
        var device: UsedDevice
        let number: UInt64
        var activity = NodeActivity()
        /// The processes that ALSA records for.
        var recording: Set<ProcessKey> = []

        func isSame(as other: Node) -> Bool {
            device.permission == other.device.permission && device.id == other.device.id && number == other.number
        }
    }

    private struct Look {
        let search: DeviceSearch
        let start: Int64
        /// The nodes to look at again; nil for a look through all processes.
        let nodes: Set<String>?
        /// The processor time of its slices, in nanoseconds.
        var busy: Int64 = 0
    }

    private let openings: any OpeningSource
    private let reader: ProcessReader
    private let identities: HolderIdentities
    private let now: @Sendable () -> EpochSeconds
    private var nodes: [String: Node] = [:]
    private var look: Look?
    private var timer: LoopTimer?
    /// Nodes that were closed since the last look.
    private var closed: Set<String> = []
    private var limits = (all: LookLimit(pause: OpenNodes.pause.all), known: LookLimit(pause: OpenNodes.pause.known))
    /// Why nodes cannot be watched.
    private var failures: [String: String] = [:]
    /// Called with all processes that have the device open.
    var onHolders: (@LoopActor (UsedDevice, [(process: ProcessKey?, since: EpochSeconds, isRecording: Bool)]) -> Void)?

    init(
        openings: any OpeningSource, reader: ProcessReader, identities: HolderIdentities,
        now: @escaping @Sendable () -> EpochSeconds
    ) {
        self.openings = openings
        self.reader = reader
        self.identities = identities
        self.now = now
        openings.onEvents = { [weak self] in self?.received($0) }
        identities.onExit = { [weak self] in self?.exited($0) }
        identities.onIdentified = { [weak self] in self?.publishHolders() }
    }

    /// Why openings may go unnoticed, for a person to read.
    var problems: [String] {
        failures.sorted { $0.key < $1.key }.map { "\($0.key) cannot be watched, so its uses go unnoticed: \($0.value)" }
    }

    /// Watches the nodes of these devices and no others.
    func follow(_ devices: [(node: String, number: UInt64, device: UsedDevice)]) {
        var wanted: [String: Node] = [:]
        for (node, number, device) in devices { wanted[node] = Node(device: device, number: number) }
        for (node, old) in nodes {
            if let new = wanted[node], new.isSame(as: old) {
                nodes[node]?.device.name = new.device.name
                continue
            }
            nodes[node] = nil
            closed.remove(node)
            onHolders?(old.device, [])
        }
        let unwatched = failures
        failures = openings.watch(Set(wanted.keys))
        for (node, new) in wanted where nodes[node] == nil || unwatched[node] != nil && failures[node] == nil {
            nodes[node] = nodes[node] ?? new
            nodes[node]?.activity.begin(at: Loop.uptimeMilliseconds(), epoch: now())
        }
        schedule()
    }

    // MARK: Events

    private func received(_ events: [String: NodeEvents]) {
        let (uptime, epoch) = (Loop.uptimeMilliseconds(), now())
        for (node, new) in events {
            nodes[node]?.activity.note(new, at: uptime, epoch: epoch)
            if new.closes > 0, nodes[node]?.activity.isOpen == true { closed.insert(node) }
        }
        schedule()
    }

    private func exited(_ process: ProcessKey) {
        let (uptime, epoch) = (Loop.uptimeMilliseconds(), now())
        for node in nodes.keys { nodes[node]?.activity.exited(process, at: uptime, epoch: epoch) }
        schedule()
    }

    // MARK: Looks

    /// Starts the next look if it is due, or waits for it.
    private func schedule() {
        timer?.cancel()
        timer = nil
        guard look == nil else { return }
        let uptime = Loop.uptimeMilliseconds()
        let all = nodes.values.compactMap(\.activity.due).min().map { max($0, limits.all.earliest) }
        if let all, all <= uptime { return begin(nodes: nil, uptime) }
        let known = (nodes.values.compactMap(\.activity.judgeDue) + (closed.isEmpty ? [] : [uptime])).min()
            .map { max($0, limits.known.earliest) }
        if let known, known <= uptime {
            return begin(
                nodes: closed.union(nodes.filter { $0.value.activity.judgeDue ?? .max <= uptime }.keys), uptime)
        }
        guard let next = [all, known].compactMap({ $0 }).min() else { return }
        timer = Loop.shared.after(milliseconds: next - uptime) { [weak self] in self?.schedule() }
    }

    private func begin(nodes again: Set<String>?, _ uptime: Int64) {
        closed = []
        let looked = again.map { names in nodes.filter { names.contains($0.key) } } ?? nodes
        let processes = again.map { _ in Set(looked.values.flatMap(\.activity.processes)).map(\.pid) }
        let search = DeviceSearch(reader, for: Set(looked.values.map(\.number)), in: processes)
        look = Look(search: search, start: uptime, nodes: again)
        advance()
    }

    private func advance() {
        guard let search = look?.search else { return }
        let start = OpenNodes.processorTime()
        let end = Loop.nanoseconds(of: CLOCK_MONOTONIC) + OpenNodes.slice
        var hasMore = true
        while hasMore, Loop.nanoseconds(of: CLOCK_MONOTONIC) < end {
            hasMore = search.advance(OpenNodes.sliceSteps)
        }
        look?.busy += OpenNodes.processorTime() - start
        if hasMore { return Loop.shared.afterPoll { [weak self] in self?.advance() } }
        finish()
    }

    private func finish() {
        guard let ended = look else { return }
        // A process that has closed the node meanwhile is no hidden one.
        openings.read()
        let (uptime, epoch) = (Loop.uptimeMilliseconds(), now())
        var found: [UInt64: [ProcessKey: Int]] = [:]
        for opener in ended.search.openers { found[opener.device, default: [:]][opener.process] = opener.descriptors }
        for (name, node) in nodes where ended.nodes?.contains(name) != false {
            var holders = found[node.number, default: [:]]
            let seesAll = addCaptures(of: name, to: &holders)
            if ended.nodes == nil {
                nodes[name]?.activity.look(
                    holders, from: ended.start, to: uptime, epoch: epoch, seesAll: seesAll)
            } else {
                nodes[name]?.activity.lookAgain(holders, at: uptime, epoch: epoch)
            }
        }
        identify(nodes.values.flatMap { $0.activity.holdings.compactMap(\.process) }[...], ended)
    }

    /// Adds the processes that ALSA names: it knows those that may not be inspected as well. Returns whether it does.
    private func addCaptures(of name: String, to holders: inout [ProcessKey: Int]) -> Bool {
        nodes[name]?.recording = []
        guard nodes[name]?.device.permission == .microphone, let captures = SoundCaptures.of(name, reader.root) else {
            return false
        }
        for capture in captures {
            let pid = reader.process(ofThread: capture.owner) ?? capture.owner
            let process =
                holders.keys.first { $0.pid == pid }
                ?? ProcessKey(pid: pid, startTime: (try? reader.startTime(pid)) ?? 0)
            if holders[process] == nil { holders[process] = 1 }
            if capture.isRunning { nodes[name]?.recording.insert(process) }
        }
        return true
    }

    private func identify(_ processes: ArraySlice<ProcessKey>, _ ended: Look) {
        let new = processes.drop { identities[$0] != nil }
        guard !new.isEmpty else { return publish(ended) }
        let start = OpenNodes.processorTime()
        identities.identify(new[new.startIndex])
        look?.busy += OpenNodes.processorTime() - start
        let rest = new.dropFirst()
        if rest.isEmpty { return publish(ended) }
        Loop.shared.afterPoll { [weak self] in self?.identify(rest, ended) }
    }

    private func publish(_ ended: Look) {
        let (busy, end) = (look?.busy ?? 0, Loop.uptimeMilliseconds())
        if ended.nodes == nil { limits.all.ran(busy, until: end) } else { limits.known.ran(busy, until: end) }
        look = nil
        publishHolders()
        identities.keep(Set(nodes.values.flatMap(\.activity.processes)))
        schedule()
    }

    /// Processes are left out until they are identified.
    private func publishHolders() {
        for node in nodes.values {
            let holdings = node.activity.holdings.filter { $0.process.map { identities[$0] != nil } ?? true }
            onHolders?(
                node.device,
                holdings.map { holding in
                    (holding.process, holding.since, holding.process.map { node.recording.contains($0) } ?? false)
                })
        }
    }

    private static func processorTime() -> Int64 { Loop.nanoseconds(of: CLOCK_THREAD_CPUTIME_ID) }
}

/// Keeps looks below a tenth of a processor, however many processes there are and however often nodes are opened.
private struct LookLimit {
    /// Milliseconds of pause for each millisecond that looks run.
    private static let pausePerLook: Int64 = 9
    /// Pauses that need not be kept, in milliseconds: some looks may follow each other quickly.
    private static let credit: Int64 = 3000

    /// The least pause, in milliseconds.
    let pause: Int64
    /// The uptime in milliseconds at which the next look may begin.
    private(set) var earliest: Int64 = 0
    /// When all pauses were kept.
    private var kept: Int64 = 0

    init(pause: Int64) { self.pause = pause }

    mutating func ran(_ nanoseconds: Int64, until end: Int64) {
        kept = max(kept, end) + nanoseconds * LookLimit.pausePerLook / 1_000_000
        earliest = max(end + pause, kept - LookLimit.credit)
    }
}
