// Callers take turns: the order within a caller, among callers, and what of a fast one's may wait.

import Glibc
import PermissionTestKit
import Testing

@testable import DBus

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct CallSchedulerTests {
    private typealias Scheduler = CallScheduler<String>

    /// Its letter is a call's caller.
    private func scheduler(_ calls: [String]) -> Scheduler {
        let scheduler = Scheduler()
        for call in calls { #expect(scheduler.add(call, of: String(call.prefix(1)), content: 0) == .waits) }
        return scheduler
    }

    private func rest(_ scheduler: Scheduler) -> [String] {
        var order: [String] = []
        while let call = scheduler.take() { order.append(call) }
        return order
    }

    @Test(arguments: [
        ("", ""), ("a1 a2 a3", "a1 a2 a3"), ("a1 b1 c1", "a1 b1 c1"), ("a1 a2 a3 b1 b2 c1", "a1 b1 c1 a2 b2 a3"),
        ("a1 a2 a3 a4 b1", "a1 b1 a2 a3 a4"), ("a1 b1 b2 b3 a2", "a1 b1 a2 b2 b3"),
    ])
    func oneOfEachInTurn(_ arriving: String, _ served: String) {
        let scheduler = scheduler(arriving.split(separator: " ").map(String.init))
        #expect(rest(scheduler).joined(separator: " ") == served)
        #expect(scheduler.isEmpty)
    }

    /// Whoever comes later is behind one call of each who waits, not behind all of them.
    @Test func aNewCallerIsOneTurnAway() {
        let scheduler = scheduler(["a1", "a2", "a3", "b1", "b2"])
        #expect(scheduler.take() == "a1")
        _ = scheduler.add("c1", of: "c", content: 0)
        #expect(rest(scheduler) == ["b1", "a2", "c1", "b2", "a3"])
    }

    /// Milliseconds that each call takes, and the calls that one turn serves.
    @Test(arguments: [(0, 32), (1, 3), (2, 2), (3, 1), (1000, 1)])
    func aTurnIsBounded(_ each: Int64, _ expected: Int) {
        var uptime: Int64 = 5
        let scheduler = CallScheduler<Int>(uptime: { uptime })
        for number in 0..<100 { _ = scheduler.add(number, of: "a", content: 0) }
        for turn in 0..<3 {
            scheduler.beginTurn()
            var served: [Int] = []
            while let call = scheduler.takeInTurn() {
                served.append(call)
                uptime += each
            }
            #expect(served == Array(turn * expected..<(turn + 1) * expected))
        }
    }

    @Test func aTurnOfNothing() {
        let scheduler = CallScheduler<Int>(uptime: { 0 })
        scheduler.beginTurn()
        #expect(scheduler.takeInTurn() == nil)
        #expect(scheduler.add(1, of: "a", content: 0) == .waits)
        #expect(scheduler.takeInTurn() == 1 && scheduler.takeInTurn() == nil)
    }

    /// Every order within a caller survives, however long the lines grow and shrink.
    @Test func nothingIsLostInLongLines() {
        let scheduler = CallScheduler<(caller: Int, number: Int)>()
        var added = [0, 0, 0]
        var taken = [0, 0, 0]
        for step in 0..<20_000 {
            if step % 7 < (step / 2000 % 2 == 0 ? 5 : 2) {
                let caller = step * step % 3
                #expect(scheduler.add((caller, added[caller]), of: "\(caller)", content: 0) == .waits)
                added[caller] += 1
            } else if let (caller, number) = scheduler.take() {
                #expect(number == taken[caller])
                taken[caller] += 1
            }
        }
        while let (caller, number) = scheduler.take() {
            #expect(number == taken[caller])
            taken[caller] += 1
        }
        #expect(taken == added)
    }

    // MARK: Limits

    @Test func oneCallersCallsAreBounded() {
        let scheduler = scheduler([])
        let most = Scheduler.maximumWeight / Scheduler.overhead
        for number in 0..<most { #expect(scheduler.add("a\(number)", of: "a", content: 0) == .waits) }
        #expect(scheduler.add("one too many", of: "a", content: 0) == .refused)
        #expect(scheduler.add("b0", of: "b", content: 0) == .waits)
        #expect(scheduler.take() == "a0")
        // What was served makes room.
        #expect(scheduler.add("a again", of: "a", content: 0) == .waits)
        #expect(rest(scheduler).count == most + 1)
    }

    /// One call of the largest size is always taken, a second one beside it is not.
    @Test func oneCallersBytesAreBounded() {
        let scheduler = scheduler([])
        #expect(scheduler.add("large", of: "a", content: Scheduler.maximumWeight) == .waits)
        #expect(scheduler.add("small", of: "a", content: 0) == .refused)
        #expect(rest(scheduler) == ["large"])
        #expect(scheduler.add("small", of: "a", content: 0) == .waits)
    }

    /// However many callers wait with large calls, a small one of somebody else is served in its turn.
    @Test func allBytesAreBounded() {
        let scheduler = scheduler([])
        let large = Scheduler.maximumWeight - Scheduler.overhead
        let callers = Scheduler.maximumTotal / Scheduler.maximumWeight
        for caller in 0..<callers { #expect(scheduler.add("large", of: "a\(caller)", content: large) == .waits) }
        #expect(scheduler.add("large", of: "b", content: large) == .refused)
        #expect(scheduler.add("small", of: "b", content: 100) == .waits)
        #expect(scheduler.add("a second one", of: "b", content: 0) == .refused)
        #expect(rest(scheduler).count == callers + 1)
        #expect(scheduler.add("large", of: "b", content: large) == .waits)
    }

    // MARK: On a bus

    /// Behind four hundred calls of one program, another's is not served last.
    @Test(arguments: PrivateBus.Kind.allCases)
    func aFastCallerLeavesOthersTheirTurn(_ kind: PrivateBus.Kind) async throws {
        let fixture = try await Fixture(kind)
        let other = try fixture.bus.connect()
        var served = 0
        let before = EventLog<Int>()
        fixture.service.methodHandler = { call in
            if call.sender == fixture.client.uniqueName { served += 1 } else { before.add(served) }
            fixture.service.reply(to: call)
        }
        // Asking the bus for a name waits for its answer: by then all calls before wait at the service, in this order, and
        // none was read.
        for _ in 0..<400 { fixture.client.call(fixture.message()) { _ in } }
        _ = try fixture.client.requestName("org.example.Fast")
        other.call(fixture.message()) { _ in }
        _ = try other.requestName("org.example.Other")
        #expect(served == 0)
        #expect(try await before.wait(for: 1)[0] < 350)
        await fixture.end()
    }

    /// A reply to the service, and what the bus tells it, pass calls that wait.
    @Test(arguments: PrivateBus.Kind.allCases)
    func repliesAndSignalsDoNotWait(_ kind: PrivateBus.Kind) async throws {
        let fixture = try await Fixture(kind)
        var served = 0
        let atReply = EventLog<Int>()
        let atLeaving = EventLog<Int>()
        fixture.service.methodHandler = { call in
            served += 1
            fixture.service.reply(to: call)
        }
        let leaver = try fixture.bus.connect()
        _ = fixture.service.whenNameVanishes(leaver.uniqueName) { atLeaving.add(served) }
        _ = try fixture.service.requestName("org.example.Watches")
        for _ in 0..<400 { fixture.client.call(fixture.message()) { _ in } }
        _ = try fixture.client.requestName("org.example.Fast")
        leaver.close()
        fixture.service.call(.busCall("GetId")) { _ in atReply.add(served) }
        fixture.service.flush()
        // By the answer to the second of these, the reply and the signal are behind the calls that wait.
        for name in ["org.example.First", "org.example.Second"] { _ = try fixture.client.requestName(name) }
        #expect(served == 0)
        #expect(try await atReply.wait(for: 1)[0] < 350)
        #expect(try await atLeaving.wait(for: 1)[0] < 350)
        await fixture.end()
    }

    /// What waits for one caller is bounded, and nothing of another's is refused.
    @Test(arguments: PrivateBus.Kind.allCases)
    func tooManyAreRefused(_ kind: PrivateBus.Kind) async throws {
        let fixture = try await Fixture(kind)
        let calls = EventLog<Bool>()
        // Slower than any bus delivers.
        fixture.service.methodHandler = { _ in
            usleep(500)
            calls.add(true)
        }
        fixture.service.floodHandler = { _ in calls.add(false) }
        let message = Message.call(
            destination: fixture.service.uniqueName, path: Fixture.path, interface: Fixture.interface, member: "Any",
            noReply: true)
        let limit = Scheduler.maximumWeight / Scheduler.overhead
        let count = 4 * limit
        for _ in 0..<count { fixture.client.send(message) }
        fixture.client.flush()
        let handled = try await calls.wait(for: count).count { $0 }
        #expect(handled >= limit && handled < count)
        let answer = try? await fixture.client.call(.busCall("GetId"))
        #expect(answer != nil)
        await fixture.end()
    }
}
