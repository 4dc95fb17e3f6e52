// Watching file descriptors with epoll; changes of interest are applied just before the loop sleeps.

import CLinux
import Glibc

public struct IOEvents: OptionSet, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let readable = IOEvents(rawValue: 1)
    public static let writable = IOEvents(rawValue: 2)
    /// Reported even if not requested.
    public static let hangup = IOEvents(rawValue: 4)
    /// Reported even if not requested.
    public static let error = IOEvents(rawValue: 8)

    init(epoll mask: UInt32) {
        self = []
        if mask & EPOLLIN.rawValue != 0 { insert(.readable) }
        if mask & EPOLLOUT.rawValue != 0 { insert(.writable) }
        if mask & EPOLLHUP.rawValue != 0 { insert(.hangup) }
        if mask & EPOLLERR.rawValue != 0 { insert(.error) }
    }

    var epollMask: UInt32 {
        (contains(.readable) ? EPOLLIN.rawValue : 0) | (contains(.writable) ? EPOLLOUT.rawValue : 0)
    }
}

/// An interest in one descriptor. It lasts until `cancel()`, even if the token is released.
@LoopActor
public final class WatchToken {
    let descriptor: Int32
    /// Kept open until the watch ends.
    private var owner: UnixFD?
    fileprivate let handler: @LoopActor (IOEvents) -> Void
    fileprivate weak var entry: WatchTable.Entry?
    /// The events to watch for. An empty set pauses the watch, including hang-ups.
    public var events: IOEvents {
        didSet { if events != oldValue, let entry { Loop.shared.watches.interestChanged(of: entry) } }
    }

    fileprivate init(
        _ descriptor: Int32, _ owner: UnixFD?, _ events: IOEvents, _ handler: @escaping @LoopActor (IOEvents) -> Void
    ) {
        self.descriptor = descriptor
        self.owner = owner
        self.events = events
        self.handler = handler
    }

    /// After this call the handler is not called again, and the descriptor may be closed.
    public func cancel() {
        guard let entry else { return }
        self.entry = nil
        Loop.shared.watches.remove(self, from: entry)
        owner = nil
    }
}

extension Loop {
    /// Calls `handler` whenever `fd` is ready. The descriptor stays open until the watch is cancelled.
    @LoopActor
    @discardableResult
    public func watch(
        _ fd: UnixFD, _ events: IOEvents, _ handler: @escaping @LoopActor (IOEvents) -> Void
    ) -> WatchToken {
        add(WatchToken(fd.raw, fd, events, handler))
    }

    /// The same for a descriptor that a C library owns. The watch must be cancelled before the library closes it:
    /// otherwise the next descriptor with this number cannot be watched.
    @LoopActor
    @discardableResult
    public func watch(
        unowned fd: Int32, _ events: IOEvents, _ handler: @escaping @LoopActor (IOEvents) -> Void
    ) -> WatchToken {
        add(WatchToken(fd, nil, events, handler))
    }

    @LoopActor
    private func add(_ token: WatchToken) -> WatchToken {
        token.entry = watches.add(token)
        return token
    }
}

@LoopActor
final class WatchTable {
    @LoopActor
    final class Entry {
        let descriptor: Int32
        /// Distinguishes it from an earlier descriptor with this number whose events are still in the batch.
        let generation: UInt32
        var tokens: [WatchToken] = []
        /// The event mask registered with epoll; nil if the descriptor is not registered.
        var applied: UInt32?
        var isChanged = false

        init(_ descriptor: Int32, _ generation: UInt32) {
            self.descriptor = descriptor
            self.generation = generation
        }
    }

    /// More descriptors than are ready at once in any program but the tests.
    private static let batch = 256
    /// Marks the wake-up descriptor. No entry uses this value, because generations start at 1.
    private static let wakeUpMark: UInt64 = 0

    private let epoll: Int32
    private let ready: UnsafeMutablePointer<epoll_event>
    private var entries: [Int32: Entry] = [:]
    /// Entries to be applied before the loop sleeps, also again: another program of the user can take all places
    /// (epoll(7), max_user_watches) for a moment.
    private var changed: [Entry] = []
    private var applying: [Entry] = []
    /// Milliseconds after which what could not be applied is tried again.
    private static let pause: Int32 = 100
    private var generation: UInt32 = 0

    init(wakeUp: Int32) {
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        precondition(epoll >= 0, "epoll_create1 failed: errno \(errno)")
        ready = .allocate(capacity: WatchTable.batch)
        var event = epoll_event()
        event.events = EPOLLIN.rawValue
        event.data.u64 = WatchTable.wakeUpMark
        epoll_ctl(epoll, EPOLL_CTL_ADD, wakeUp, &event)
    }

    func add(_ token: WatchToken) -> Entry {
        let entry: Entry
        if let known = entries[token.descriptor] {
            entry = known
        } else {
            generation &+= 1
            if generation == 0 { generation = 1 }
            entry = Entry(token.descriptor, generation)
            entries[token.descriptor] = entry
        }
        entry.tokens.append(token)
        apply(entry)
        return entry
    }

    func remove(_ token: WatchToken, from entry: Entry) {
        entry.tokens.removeAll { $0 === token }
        // Applied at once, because the descriptor may be closed next.
        apply(entry)
        if entry.tokens.isEmpty { entries[entry.descriptor] = nil }
    }

    func interestChanged(of entry: Entry) {
        guard !entry.isChanged else { return }
        entry.isChanged = true
        changed.append(entry)
    }

    private func apply(_ entry: Entry) {
        entry.isChanged = false
        var wanted: UInt32?
        for token in entry.tokens where !token.events.isEmpty {
            wanted = (wanted ?? 0) | token.events.epollMask
        }
        guard wanted != entry.applied else { return }
        var event = epoll_event()
        event.events = wanted ?? 0
        event.data.u64 = UInt64(entry.generation) << 32 | UInt64(UInt32(bitPattern: entry.descriptor))
        let operation = wanted == nil ? EPOLL_CTL_DEL : entry.applied == nil ? EPOLL_CTL_ADD : EPOLL_CTL_MOD
        let result = epoll_ctl(epoll, operation, entry.descriptor, &event)
        guard result == 0 || wanted == nil else { return interestChanged(of: entry) }
        entry.applied = wanted
    }

    /// Waits if asked to, then calls the handlers of ready descriptors. Returns true if other threads have posted work.
    func poll(wait: Bool) -> Bool {
        swap(&changed, &applying)
        for entry in applying where entry.isChanged { apply(entry) }
        applying.removeAll(keepingCapacity: true)
        let patience = changed.isEmpty ? -1 : WatchTable.pause
        let count = epoll_wait(epoll, ready, Int32(WatchTable.batch), wait ? patience : 0)
        precondition(count >= 0 || errno == EINTR, "epoll_wait failed: errno \(errno)")
        var hasRemoteWork = false
        for index in 0..<max(0, Int(count)) {
            let event = ready[index]
            if event.data.u64 == WatchTable.wakeUpMark {
                hasRemoteWork = true
            } else {
                dispatch(event)
            }
        }
        return hasRemoteWork
    }

    private func dispatch(_ event: epoll_event) {
        let descriptor = Int32(truncatingIfNeeded: event.data.u64)
        guard let entry = entries[descriptor], entry.generation == UInt32(event.data.u64 >> 32) else { return }
        let happened = IOEvents(epoll: event.events)
        for token in entry.tokens where token.entry != nil && !token.events.isEmpty {
            let relevant = happened.intersection(token.events.union([.hangup, .error]))
            if !relevant.isEmpty { token.handler(relevant) }
        }
    }
}
