// Timers of one clock on one timerfd: the earliest is armed, nothing wakes the loop without one.

import CLinux
import Glibc

/// A timer that has not fired yet.
@LoopActor
public final class LoopTimer {
    fileprivate let time: Int64
    fileprivate let order: UInt64
    fileprivate var body: (@LoopActor () -> Void)?
    private weak var queue: TimerQueue?

    fileprivate init(time: Int64, order: UInt64, queue: TimerQueue, body: @escaping @LoopActor () -> Void) {
        self.time = time
        self.order = order
        self.queue = queue
        self.body = body
    }

    /// The body is not called any more. Harmless after it was.
    public func cancel() {
        guard body != nil else { return }
        body = nil
        queue?.remove(self)
    }
}

@LoopActor
final class TimerQueue {
    private let clock: clockid_t
    private let fd: Int32
    /// By time, then by the order they were added.
    private var timers: [LoopTimer] = []
    private var armed: Int64?
    private var lastOrder: UInt64 = 0
    private var watchesClock = false

    nonisolated init(clock: clockid_t, loop: Loop) {
        self.clock = clock
        fd = timerfd_create(clock, Int32(TFD_CLOEXEC) | Int32(TFD_NONBLOCK))
        precondition(fd >= 0, "no descriptor is left for timers")
        LoopActor.assumeIsolated { _ = loop.watch(fd, .readable) { [unowned self] _ in fire() } }
    }

    func add(at time: Int64, _ body: @escaping @LoopActor () -> Void) -> LoopTimer {
        lastOrder += 1
        let timer = LoopTimer(time: time, order: lastOrder, queue: self, body: body)
        timers.insert(timer, at: index(of: timer))
        arm()
        return timer
    }

    func remove(_ timer: LoopTimer) {
        let index = index(of: timer)
        guard index < timers.count, timers[index] === timer else { return }
        timers.remove(at: index)
        arm()
    }

    /// Keeps the descriptor armed even without timers, so that setting the clock is noticed.
    func watchClock() {
        watchesClock = true
        arm()
    }

    /// The first place that is not before `timer`.
    private func index(of timer: LoopTimer) -> Int {
        var low = 0
        var high = timers.count
        while low < high {
            let middle = (low + high) / 2
            if (timers[middle].time, timers[middle].order) < (timer.time, timer.order) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }

    private func arm() {
        let next = timers.first?.time ?? (watchesClock ? Int64.max : nil)
        guard next != armed else { return }
        armed = next
        var specification = itimerspec()
        if let next {
            // A zero time would disarm; one nanosecond after the epoch is as long ago.
            let time = max(1, next)
            specification.it_value = timespec(tv_sec: Int(time / 1_000_000_000), tv_nsec: Int(time % 1_000_000_000))
        }
        var flags = Int32(TFD_TIMER_ABSTIME)
        if clock == CLOCK_REALTIME { flags |= Int32(TFD_TIMER_CANCEL_ON_SET) }
        timerfd_settime(fd, flags, &specification, nil)
    }

    private func fire() {
        var expirations: UInt64 = 0
        let count = read(fd, &expirations, MemoryLayout<UInt64>.size)
        let wasSet = count < 0 && errno == ECANCELED
        guard count > 0 || wasSet else { return }
        armed = nil
        let now = Loop.nanoseconds(clock)
        while let timer = timers.first, timer.time <= now {
            timers.removeFirst()
            let body = timer.body
            timer.body = nil
            body?()
        }
        arm()
        if wasSet { Loop.shared.clockWasSet() }
    }
}
