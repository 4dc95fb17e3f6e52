// Timers: one timerfd per clock and a sorted array; nothing wakes up that is not due.

import CLinux
import Glibc

/// One call at one time. It comes once, or never after `cancel()`.
@LoopActor
public final class LoopTimer {
    /// Nanoseconds of the queue's clock.
    fileprivate let deadline: Int64
    /// Timers of the same deadline fire in the order they were made.
    fileprivate let order: UInt64
    fileprivate var body: (@LoopActor () -> Void)?
    fileprivate weak var queue: TimerQueue?

    fileprivate init(_ deadline: Int64, _ order: UInt64, _ queue: TimerQueue, _ body: @escaping @LoopActor () -> Void) {
        self.deadline = deadline
        self.order = order
        self.queue = queue
        self.body = body
    }

    public func cancel() {
        guard body != nil else { return }
        body = nil
        queue?.remove(self)
    }

    fileprivate func isBefore(_ other: LoopTimer) -> Bool {
        (deadline, order) < (other.deadline, other.order)
    }
}

extension Loop {
    /// Calls `body` after so many milliseconds, those of a suspended machine included.
    @LoopActor @discardableResult
    public func after(milliseconds: Int64, _ body: @escaping @LoopActor () -> Void) -> LoopTimer {
        let (delay, isOver) = max(0, milliseconds).multipliedReportingOverflow(by: 1_000_000)
        let (deadline, isFar) = bootTimers.now.addingReportingOverflow(delay)
        return bootTimers.add(isOver || isFar ? .max : deadline, body)
    }

    /// Calls `body` when the wall clock reads that time or later, wherever it is set to meanwhile.
    @LoopActor @discardableResult
    public func at(epochSeconds: Int64, _ body: @escaping @LoopActor () -> Void) -> LoopTimer {
        let (deadline, isOver) = max(0, epochSeconds).multipliedReportingOverflow(by: 1_000_000_000)
        return wallTimers.add(isOver ? .max : deadline, body)
    }

    /// Calls `body` each time somebody sets the wall clock.
    @LoopActor
    public func onClockSet(_ body: @escaping @LoopActor () -> Void) { wallTimers.addClockHandler(body) }
}

/// The timers of one clock.
@LoopActor
final class TimerQueue {
    private let clock: clockid_t
    private let descriptor: Int32
    /// Soonest first.
    private var timers: [LoopTimer] = []
    private var clockHandlers: [@LoopActor () -> Void] = []
    private var order: UInt64 = 0
    /// What the kernel will wake us for.
    private(set) var armed: Int64?

    init(clock: clockid_t, loop: Loop) {
        self.clock = clock
        descriptor = timerfd_create(clock, Int32(TFD_CLOEXEC) | Int32(TFD_NONBLOCK))
        precondition(descriptor >= 0, "no timerfd: errno \(errno)")
        _ = loop.watch(descriptor, .readable) { [unowned self] _ in fire() }
    }

    var now: Int64 { TimerQueue.nanoseconds(clock) }

    nonisolated static func nanoseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    func add(_ deadline: Int64, _ body: @escaping @LoopActor () -> Void) -> LoopTimer {
        order += 1
        let timer = LoopTimer(deadline, order, self, body)
        timers.insert(timer, at: position(of: timer))
        return timer
    }

    func addClockHandler(_ body: @escaping @LoopActor () -> Void) { clockHandlers.append(body) }

    fileprivate func remove(_ timer: LoopTimer) {
        let index = position(of: timer)
        if index < timers.count, timers[index] === timer { timers.remove(at: index) }
    }

    /// Where `timer` stands, or would stand.
    private func position(of timer: LoopTimer) -> Int {
        var low = 0
        var high = timers.count
        while low < high {
            let middle = (low + high) / 2
            if timers[middle].isBefore(timer) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Makes sure that the kernel wakes the loop in time; and when it is about to sleep, not for a timer that was
    /// cancelled meanwhile.
    func arm(isSleepy: Bool) {
        let wanted = timers.first?.deadline ?? (clockHandlers.isEmpty ? nil : .max)
        guard wanted != armed else { return }
        if let armed, armed <= wanted ?? .max, !isSleepy { return }
        var spec = itimerspec()
        // 0 disarms it.
        let time = wanted.map { max(1, $0) } ?? 0
        spec.it_value.tv_sec = Int(time / 1_000_000_000)
        spec.it_value.tv_nsec = Int(time % 1_000_000_000)
        var flags = Int32(TFD_TIMER_ABSTIME)
        if clock == CLOCK_REALTIME { flags |= Int32(TFD_TIMER_CANCEL_ON_SET) }
        let result = timerfd_settime(descriptor, flags, &spec, nil)
        // ECANCELED: armed all the same, but the clock was set since the last time we looked.
        precondition(result == 0 || errno == ECANCELED, "timerfd_settime: errno \(errno)")
        armed = wanted
        if result != 0 { Loop.shared.later { [unowned self] in clockWasSet() } }
    }

    private func fire() {
        var expirations: UInt64 = 0
        let result = read(descriptor, &expirations, MemoryLayout<UInt64>.size)
        if result < 0, errno == EAGAIN { return }
        let isClockSet = result < 0 && errno == ECANCELED
        armed = nil
        if isClockSet { clockWasSet() }
        let time = now
        // Those made by these handlers wait for the next round.
        let last = order
        while let first = timers.first, first.deadline <= time, first.order <= last {
            timers.removeFirst()
            let body = first.body
            first.body = nil
            body?()
        }
    }

    private func clockWasSet() {
        armed = nil
        for handler in clockHandlers { handler() }
    }
}
