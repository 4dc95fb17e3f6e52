// The event loop: one thread, epoll and a queue of jobs, and the executor that LoopActor runs on.

import CLinux
import Glibc
import Synchronization

// SAFETY: everything that changes is isolated to LoopActor, but for `thread`, which is atomic; the compiler only cannot
// see that for lazy properties.
public final class Loop: SerialExecutor, TaskExecutor, @unchecked Sendable {
    public static let shared = Loop()

    /// Rounds of queued work before the descriptors get their turn, so that no chain of jobs starves them.
    private static let roundsPerPoll = 16
    /// Work from other threads between two polls: what a burst of it answers does not keep a new call waiting for all.
    private static let remotePerPoll = 8
    private static let noThread: UInt = 0
    private static let startingThread: UInt = 1

    private let thread = Atomic<UInt>(Loop.noThread)
    private let remote = RemoteQueue()
    @LoopActor private var local: [Work] = []
    @LoopActor private var running: [Work] = []
    /// What waits for the next look at the descriptors.
    @LoopActor private var deferred: [Work] = []
    /// Taken from `remote`, empty once all of it is queued, and how much of it is.
    @LoopActor private var backlog: [Work] = []
    @LoopActor private var backlogQueued = 0
    @LoopActor private var isStopping = false
    @LoopActor private(set) lazy var watches = WatchTable(wakeUp: remote.descriptor)
    @LoopActor private(set) lazy var bootTimers = TimerQueue(clock: CLOCK_BOOTTIME, loop: self)
    @LoopActor private(set) lazy var wallTimers = TimerQueue(clock: CLOCK_REALTIME, loop: self)

    private init() {}

    // MARK: - Executor

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if isCurrent {
            LoopActor.assumeIsolated { local.append(.job(job)) }
        } else {
            enqueueRemote(.job(job))
        }
    }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    public func checkIsolated() { precondition(isCurrent, "not on the loop's thread") }

    public func isIsolatingCurrentContext() -> Bool? { isCurrent }

    /// Whether the caller runs on the loop's thread.
    public var isCurrent: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

    /// Runs `body` on the loop, after what is queued already. From any thread; allowed before the loop runs.
    public func post(_ body: @escaping @Sendable @LoopActor () -> Void) {
        if isCurrent {
            LoopActor.assumeIsolated { local.append(.body(body)) }
        } else {
            enqueueRemote(.body(body))
        }
    }

    /// The first work from elsewhere starts the loop, unless a program runs it on a thread of its choice.
    private func enqueueRemote(_ work: Work) {
        remote.append(work)
        startThread()
    }

    /// ``post(_:)`` for what is on the loop already.
    @LoopActor public func later(_ body: @escaping @LoopActor () -> Void) { local.append(.body(body)) }

    /// Runs `body` after the next look at the descriptors: for work that goes on and lets others come between.
    @LoopActor public func afterPoll(_ body: @escaping @LoopActor () -> Void) { deferred.append(.body(body)) }

    /// Milliseconds since boot, suspended time included (CLOCK_BOOTTIME).
    public static func uptimeMilliseconds() -> Int64 { TimerQueue.nanoseconds(CLOCK_BOOTTIME) / 1_000_000 }

    // MARK: - Running

    /// Makes the calling thread the loop's. Traps when another one already is.
    public func adoptCurrentThread() {
        let me = UInt(pthread_self())
        let (exchanged, owner) = thread.compareExchange(
            expected: Loop.noThread, desired: me, ordering: .sequentiallyConsistent)
        precondition(exchanged || owner == me, "the loop has a thread already")
    }

    /// Gives the loop a thread of its own, unless it has one.
    private func startThread() {
        let (exchanged, _) = thread.compareExchange(
            expected: Loop.noThread, desired: Loop.startingThread, ordering: .sequentiallyConsistent)
        guard exchanged else { return }
        let failure = runDetached { Loop.shared.runOwnThread() }
        precondition(failure == 0, "no thread for the loop: error \(failure)")
    }

    private func runOwnThread() {
        thread.store(UInt(pthread_self()), ordering: .sequentiallyConsistent)
        run()
    }

    /// Runs until `stop()`; the calling thread becomes the loop's.
    public func run() {
        adoptCurrentThread()
        LoopActor.assumeIsolated { runUntilStopped() }
    }

    /// Ends `run()` after the work that is queued. From any thread.
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
            // Arming may have queued work: the clock can have been set.
            let isRemoteReady = watches.poll(wait: isIdle)
            local.append(contentsOf: deferred)
            deferred.removeAll(keepingCapacity: true)
            queueRemoteWork(isRemoteReady)
        }
        isStopping = false
    }

    /// The next few of what other threads posted.
    @LoopActor private func queueRemoteWork(_ isReady: Bool) {
        if backlog.isEmpty, isReady { backlog = remote.take() }
        let end = min(backlogQueued + Loop.remotePerPoll, backlog.count)
        local.append(contentsOf: backlog[backlogQueued..<end])
        backlogQueued = end
        if end == backlog.count {
            backlog = []
            backlogQueued = 0
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
