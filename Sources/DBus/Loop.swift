// The event loop: epoll and a queue of jobs on one thread, and the executor of everything isolated to `LoopActor`.

import CLinux
import Glibc

/// What a descriptor is watched for, or is ready for.
public struct IOEvents: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public static let readable = IOEvents(rawValue: EPOLLIN.rawValue)
    public static let writable = IOEvents(rawValue: EPOLLOUT.rawValue)
    public static let hangup = IOEvents(rawValue: EPOLLHUP.rawValue)
    public static let error = IOEvents(rawValue: EPOLLERR.rawValue)
}

/// One thread's event loop. `permd` runs it on its main thread, clients on one of its own.
// SAFETY: `local`, `descriptors` and the timers are touched on the loop's thread alone; what other threads reach (the remote jobs, the
// thread's identity) is under `lock`.
public final class Loop: SerialExecutor, TaskExecutor, @unchecked Sendable {
    public static let shared = Loop()

    private let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    private let wake = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
    private let lock = UnfairLock()
    private var remote: [UnownedJob] = []
    private var isWoken = false
    private var thread: pthread_t?
    private var hasThread = false

    private var local: [UnownedJob] = []
    private var running: [UnownedJob] = []
    private var descriptors: [Int32: Descriptor] = [:]
    private var isStopped = false
    private lazy var bootTimers = TimerQueue(clock: CLOCK_BOOTTIME, loop: self)
    private lazy var wallTimers = TimerQueue(clock: CLOCK_REALTIME, loop: self)
    private var beforeSleep: [@LoopActor () -> Bool] = []
    private var clockSetHandlers: [@LoopActor () -> Void] = []

    private final class Descriptor {
        var handler: @LoopActor (IOEvents) -> Void
        init(_ handler: @escaping @LoopActor (IOEvents) -> Void) { self.handler = handler }
    }

    private init() {
        precondition(epoll >= 0 && wake >= 0, "no descriptor is left for the event loop")
        control(EPOLL_CTL_ADD, wake, .readable)
    }

