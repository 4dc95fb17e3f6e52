// Jobs that may block: their order, their deadlines, and jobs that never return.

import DBus
import Glibc
import PermissionTestKit
import Synchronization
import TestSupport
import Testing

@testable import System

@Suite(.timeLimit(.minutes(2)))
@LoopActor
struct WorkerTests {
    /// What a job that hangs returns too late: an event when the worker has dropped it.
    private final class Dropped: Sendable {
        private let log: EventLog<Bool>

        init(_ log: EventLog<Bool>) { self.log = log }

        deinit { Loop.shared.post { [log] in log.add(true) } }
    }

    @Test func jobsRunInOrderBesideTheLoop() async throws {
        let worker = Worker(threads: 1)
        let results = EventLog<Int?>()
        for number in 0..<100 {
            worker.run(about: "subject \(number % 3)", deadline: 60_000) {
                Loop.shared.isCurrent ? -1 : number
            } then: {
                results.add($0)
            }
        }
        #expect(results.all.isEmpty)
        #expect(try await results.wait(for: 100) == Array(0..<100))
    }

    @Test func aJobThatHangsFailsAndDelaysOnlyItsSubject() async throws {
        let worker = Worker()
        let gate = Gate()
        let results = EventLog<String>()
        let dropped = EventLog<Bool>()
        worker.run(about: "disk", deadline: 500) {
            gate.wait()
            return Dropped(dropped)
        } then: {
            results.add($0 == nil ? "failed" : "late")
        }
        worker.run(about: "disk", deadline: 60_000) {
            1
        } then: {
            results.add($0 == nil ? "same subject" : "ran")
        }
        worker.run(about: "other", deadline: 60_000) {
            2
        } then: { _ in
            results.add("other")
        }
        #expect(try await results.wait(for: 3).sorted() == ["failed", "other", "same subject"])
        #expect(worker.stuckThreads == 1)
        worker.run(about: "disk") {
            3
        } then: {
            results.add($0 == nil ? "at once" : "ran")
        }
        #expect(try await results.wait(for: 4).last == "at once")
        gate.open()
        try await dropped.wait(for: 1)
        worker.run(about: "disk") {
            4
        } then: {
            results.add($0 == nil ? "still" : "ran")
        }
        #expect(try await results.wait(for: 5).last == "ran")
        #expect(!results.all.contains("late"))
    }

    /// As when the machine was suspended, or the loop was busy for long.
    @Test func aJobThatHasReturnedIsNotLate() async throws {
        let worker = Worker()
        let results = EventLog<Bool>()
        let thread = Atomic(0)
        worker.run(about: "disk", deadline: 1) {
            // "PID/task/TID"
            var link = [UInt8](repeating: 0, count: 64)
            let count = readlink("/proc/thread-self", &link, link.count)
            let words = String(decoding: link.prefix(count), as: UTF8.self).split(separator: "/")
            thread.store(words.last.flatMap { Int($0) } ?? 0, ordering: .relaxed)
        } then: {
            results.add($0 != nil)
        }
        let end = Loop.uptimeMilliseconds() + 2
        func runs() -> Bool {
            let id = thread.load(ordering: .relaxed)
            return id == 0 || access("/proc/self/task/\(id)", F_OK) == 0
        }
        while runs() || Loop.uptimeMilliseconds() < end { sched_yield() }
        #expect(try await results.wait(for: 1) == [true])
    }

    @Test func aThousandJobsThatHangCostFewThreads() async throws {
        // All of its threads are taken well before the deadline.
        let worker = Worker(patience: 1)
        let gates = (0..<1000).map { _ in Gate() }
        let results = EventLog<Bool>()
        let dropped = EventLog<Bool>()
        for (number, gate) in gates.enumerated() {
            worker.run(about: "\(number)", deadline: 3000) {
                gate.wait()
                return Dropped(dropped)
            } then: {
                results.add($0 == nil)
            }
        }
        #expect(try await results.wait(for: 1000).allSatisfy { $0 })
        #expect(worker.stuckThreads <= Worker.maximumThreads)
        worker.run(about: "new") {
            1
        } then: {
            results.add($0 == nil)
        }
        #expect(try await results.wait(for: 1001).last == true)
        for gate in gates { gate.open() }
        try await dropped.wait(for: worker.stuckThreads)
        worker.run(about: "new") {
            1
        } then: {
            results.add($0 == nil)
        }
        #expect(try await results.wait(for: 1002).last == false)
    }

    /// A program that hangs in many places keeps no other from being looked at.
    @Test func whoHangsTakesAShareOfTheThreads() async throws {
        let worker = Worker()
        let gates = (0..<Worker.share).map { _ in Gate() }
        let (hanging, others) = (EventLog<Bool>(), EventLog<Int?>())
        let dropped = EventLog<Bool>()
        for (number, gate) in gates.enumerated() {
            worker.run(about: "\(number)", for: "a", deadline: 500) {
                gate.wait()
                return Dropped(dropped)
            } then: {
                hanging.add($0 == nil)
            }
        }
        worker.run(about: "more", for: "a", deadline: 60_000) {
            1
        } then: {
            hanging.add($0 == nil)
        }
        worker.run(about: "more", for: "b", deadline: 60_000) {
            2
        } then: {
            others.add($0)
        }
        #expect(try await others.wait(for: 1) == [2])
        #expect(try await hanging.wait(for: Worker.share + 1).allSatisfy { $0 })
        #expect(worker.stuckThreads == Worker.share)
        worker.run(about: "still more", for: "a", deadline: 60_000) {
            1
        } then: {
            hanging.add($0 == nil)
        }
        #expect(try await hanging.wait(for: Worker.share + 2).last == true)
        for gate in gates { gate.open() }
        try await dropped.wait(for: Worker.share)
    }

    @Test func withOneThreadNothingOvertakes() async throws {
        let worker = Worker(threads: 1, patience: 0)
        let gate = Gate()
        let results = EventLog<Int>()
        worker.run(about: "first", deadline: 60_000) {
            gate.wait()
        } then: { _ in
            results.add(1)
        }
        worker.run(about: "second", deadline: 60_000) {
            2
        } then: {
            results.add($0 ?? 0)
        }
        // Later than the patience.
        Loop.shared.after(milliseconds: 1) {
            results.add(0)
            gate.open()
        }
        #expect(try await results.wait(for: 3) == [0, 1, 2])
    }

    /// A job for which there is no room fails after the earlier ones about its subject, whose results it would replace.
    @Test func aRefusedJobOvertakesNoneOfItsSubject() async throws {
        let worker = Worker(threads: 1)
        let gate = Gate()
        let results = EventLog<String>()
        worker.run(about: "slow", deadline: 60_000) {
            gate.wait()
        } then: { _ in
            results.add("slow")
        }
        for number in 0..<Worker.maximumWaiting {
            worker.run(about: number == 0 ? "first" : "other", deadline: 60_000) {
                number
            } then: {
                if $0 == 0 { results.add("first") }
            }
        }
        for subject in ["slow", "first", "new"] {
            worker.run(about: subject, deadline: 60_000) {
                true
            } then: {
                results.add("\(subject) \($0 == nil ? "refused" : "ran")")
            }
        }
        // Nothing of its subject is before it.
        #expect(try await results.wait(for: 1) == ["new refused"])
        gate.open()
        let all = try await results.wait(for: 5)
        #expect(all == ["new refused", "slow", "slow refused", "first", "first refused"])
    }
}
