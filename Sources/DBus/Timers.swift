// Timers: one timerfd per clock and a sorted array. There is no periodic tick.

import CLinux
import Glibc

/// One call at one time. It fires at most once, and never after `cancel()`.
@LoopActor
public final class LoopTimer {
    /// In nanoseconds of the queue's clock.
    fileprivate let deadline: Int64
    /// Timers with the same deadline fire in order of creation.
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
    /// Calls `body` after this many milliseconds, including time suspended.
    @LoopActor @discardableResult
    public func after(milliseconds: Int64, _ body: @escaping @LoopActor () -> Void) -> LoopTimer {
        let (delay, isOver) = max(0, milliseconds).multipliedReportingOverflow(by: 1_000_000)
        let (deadline, isFar) = bootTimers.now.addingReportingOverflow(delay)
        return bootTimers.add(isOver || isFar ? .max : deadline, body)
    }

    /// Calls `body` when the wall clock reads that time or later, even if the clock is set in between.
    @LoopActor @discardableResult
    public func at(epochSeconds: Int64, _ body: @escaping @LoopActor () -> Void) -> LoopTimer {
        let (deadline, isOver) = max(0, epochSeconds).multipliedReportingOverflow(by: 1_000_000_000)
        return wallTimers.add(isOver ? .max : deadline, body)
    }

    @LoopActor
    public func onClockSet(_ body: @escaping @LoopActor () -> Void) { wallTimers.addClockHandler(body) }
}

@LoopActor
final class TimerQueue {
    private let clock: clockid_t
    private let descriptor: Int32
    /// Soonest first.
    private var timers: [LoopTimer] = []
    private var clockHandlers: [@LoopActor () -> Void] = []
    private var order: UInt64 = 0
    /// The deadline set in the kernel.
    private(set) var armed: Int64?

    init(clock: clockid_t, loop: Loop) {
        self.clock = clock
        descriptor = timerfd_create(clock, Int32(TFD_CLOEXEC) | Int32(TFD_NONBLOCK))
        precondition(descriptor >= 0, "timerfd_create failed: errno \(errno)")
        _ = loop.watch(unowned: descriptor, .readable) { [unowned self] _ in fire() }
    }

    var now: Int64 { Loop.nanoseconds(of: clock) }

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

    /// The index where `timer` is, or would be inserted.
    private func position(of timer: LoopTimer) -> Int {
        var low = 0
        var high = timers.count
        while low < high {
            let middle = (low + high) / 2
            if timers[middle].isBefore(timer) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Arms the timerfd for the earliest deadline; before the loop sleeps, also when that became later because a timer
    /// was cancelled.
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
        // ECANCELED: the timer is armed, but the clock was set since the last call.
        precondition(result == 0 || errno == ECANCELED, "timerfd_settime failed: errno \(errno)")
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
        // Timers created by these handlers wait for the next round.
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
