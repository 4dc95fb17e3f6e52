// The loop: order, timers, descriptors and signals, and handlers that cancel themselves or others.

import Glibc
import PermissionTestKit
import Testing

@testable import DBus

@Suite(.timeLimit(.minutes(3)))
struct LoopTests {

    @Test @LoopActor func postedWorkKeepsItsOrder() async throws {
        let events = EventLog<Int>()
        for number in 0..<1_000 { Loop.shared.post { events.add(number) } }
        #expect(try await events.wait(for: 1_000) == Array(0..<1_000))
    }

    @Test func everythingRunsOnOneThread() async {
        let first = await LoopTests.thread()
        let second = await Task(executorPreference: Loop.shared) { pthread_self() }.value
        #expect(await LoopTests.thread() == first)
        #expect(second == first)
        #expect(pthread_self() != first || Loop.shared.isCurrent)
        #expect(await LoopTests.assumed() == 7)
    }

    @LoopActor private static func thread() -> pthread_t { pthread_self() }
    @LoopActor private static func assumed() -> Int { LoopActor.assumeIsolated { 7 } }

    @Test @LoopActor func timersFireInOrder() async throws {
        let events = EventLog<String>()
        Loop.shared.after(milliseconds: 20) { events.add("20") }
        Loop.shared.after(milliseconds: 1) { events.add("1") }
        let cancelled = Loop.shared.after(milliseconds: 2) { events.add("cancelled") }
        Loop.shared.after(milliseconds: 1) { events.add("1, later") }
        Loop.shared.after(milliseconds: -5) { events.add("at once") }
        let far = Loop.shared.after(milliseconds: .max) { events.add("never") }
        cancelled.cancel()
        cancelled.cancel()
        #expect(try await events.wait(for: 4) == ["at once", "1", "1, later", "20"])
        far.cancel()
    }

    @Test @LoopActor func cancelledTimersDoNotWakeASleepingProgram() {
        let queue = TimerQueue(clock: CLOCK_BOOTTIME, loop: .shared)
        let (soon, late) = (queue.now + 1_000_000_000_000, queue.now + 2_000_000_000_000)
        let timers = [queue.add(soon) {}, queue.add(late) {}]
        queue.arm(isSleepy: true)
        #expect(queue.armed == soon)
        timers[0].cancel()
        // While there is work, the system call that rearms the timer is not worthwhile.
        queue.arm(isSleepy: false)
        #expect(queue.armed == soon)
        queue.arm(isSleepy: true)
        #expect(queue.armed == late)
        timers[1].cancel()
        queue.arm(isSleepy: true)
        #expect(queue.armed == nil)
    }

    /// As for a user whose places in epoll are all taken: it is tried again.
    @Test @LoopActor func aDescriptorThatCannotBeWatchedYet() async throws {
        let events = EventLog<IOEvents>()
        // epoll refuses regular files.
        let file = UnixFD(owning: open("/proc/self/exe", O_RDONLY | O_CLOEXEC))
        let token = Loop.shared.watch(file, .readable) { events.add($0) }
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let (reading, writing) = (UnixFD(owning: ends[0]), UnixFD(owning: ends[1]))
        try #require(write(writing.raw, "x", 1) == 1 && dup2(reading.raw, file.raw) == file.raw)
        #expect(try await events.wait(for: 1)[0].contains(.readable))
        token.cancel()
    }

    @Test @LoopActor func timersMayCancelEachOther() async throws {
        let events = EventLog<String>()
        var first: LoopTimer?
        var second: LoopTimer?
        first = Loop.shared.after(milliseconds: 1) {
            events.add("first")
            first?.cancel()
            second?.cancel()
            Loop.shared.after(milliseconds: 0) { events.add("from within") }
        }
        second = Loop.shared.after(milliseconds: 1) { events.add("second") }
        #expect(try await events.wait(for: 2) == ["first", "from within"])
    }

    @Test @LoopActor func wallClockTimers() async throws {
        let events = EventLog<String>()
        let now = Int64(time(nil))
        let far = Loop.shared.at(epochSeconds: .max) { events.add("never") }
        let early = Loop.shared.at(epochSeconds: now + 1000) { events.add("too early") }
        Loop.shared.at(epochSeconds: now - 10) { events.add("over") }
        Loop.shared.at(epochSeconds: .min) { events.add("long over") }
        Loop.shared.onClockSet {}
        #expect(try await events.wait(for: 2) == ["long over", "over"])
        far.cancel()
        early.cancel()
    }

