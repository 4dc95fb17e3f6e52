// Reports when device nodes are opened and closed, by whichever user, with inotify(7).

import CLinux
import DBus
import Glibc
import PermissionCore
import System

/// `InotifyOpenings`, or a fake in tests.
@LoopActor
protocol OpeningSource: AnyObject {
    /// Called with the events of each node since the last call.
    var onEvents: (@LoopActor ([String: NodeEvents]) -> Void)? { get set }
    /// Watches these nodes and no others. Returns why some of them cannot be watched.
    func watch(_ nodes: Set<String>) -> [String: String]
    /// Reports at once what has happened until now.
    func read()
}

@LoopActor
final class InotifyOpenings: OpeningSource {
    /// Milliseconds between two reads. A program may open and close a node thousands of times a second, and events that
    /// are read together cost one turn of the loop.
    private static let pause: Int64 = 20
    private static let close = UInt32(IN_CLOSE_WRITE | IN_CLOSE_NOWRITE)
    private static let events = close | UInt32(IN_OPEN | IN_ATTRIB)

    var onEvents: (@LoopActor ([String: NodeEvents]) -> Void)?
    private var inotify: Inotify?
    private var nodes: [Int32: String] = [:]
    private var watches: [String: Int32] = [:]

    /// Takes an instance before there is a node: any program of the user may take the last ones.
    init() { inotify = Inotify { [weak self] in self?.read() } }

    func watch(_ wanted: Set<String>) -> [String: String] {
        for (node, watch) in watches where !wanted.contains(node) {
            inotify?.remove(watch)
            drop(watch)
        }
        guard !wanted.isEmpty else { return [:] }
        inotify = inotify ?? Inotify { [weak self] in self?.read() }
        guard let inotify else {
            let failure = Inotify.reason(errno)
            return Dictionary(uniqueKeysWithValues: wanted.map { ($0, failure) })
        }
        var failures: [String: String] = [:]
        for node in wanted { failures[node] = add(node, to: inotify) }
        return failures
    }

    isolated deinit { inotify?.close() }

    /// Watches the file that is at the path now, in place of the one that was there before. Returns why that fails.
    private func add(_ node: String, to inotify: Inotify) -> String? {
        let watch = inotify.watch(node, InotifyOpenings.events)
        let failure = watch < 0 ? Inotify.reason(errno) : nil
        if let old = watches[node], old != watch {
            inotify.remove(old)
            drop(old)
        }
        guard failure == nil else { return failure }
        watches[node] = watch
        nodes[watch] = node
        return nil
    }

    private func drop(_ watch: Int32) {
        guard let node = nodes.removeValue(forKey: watch) else { return }
        if watches[node] == watch { watches[node] = nil }
    }

    // MARK: Reading

    func read() {
        guard let inotify else { return }
        var found: [String: NodeEvents] = [:]
        var changed: Set<String> = []
        inotify.read { watch, mask, _ in
            if mask & UInt32(IN_Q_OVERFLOW) != 0 {
                for node in watches.keys { found[node, default: NodeEvents()].add(.unknown) }
                return
            }
            guard let node = nodes[watch] else { return }
            if mask & UInt32(IN_IGNORED) != 0 { drop(watch) }
            if mask & UInt32(IN_IGNORED | IN_ATTRIB) != 0 { changed.insert(node) }
            if mask & UInt32(IN_OPEN) != 0 { found[node, default: NodeEvents()].add(.open) }
            if mask & InotifyOpenings.close != 0 { found[node, default: NodeEvents()].add(.close) }
        }
        for node in changed {
            // Another file may be there now, and its first events are lost.
            _ = add(node, to: inotify)
            found[node, default: NodeEvents()].add(.unknown)
        }
        guard !found.isEmpty else { return }
        rest()
        onEvents?(found)
    }

    private func rest() {
        guard let inotify, !inotify.isPaused else { return }
        inotify.isPaused = true
        Loop.shared.after(milliseconds: InotifyOpenings.pause) { [weak self] in self?.inotify?.isPaused = false }
    }
}

extension NodeEvents {
    static let open = NodeEvents(opens: 1, endsWithOpen: true)
    static let close = NodeEvents(closes: 1)
    /// Events were lost, or happened to a file that was not watched yet.
    static let unknown = NodeEvents(opens: 1, closes: 1)

    mutating func add(_ other: NodeEvents) {
        opens += other.opens
        closes += other.closes
        endsWithOpen = other.endsWithOpen
    }
}
