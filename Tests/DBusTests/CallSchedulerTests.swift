// Callers take turns: the order of one caller's calls, the order among callers, and how many calls may wait.

import Glibc
import PermissionTestKit
import Testing

@testable import DBus

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct CallSchedulerTests {
    private typealias Scheduler = CallScheduler<String>

    /// A scheduler with these calls; the first letter of a call names its caller.
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

    /// A caller that arrives later waits for at most one call of each other caller, not for all their calls.
    @Test func aNewCallerIsOneTurnAway() {
        let scheduler = scheduler(["a1", "a2", "a3", "b1", "b2"])
        #expect(scheduler.take() == "a1")
        _ = scheduler.add("c1", of: "c", content: 0)
        #expect(rest(scheduler) == ["b1", "a2", "c1", "b2", "a3"])
    }

    /// The milliseconds that each call takes, and how many calls one turn then serves.
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

    @Test func anEmptyTurn() {
        let scheduler = CallScheduler<Int>(uptime: { 0 })
        scheduler.beginTurn()
        #expect(scheduler.takeInTurn() == nil)
        #expect(scheduler.add(1, of: "a", content: 0) == .waits)
        #expect(scheduler.takeInTurn() == 1 && scheduler.takeInTurn() == nil)
    }

    /// Each caller's calls keep their order while its queue grows and shrinks.
    @Test func nothingIsLostInLongQueues() {
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
        // A served call makes room for another.
        #expect(scheduler.add("a again", of: "a", content: 0) == .waits)
        #expect(rest(scheduler).count == most + 1)
    }

    /// A call of the largest size is accepted when none of its caller waits; a second one is refused.
    @Test func oneCallersBytesAreBounded() {
        let scheduler = scheduler([])
        #expect(scheduler.add("large", of: "a", content: Scheduler.maximumWeight) == .waits)
        #expect(scheduler.add("small", of: "a", content: 0) == .refused)
        #expect(rest(scheduler) == ["large"])
        #expect(scheduler.add("small", of: "a", content: 0) == .waits)
    }

    /// Regardless of how many large calls wait, a small call of another caller is served in its turn.
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

    /// Calls that one client sends at once: few enough for all of them to be in the service's socket before it reads any.
    /// The kernel counts each message with up to 1 KiB of its own, and a socket holds 208 KiB; a bus keeps the rest.
    private static let calls = 100

    /// Waits until everything that was sent before is in the service's socket. dbus-broker passes on at most 16 messages
    /// to a connection before it serves the others.
    private func settle(_ connection: Connection) throws {
        for number in 0...CallSchedulerTests.calls / 8 {
            _ = try connection.requestName("org.example.Settled\(number)")
        }
    }

    /// A call that arrives after many calls of another program is not served last.
    @Test(arguments: PrivateBus.Kind.allCases)
    func aFastCallerDoesNotStarveOthers(_ kind: PrivateBus.Kind) async throws {
        let fixture = try await Fixture(kind)
        let other = try fixture.bus.connect()
        var served = 0
        let before = EventLog<Int>()
        fixture.service.methodHandler = { call in
            if call.sender == fixture.client.uniqueName { served += 1 } else { before.add(served) }
            fixture.service.reply(to: call)
        }
        // `requestName` waits for the reply of the bus: by then all earlier calls have reached the service, in this
        // order, and none has been read.
        for _ in 0..<CallSchedulerTests.calls { fixture.client.call(fixture.message()) { _ in } }
        _ = try fixture.client.requestName("org.example.Fast")
        other.call(fixture.message()) { _ in }
        try settle(other)
        #expect(served == 0)
        #expect(try await before.wait(for: 1)[0] < CallSchedulerTests.calls * 7 / 8)
        await fixture.end()
    }

    /// Replies to the service and signals of the bus are delivered before calls that wait.
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
        for _ in 0..<CallSchedulerTests.calls { fixture.client.call(fixture.message()) { _ in } }
        _ = try fixture.client.requestName("org.example.Fast")
        leaver.close()
        fixture.service.call(.busCall("GetId")) { _ in atReply.add(served) }
        fixture.service.flush()
        // The reply and the signal are behind the waiting calls.
        try settle(fixture.client)
        #expect(served == 0)
        #expect(try await atReply.wait(for: 1)[0] < CallSchedulerTests.calls * 7 / 8)
        #expect(try await atLeaving.wait(for: 1)[0] < CallSchedulerTests.calls * 7 / 8)
        await fixture.end()
    }

    /// A service that the bus starts may get calls before it knows that it owns its name.
    @Test(arguments: PrivateBus.Kind.allCases, [true, false])
    func callsWaitForAHandler(_ kind: PrivateBus.Kind, _ queuesCalls: Bool) async throws {
        let fixture = try await Fixture(kind)
        fixture.service.methodHandler = nil
        fixture.service.queuesCalls = queuesCalls
        let answers = EventLog<String>()
        fixture.client.call(fixture.message()) { result in
            switch result {
            case .success: answers.add("handled")
            case .failure(let error): answers.add(error.name)
            }
        }
        _ = try fixture.client.requestName("org.example.Client")
        // The call precedes these replies, and would be handled in the turn after the first one.
        for _ in 0..<3 { _ = try await fixture.service.call(.busCall("GetId")) }
        fixture.service.methodHandler = { fixture.service.reply(to: $0) }
        #expect(try await answers.wait(for: 1) == [queuesCalls ? "handled" : BusError.Name.unknownMethod])
        await fixture.end()
    }

    /// The waiting calls of one caller are bounded; those of others are not refused.
    @Test(arguments: PrivateBus.Kind.allCases)
    func tooManyCallsAreRefused(_ kind: PrivateBus.Kind) async throws {
        let fixture = try await Fixture(kind)
        let calls = EventLog<Bool>()
        fixture.service.methodHandler = { _ in calls.add(true) }
        fixture.service.floodHandler = { _ in calls.add(false) }
        let message = Message.call(
            destination: fixture.service.uniqueName, path: Fixture.path, interface: Fixture.interface, member: "Any",
            noReply: true)
        let limit = Scheduler.maximumWeight / Scheduler.overhead
        let count = 4 * limit
        for _ in 0..<count { fixture.client.send(message) }
        fixture.client.flush()
        // The bus has received all calls when it replies to the client. Its reply to the service comes after them, and
        // nothing is served while the service waits for it.
        _ = try fixture.client.requestName("org.example.Client")
        _ = try fixture.service.requestName("org.example.Service")
        let handled = try await calls.wait(for: count).count { $0 }
        #expect(handled >= limit && handled < count)
        let answer = try? await fixture.client.call(.busCall("GetId"))
        #expect(answer != nil)
        await fixture.end()
    }
}
