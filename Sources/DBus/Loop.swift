// The event loop: one thread, epoll and a job queue. It is also the executor of LoopActor.

import CLinux
import Glibc
import Synchronization

// SAFETY: all mutable state is isolated to LoopActor, except `thread`, which is atomic; the compiler cannot verify this
// for lazy properties.
public final class Loop: SerialExecutor, TaskExecutor, @unchecked Sendable {
    public static let shared = Loop()

    /// Rounds of queued work before the descriptors are polled, so that a chain of jobs cannot starve them.
    private static let roundsPerPoll = 16
    /// Items posted by other threads that run between two polls, so that a burst of them does not delay new calls.
    private static let remotePerPoll = 8
    private static let noThread: UInt = 0
    private static let startingThread: UInt = 1

    private let thread = Atomic<UInt>(Loop.noThread)
    private let remote = RemoteQueue()
    @LoopActor private var local: [Work] = []
    @LoopActor private var running: [Work] = []
    @LoopActor private var deferred: [Work] = []
    /// Work taken from `remote` that is not queued yet.
    @LoopActor private var backlog = FIFO<Work>()
    @LoopActor private var isStopping = false
    @LoopActor private(set) lazy var watches = WatchTable(wakeUp: remote.descriptor)
    @LoopActor private(set) lazy var bootTimers = TimerQueue(clock: CLOCK_BOOTTIME, loop: self)
    @LoopActor private(set) lazy var wallTimers = TimerQueue(clock: CLOCK_REALTIME, loop: self)

    private init() {}

    // MARK: - Executor

    public func enqueue(_ job: consuming ExecutorJob) {
        add(.job(UnownedJob(job)))
    }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    public func checkIsolated() { precondition(isCurrent, "not called on the loop's thread") }

    public func isIsolatingCurrentContext() -> Bool? { isCurrent }

    public var isCurrent: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

    /// Runs `body` on the loop, after the work already queued. May be called from any thread, and before the loop runs.
    public func post(_ body: @escaping @Sendable @LoopActor () -> Void) { add(.body(body)) }

    /// The first work from another thread starts the loop's own thread, unless the program already runs the loop.
    private func add(_ work: Work) {
        guard !isCurrent else { return LoopActor.assumeIsolated { local.append(work) } }
        remote.append(work)
        startThread()
    }

    /// ``post(_:)`` for callers that are already on the loop.
    @LoopActor public func later(_ body: @escaping @LoopActor () -> Void) { local.append(.body(body)) }

    /// Runs `body` after the next poll. For long work that is split up so that other events are handled in between.
    @LoopActor public func afterPoll(_ body: @escaping @LoopActor () -> Void) { deferred.append(.body(body)) }

    /// Milliseconds since boot, including time suspended (CLOCK_BOOTTIME).
    public static func uptimeMilliseconds() -> Int64 { nanoseconds(of: CLOCK_BOOTTIME) / 1_000_000 }

    /// The time of a clock in nanoseconds (clock_gettime(2)).
    public static func nanoseconds(of clock: Int32) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    // MARK: - Running

    /// Makes the calling thread the loop's. Traps if another thread already is.
    public func adoptCurrentThread() {
        let me = UInt(pthread_self())
        let (exchanged, owner) = thread.compareExchange(
            expected: Loop.noThread, desired: me, ordering: .sequentiallyConsistent)
        precondition(exchanged || owner == me, "the loop already runs on another thread")
    }

    /// Starts a thread for the loop, unless it already has one.
    private func startThread() {
        let (exchanged, _) = thread.compareExchange(
            expected: Loop.noThread, desired: Loop.startingThread, ordering: .sequentiallyConsistent)
        guard exchanged else { return }
        let failure = runDetached { [self] in
            thread.store(UInt(pthread_self()), ordering: .sequentiallyConsistent)
            run()
        }
        precondition(failure == 0, "cannot start the loop's thread: error \(failure)")
    }

    /// Runs until `stop()`. The calling thread becomes the loop's thread.
    public func run() {
        adoptCurrentThread()
        LoopActor.assumeIsolated { runUntilStopped() }
    }

    /// Ends `run()` after the work already queued. May be called from any thread.
    public func stop() {
        post { self.isStopping = true }
    }

    @LoopActor private var isIdle: Bool { local.isEmpty && deferred.isEmpty && backlog.isEmpty }

    @LoopActor private func runUntilStopped() {
        while true {
            var rounds = 0
            while !local.isEmpty, rounds < Loop.roundsPerPoll {
                runOneRound()
                rounds += 1
            }
            if isStopping { break }
            bootTimers.arm(isSleepy: isIdle)
            wallTimers.arm(isSleepy: isIdle)
            // Arming may have queued work, if the clock was set.
            let isRemoteReady = watches.poll(wait: isIdle)
            local.append(contentsOf: deferred)
            deferred.removeAll(keepingCapacity: true)
            queueRemoteWork(isRemoteReady)
        }
        isStopping = false
    }

    /// Queues the next few items that other threads posted.
    @LoopActor private func queueRemoteWork(_ isReady: Bool) {
        if backlog.isEmpty, isReady { backlog = FIFO(remote.take()) }
        for _ in 0..<Loop.remotePerPoll {
            guard let work = backlog.popFirst() else { return }
            local.append(work)
        }
    }

    @LoopActor private func runOneRound() {
        swap(&running, &local)
        for work in running {
            switch work {
            case .job(let job):
                job.runSynchronously(
                    isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
            case .body(let body): body()
            }
        }
        running.removeAll(keepingCapacity: true)
    }
}