    // MARK: Executor

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if isCurrent { return local.append(job) }
        lock.lock()
        remote.append(job)
        let mustWake = !isWoken
        isWoken = true
        lock.unlock()
        if mustWake { eventfd_write(wake, 1) }
    }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    public func checkIsolated() { precondition(isCurrent, "this must run on the loop's thread") }

    public func isIsolatingCurrentContext() -> Bool? { isCurrent }

    private var isCurrent: Bool {
        lock.lock()
        defer { lock.unlock() }
        guard let thread else { return false }
        return pthread_equal(thread, pthread_self()) != 0
    }

    /// Runs `body` on the loop, soon; from any thread.
    public func post(_ body: @escaping @Sendable @LoopActor () -> Void) {
        // The task starts on the loop itself: nothing of it touches the global thread pool.
        Task(executorPreference: self) { @LoopActor in body() }
    }

    // MARK: Running

    /// Makes the calling thread the loop's; ``run()`` must follow on it.
    public func adoptCurrentThread() {
        lock.lock()
        thread = pthread_self()
        hasThread = true
        lock.unlock()
    }

    /// Serves events until ``stop()``.
    public func run() {
        adoptCurrentThread()
        isStopped = false
        let capacity: Int32 = 32
        let ready = UnsafeMutablePointer<epoll_event>.allocate(capacity: Int(capacity))
        defer { ready.deallocate() }
        while !isStopped {
            runJobs()
            LoopActor.assumeIsolated { callHooks() }
            if !local.isEmpty || isStopped { continue }
            let count = epoll_wait(epoll, ready, capacity, -1)
            guard count >= 0 else {
                precondition(errno == EINTR, "epoll_wait failed")
                continue
            }
            for index in 0..<Int(count) { serve(ready[index]) }
        }
    }

    /// Ends ``run()`` after the current turn.
    public func stop() {
        isStopped = true
        eventfd_write(wake, 1)
    }

    /// Gives the loop a thread of its own, if it has none: for programs with another main loop.
    public func startThread() {
        lock.lock()
        let isFirst = !hasThread
        hasThread = true
        lock.unlock()
        guard isFirst else { return }
        var id = pthread_t()
        let failed = pthread_create(
            &id, nil,
            { _ in
                Loop.shared.run()
                return nil
            }, nil)
        precondition(failed == 0, "no thread is left for the event loop")
        pthread_detach(id)
    }

    private func runJobs() {
        let serial = asUnownedSerialExecutor()
        let task = asUnownedTaskExecutor()
        while !local.isEmpty {
            swap(&running, &local)
            for job in running { job.runSynchronously(isolatedTo: serial, taskExecutor: task) }
            running.removeAll(keepingCapacity: true)
        }
    }

    private func serve(_ event: epoll_event) {
        guard event.data.fd != wake else { return takeRemoteJobs() }
        // Looked up at this moment: a handler of the same turn may have cancelled it.
        guard let descriptor = descriptors[event.data.fd] else { return }
        LoopActor.assumeIsolated { descriptor.handler(IOEvents(rawValue: event.events)) }
    }

    private func takeRemoteJobs() {
        var value: eventfd_t = 0
        eventfd_read(wake, &value)
        lock.lock()
        local += remote
        remote.removeAll(keepingCapacity: true)
        isWoken = false
        lock.unlock()
    }

    // MARK: Descriptors, timers, signals

    /// Calls `handler` while `fd` is ready for `events`, level-triggered. The descriptor stays the caller's, who cancels
    /// the token before closing it.
    @LoopActor
    @discardableResult
    public func watch(
        _ fd: Int32, _ events: IOEvents, _ handler: @escaping @LoopActor (IOEvents) -> Void
    ) -> WatchToken {
        let descriptor = Descriptor(handler)
        control(descriptors[fd] == nil ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, events)
        descriptors[fd] = descriptor
        return WatchToken { [weak self, weak descriptor] in
            guard let self, let descriptor, descriptors[fd] === descriptor else { return }
            descriptors[fd] = nil
            control(EPOLL_CTL_DEL, fd, [])
        }
    }

    /// Runs `body` once after that time, which goes on while the machine is suspended (CLOCK_BOOTTIME).
    @LoopActor
    @discardableResult
    public func after(milliseconds: Int64, _ body: @escaping @LoopActor () -> Void) -> LoopTimer {
        let start = Loop.nanoseconds(CLOCK_BOOTTIME)
        let (delay, overflow) = max(0, milliseconds).multipliedReportingOverflow(by: 1_000_000)
        return bootTimers.add(at: overflow ? .max : start.addingSaturating(delay), body)
    }

    /// Runs `body` once when the wall clock reads that time, however often the clock is set meanwhile.
    @LoopActor
    @discardableResult
    public func at(epochSeconds: Int64, _ body: @escaping @LoopActor () -> Void) -> LoopTimer {
        let (time, overflow) = epochSeconds.multipliedReportingOverflow(by: 1_000_000_000)
        return wallTimers.add(at: overflow ? .max : time, body)
    }

    /// Calls `body` whenever the wall clock is set (timerfd_create(2), TFD_TIMER_CANCEL_ON_SET).
    @LoopActor
    public func onClockSet(_ body: @escaping @LoopActor () -> Void) {
        clockSetHandlers.append(body)
        wallTimers.watchClock()
    }

    @LoopActor
    func clockWasSet() { for handler in clockSetHandlers { handler() } }

    /// Blocks these signals in the calling thread and hands them to `handler` instead (signalfd(2)). Threads started
    /// later inherit the mask; call this before there are others.
    @LoopActor
    public func onSignals(_ signals: [Int32], _ handler: @escaping @LoopActor (Int32) -> Void) {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals { sigaddset(&set, signal) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
        let fd = signalfd(-1, &set, Int32(SFD_CLOEXEC) | Int32(SFD_NONBLOCK))
        precondition(fd >= 0, "no descriptor is left for signals")
        watch(fd, .readable) { _ in
            var info = signalfd_siginfo()
            while read(fd, &info, MemoryLayout<signalfd_siginfo>.size) == MemoryLayout<signalfd_siginfo>.size {
                handler(Int32(info.ssi_signo))
            }
        }
    }

    /// Called before each sleep, to drain what libraries have buffered, until it gives false.
    @LoopActor
    func onBeforeSleep(_ hook: @escaping @LoopActor () -> Bool) { beforeSleep.append(hook) }

    @LoopActor
    private func callHooks() {
        // A hook may add another: those are called in the next turn.
        let count = beforeSleep.count
        var isOver: [Int] = []
        for index in 0..<count where !beforeSleep[index]() { isOver.append(index) }
        for index in isOver.reversed() { beforeSleep.remove(at: index) }
    }

    /// Milliseconds since boot, suspended time included (CLOCK_BOOTTIME).
    public static func uptimeMilliseconds() -> Int64 { nanoseconds(CLOCK_BOOTTIME) / 1_000_000 }

    static func nanoseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private func control(_ operation: Int32, _ fd: Int32, _ events: IOEvents) {
        var event = epoll_event()
        event.events = events.rawValue
        event.data.fd = fd
        epoll_ctl(epoll, operation, fd, &event)
    }
}

/// Ends a watch when cancelled; letting go of it does not.
@LoopActor
public final class WatchToken {
    private var body: (@LoopActor () -> Void)?

    init(_ body: @escaping @LoopActor () -> Void) { self.body = body }

    public func cancel() {
        body?()
        body = nil
    }
}

/// A lock whose address never moves, as pthread_mutex_init(3) demands. ThreadSanitizer understands it.
// SAFETY: the mutex itself is what makes concurrent use safe.
final class UnfairLock: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    init() { pthread_mutex_init(mutex, nil) }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    func lock() { pthread_mutex_lock(mutex) }
    func unlock() { pthread_mutex_unlock(mutex) }
}

extension Int64 {
    func addingSaturating(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
