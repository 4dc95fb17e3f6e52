// Callers take turns: the order within a sender, among senders, and what a fast one costs another.

import PermissionTestKit
import Testing

@testable import DBus

@Suite(.timeLimit(.minutes(1)))
@LoopActor
struct CallTurnsTests {
    @Test func oneOfEachInTurn() {
        var turns = CallTurns<String>()
        for text in ["a1", "a2", "a3", "b1", "b2", "c1"] { turns.add(text, of: String(text.prefix(1))) }
        #expect(turns.count(of: "a") == 3)
        var order: [String] = []
        for _ in 0..<3 { order.append(turns.take()?.element ?? "") }
        // Whoever comes now is behind those who wait, but not behind all they want.
        turns.add("d1", of: "d")
        while let next = turns.take() { order.append(next.element) }
        #expect(order == ["a1", "b1", "c1", "a2", "b2", "d1", "a3"])
        #expect(turns.isEmpty)
        #expect(turns.count(of: "a") == 0)
    }

    /// While a busy caller steps back, the others keep their turns.
    @Test func longLinesMayBeLeftOut() {
        var turns = CallTurns<String>()
        for text in ["a1", "a2", "a3", "b1", "c1", "c2"] { turns.add(text, of: String(text.prefix(1))) }
        var order: [String] = []
        while let next = turns.take(ofLinesUpTo: 2) { order.append(next.element) }
        #expect(order == ["b1", "c1", "c2"])
        while let next = turns.take() { order.append(next.element) }
        #expect(order.suffix(3) == ["a1", "a2", "a3"])
        #expect(turns.isEmpty)
    }

    /// Every order within a sender survives, however long the lines grow and shrink.
    @Test func nothingIsLostInLongLines() {
        var turns = CallTurns<(sender: Int, number: Int)>()
        var added = [0, 0, 0]
        var taken = [0, 0, 0]
        for step in 0..<20_000 {
            if step % 7 < (step / 2000 % 2 == 0 ? 5 : 2) {
                let sender = step * step % 3
                turns.add((sender, added[sender]), of: "\(sender)")
                added[sender] += 1
            } else if let (sender, number) = turns.take()?.element {
                #expect(number == taken[sender])
                taken[sender] += 1
            }
        }
        while let (sender, number) = turns.take()?.element {
            #expect(number == taken[sender])
            taken[sender] += 1
        }
        #expect(taken == added)
    }

    /// Behind four hundred calls of one program, another's is not served last.
    @Test func aFastCallerLeavesOthersTheirTurn() async throws {
        let fixture = try await Fixture()
        let other = try fixture.bus.connect()
        var served = 0
        fixture.service.methodHandler = { call in
            if call.sender == fixture.client.uniqueName { served += 1 }
            fixture.service.reply(to: call)
        }
        // Asking the bus for a name waits for its answer: by then all calls before are at the service's door, in this
        // order, and none was read.
        for _ in 0..<400 { fixture.client.call(fixture.message()) { _ in } }
        _ = try fixture.client.requestName("org.example.Fast")
        var before: Int?
        other.call(fixture.message()) { _ in before = served }
        _ = try other.requestName("org.example.Other")
        #expect(served == 0)
        while before == nil { await Task.yield() }
        #expect(before! < 350)
        await fixture.end()
    }

    /// What waits for one sender is bounded, and nothing of another's is refused.
    @Test func tooManyAreRefused() async throws {
        let fixture = try await Fixture()
        var held: [Message] = []
        var refused = 0
        fixture.service.methodHandler = { held.append($0) }
        fixture.service.floodHandler = { _ in refused += 1 }
        let message = Message.call(
            destination: fixture.service.uniqueName, path: Fixture.path, interface: Fixture.interface, member: "Any",
            noReply: true)
        let count = 4 * Connection.maximumWaitingCalls
        for _ in 0..<count { fixture.client.send(message) }
        while held.count + refused < count { await Task.yield() }
        #expect(refused < count)
        #expect(held.count >= Connection.maximumWaitingCalls)
    }
}