    @Test @LoopActor func watchesMayCancelThemselvesAndOthers() async throws {
        let events = EventLog<String>()
        let (first, firstEnd) = pair()
        let (second, secondEnd) = pair()
        let tokens = EventLog<WatchToken>()
        for (fd, name) in [(first, "first"), (second, "second")] {
            tokens.add(
                Loop.shared.watch(fd, .readable) { what in
                    events.add("\(name) \(what.contains(.readable))")
                    for token in tokens.all { token.cancel() }
                })
        }
        // Both are ready in the same turn; the first one served ends the other.
        write(firstEnd.raw, "x", 1)
        write(secondEnd.raw, "x", 1)
        _ = try await events.wait(for: 1)
        await turn()
        #expect(events.all.count == 1)
    }

    /// An event of a descriptor closed in the same turn is not attributed to a new descriptor with its number.
    @Test @LoopActor func reusedDescriptorsAreNotMixedUp() async throws {
        let events = EventLog<String>()
        let (first, firstEnd) = pair()
        let (second, secondEnd) = pair()
        let numbers = (first.raw, second.raw)
        var tokens: [Int32: WatchToken] = [:]
        var successor: UnixFD?
        func served(_ own: UnixFD, _ other: UnixFD) {
            events.add("served")
            for token in tokens.values { token.cancel() }
            guard successor == nil else { return }
            let number = other.raw
            _ = other.take()
            // A socket without data gets the other's number. dup2 leaves the number free at no moment, because other
            // tests run at the same time.
            let (fresh, freshEnd) = pair()
            dup2(fresh.raw, number)
            successor = UnixFD(owning: number)
            tokens = [number: Loop.shared.watch(unowned: number, .readable) { _ in events.add("mixed up") }]
            withExtendedLifetime((fresh, freshEnd)) {}
            opened.append(fresh)
            opened.append(freshEnd)
        }
        var opened: [UnixFD] = []
        tokens[numbers.0] = Loop.shared.watch(unowned: numbers.0, .readable) { _ in served(first, second) }
        tokens[numbers.1] = Loop.shared.watch(unowned: numbers.1, .readable) { _ in served(second, first) }
        write(firstEnd.raw, "x", 1)
        write(secondEnd.raw, "x", 1)
        _ = try await events.wait(for: 1)
        await turn()
        #expect(events.all == ["served"])
        for token in tokens.values { token.cancel() }
    }

    /// A descriptor that is watched stays open, so that none that is opened later gets its number.
    @Test @LoopActor func watchedDescriptorsStayOpen() async throws {
        let events = EventLog<String>()
        let (theirs, token) = {
            let (mine, theirs) = pair()
            return (theirs, Loop.shared.watch(mine, .readable) { _ in events.add("readable") })
        }()
        write(theirs.raw, "x", 1)
        _ = try await events.wait(for: 1)
        // The watch is the last owner, but for processes that other tests are just starting.
        let hangups = EventLog<Bool>()
        let other = Loop.shared.watch(theirs, .readable) { hangups.add($0.contains(.hangup)) }
        #expect(send(theirs.raw, "x", 1, Int32(MSG_NOSIGNAL)) == 1)
        token.cancel()
        #expect(try await hangups.wait(for: 1).first == true)
        other.cancel()
    }

    @Test @LoopActor func hangupIsReported() async throws {
        let events = EventLog<Bool>()
        let (mine, theirs) = pair()
        let token = Loop.shared.watch(mine, []) { events.add($0.contains(.hangup)) }
        token.events = .readable
        close(theirs.take())
        #expect(try await events.wait(for: 1).first == true)
        token.cancel()
    }

    @Test @LoopActor func signalsBecomeEvents() async throws {
        let events = EventLog<Int32>()
        Loop.shared.onSignals([SIGUSR2]) { events.add($0) }
        raise(SIGUSR2)
        #expect(try await events.wait(for: 1) == [SIGUSR2])
    }

    @LoopActor private func pair() -> (UnixFD, UnixFD) {
        var ends: [Int32] = [-1, -1]
        socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends)
        return (UnixFD(owning: ends[0]), UnixFD(owning: ends[1]))
    }

    /// Waits for a whole turn of the loop, including its descriptors.
    @LoopActor private func turn() async {
        for _ in 0..<2 {
            await withCheckedContinuation { done in Loop.shared.after(milliseconds: 1) { done.resume() } }
        }
    }
}
