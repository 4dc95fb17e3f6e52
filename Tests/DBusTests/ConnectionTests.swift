// A connection to a real bus: names, calls, disconnection, and limits.

import DBus
import Glibc
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct ConnectionTests {
    @Test func withoutABusOpeningFails() async throws {
        for address in ["unix:path=/nonexistent/bus", "nonsense", "", "unix:path=/a\0b"] {
            let error = await failure { () throws(BusError) in _ = try Connection.open(.address(address)) }
            #expect(error?.name == BusError.Name.noServer, "\(address)")
        }
    }

    @Test(arguments: buses)
    func aNameHasOneOwner(_ kind: PrivateBus.Kind) async throws {
        let fixture = try await Fixture(kind)
        #expect(try fixture.service.requestName("org.example.Echo"))
        #expect(try fixture.service.requestName("org.example.Echo"))
        #expect(try !fixture.client.requestName("org.example.Echo"))
        fixture.service.releaseName("org.example.Echo")
        fixture.service.flush()
        try await fixture.settle()
        #expect(try fixture.client.requestName("org.example.Echo"))
        for name in ["", "no name", ":1.1"] {
            #expect(throws: BusError.self) { try fixture.client.requestName(name) }
        }
        await fixture.end()
    }

    @Test(arguments: buses)
    func errorsKeepTheirArguments(_ kind: PrivateBus.Kind) async throws {
        let fixture = try await Fixture(kind)
        fixture.service.methodHandler = {
            fixture.service.reply(to: $0, error: "org.example.Error.Sad", [.string("why"), .bool(true)])
        }
        let error = await failure { () throws(BusError) in _ = try await fixture.call() }
        #expect(error?.name == "org.example.Error.Sad")
        #expect(error?.message == "why")
        #expect(error?.body == [.string("why"), .bool(true)])
        await fixture.end()
    }

    @Test func callsWithoutAHandlerGetAnError() async throws {
        let fixture = try await Fixture()
        let error = await failure { () throws(BusError) in _ = try await fixture.call() }
        #expect(error?.name == BusError.Name.unknownMethod)
        await fixture.end()
    }

    @Test func callsTimeOut() async throws {
        let fixture = try await Fixture()
        fixture.service.methodHandler = { _ in }
        let error = await failure { () throws(BusError) in
            _ = try await fixture.client.call(fixture.message(), timeoutMilliseconds: 10)
        }
        #expect(error?.name == BusError.Name.noReply)
        await fixture.end()
    }

    @Test func cancelledTaskGivesUpItsCall() async throws {
        let fixture = try await Fixture()
        let calls = EventLog<Message>()
        fixture.service.methodHandler = { calls.add($0) }
        let task = Task { try await fixture.client.call(fixture.message(), timeoutMilliseconds: nil) }
        let call = try await calls.wait(for: 1)[0]
        task.cancel()
        await #expect(throws: BusError.self) { try await task.value }
        // A reply that still arrives is ignored.
        fixture.service.reply(to: call, [])
        try await fixture.settle()
        await fixture.end()
    }

    @Test func cancelledPendingCallIsSilent() async throws {
        let fixture = try await Fixture()
        fixture.echo()
        var isCalled = false
        fixture.client.call(fixture.message()) { _ in isCalled = true }.cancel()
        try await fixture.settle()
        #expect(!isCalled)
        await fixture.end()
    }

    @Test func callsWithoutReplyAreNotAnswered() async throws {
        let fixture = try await Fixture()
        let calls = EventLog<Message>()
        fixture.service.methodHandler = {
            fixture.service.reply(to: $0, [])
            calls.add($0)
        }
        fixture.client.send(
            .call(
                destination: fixture.service.uniqueName, path: "/", interface: "org.example.A", member: "B",
                noReply: true))
        #expect(try await calls.wait(for: 1)[0].expectsReply == false)
        await fixture.end()
    }

    @Test(arguments: buses)
    func theEndOfTheBusIsReportedOnce(_ kind: PrivateBus.Kind) async throws {
        let fixture = try await Fixture(kind)
        fixture.service.methodHandler = { _ in }
        let events = EventLog<String>()
        fixture.client.onDisconnect { events.add("gone") }
        fixture.client.call(fixture.message(), timeoutMilliseconds: nil) { result in
            if case .failure(let error) = result { events.add(error.name) }
        }
        await fixture.bus.end()
        #expect(try await events.wait(for: 2) == [BusError.Name.disconnected, "gone"])
        #expect(!fixture.client.isConnected)
        let error = await failure { () throws(BusError) in _ = try await fixture.call() }
        #expect(error?.name == BusError.Name.disconnected)
        #expect(throws: BusError.self) { try fixture.client.requestName("org.example.Late") }
        fixture.client.onDisconnect { events.add("late") }
        #expect(try await events.wait(for: 3).last == "late")
        fixture.client.close()
        fixture.client.flush()
    }

    @Test func closingInAHandlerIsSafe() async throws {
        let fixture = try await Fixture()
        let events = EventLog<String>()
        fixture.service.onDisconnect { events.add("called after a local close") }
        fixture.service.methodHandler = { message in
            fixture.service.close()
            fixture.service.reply(to: message, [])
        }
        let error = await failure { () throws(BusError) in _ = try await fixture.call() }
        #expect(error?.name == BusError.Name.noReply)
        #expect(events.all.isEmpty)
        await fixture.end()
    }

    /// While a thread waits for a bus that does not answer, the loop can connect to another one.
    @Test func aSilentBusHoldsUpNoOtherConnection() async throws {
        let silent = try SilentBus(.silent)
        let opened = EventLog<Bool>()
        Connection.open(.address(silent.address)) { opened.add((try? $0.get()) != nil) }
        try await silent.waitForClient()
        let bus = try await PrivateBus()
        let connection = try bus.connect()
        #expect(connection.uniqueName.hasPrefix(":") && opened.all.isEmpty)
        connection.close()
        try silent.give(to: bus.address)
        try await opened.wait(for: 1)
        await bus.end()
    }

    /// The libdbus connection is released a turn after it was closed; nothing of it may be used then.
    @Test func aClosedConnectionHasNoSocket() async throws {
        let bus = try await PrivateBus(.daemon)
        var closed: [Connection] = []
        for _ in 0..<50 { closed.append(try Connection.open(.address(bus.address))) }
        #expect(closed.allSatisfy { $0.socket >= 0 })
        for connection in closed { connection.close() }
        #expect(closed.allSatisfy { $0.socket == -1 })
        await withCheckedContinuation { turn in Loop.shared.later { Loop.shared.later { turn.resume() } } }
        #expect(closed.allSatisfy { $0.socket == -1 })
        await bus.end()
    }

    @Test func tooMuchContentIsRefused() async throws {
        let fixture = try await Fixture()
        fixture.service.methodHandler = { [service = fixture.service] in
            service.reply(to: $0, [.uint32(UInt32($0.body.first?.stringValue?.utf8.count ?? 0))])
        }
        let fits = try await fixture.call("Echo", [.string(String(repeating: "x", count: 1 << 20))])
        #expect(fits == [.uint32(1 << 20)])
        let flood: [Value] = [
            .string(String(repeating: "x", count: 5 << 20)),
            .array(of: "y", [Value](repeating: .byte(0), count: 1 << 20)),
        ]
        for value in flood {
            let error = await failure { () throws(BusError) in _ = try await fixture.call("Echo", [value]) }
            #expect(error?.name == BusError.Name.limitsExceeded)
        }
        await fixture.end()
    }

    /// The longest reply in the contract is the whole history.
    @Test func repliesMayBeLong() async throws {
        let fixture = try await Fixture()
        let row: [String: Value] = [
            "time": .uint64(1), "request": .string("/org/permd/request/1_1234/token_of_some_length"),
            "app": .string("exe:/usr/lib/some/program/with/a/path"), "permission": .string("microphone"),
            "outcome": .string("granted"), "by": .string("administrator"),
        ]
        let rows = Value.rows([[String: Value]](repeating: row, count: 10_000))
        fixture.service.methodHandler = { [service = fixture.service] in service.reply(to: $0, [rows]) }
        #expect(try await fixture.call().first?.rows?.count == 10_000)
        await fixture.end()
    }

    @Test func messagesWithInvalidHeadersAreNotSent() async throws {
        let fixture = try await Fixture()
        let calls: [Message] = [
            .call(destination: "no name", path: "/", interface: "a.b", member: "C"),
            .call(destination: "org.example", path: "x", interface: "a.b", member: "C"),
            .call(destination: "org.example", path: "/", interface: "ab", member: "C"),
            .call(destination: "org.example", path: "/", interface: "a.b", member: "C.D"),
            .call(destination: "org.example", path: "/\0", interface: "a.b", member: "C"),
            .call(destination: "org.example", path: "/", interface: "org.freedesktop.DBus.Local", member: "C"),
            .call(destination: "org.example", path: "/org/freedesktop/DBus/Local", interface: "a.b", member: "C"),
        ]
        for call in calls {
            let error = await failure { () throws(BusError) in _ = try await fixture.client.call(call) }
            #expect(error?.name == BusError.Name.invalidArgs)
        }
        fixture.client.send(.signal(path: "/", interface: "nonsense", member: "S"))
        fixture.echo()
        #expect(try await fixture.call().isEmpty)
        await fixture.end()
    }

    @Test func manyCallsDoNotStarveTimers() async throws {
        let fixture = try await Fixture()
        fixture.echo()
        let done = EventLog<Int>()
        for number in 0..<2_000 { fixture.client.call(fixture.message()) { _ in done.add(number) } }
        await withCheckedContinuation { continuation in Loop.shared.after(milliseconds: 0) { continuation.resume() } }
        #expect(try await done.wait(for: 2_000) == Array(0..<2_000))
        await fixture.end()
    }
}
