// Replies from peers that were not called. Serials are easy to guess, and dbus-daemon's session bus forwards any reply.

import DBus
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct ForgedReplyTests {
    private static let name = "org.example.Echo"

    /// Sends replies to whatever `victim` calls next; all have reached its socket when this returns.
    private func forge(_ forger: RawBusClient, to victim: Connection, asErrors: Bool = false) throws {
        for serial in 1...UInt32(64) {
            var reply = RawMessage(asErrors ? .error : .methodReturn, to: victim.uniqueName)
            reply.replySerial = serial
            if asErrors { reply.errorName = BusError.Name.failed }
            (reply.signature, reply.body) = ("s", RawMessage.string("forged"))
            try forger.send(reply)
        }
        try forger.settle()
    }

    @Test(arguments: buses, [false, true])
    func onlyTheBusAnswersCallsToTheBus(_ kind: PrivateBus.Kind, _ asErrors: Bool) async throws {
        let fixture = try await Fixture(kind)
        let forger = try RawBusClient(fixture.bus.address)
        try forge(forger, to: fixture.client, asErrors: asErrors)
        let reply = try await fixture.client.call(.busCall("GetNameOwner", [.string(fixture.service.uniqueName)]))
        #expect(reply.body == [.string(fixture.service.uniqueName)])
        await fixture.end()
    }

    @Test(arguments: buses, [false, true])
    func onlyTheBusGrantsAName(_ kind: PrivateBus.Kind, _ asErrors: Bool) async throws {
        let fixture = try await Fixture(kind)
        let forger = try RawBusClient(fixture.bus.address)
        for serial in 1...UInt32(64) {
            var reply = RawMessage(asErrors ? .error : .methodReturn, to: fixture.client.uniqueName)
            reply.replySerial = serial
            if asErrors { reply.errorName = BusError.Name.failed }
            // 1 is DBUS_REQUEST_NAME_REPLY_PRIMARY_OWNER, 3 DBUS_REQUEST_NAME_REPLY_EXISTS.
            (reply.signature, reply.body) = ("u", RawMessage.number(3))
            try forger.send(reply)
        }
        try forger.settle()
        #expect(try fixture.client.requestName(ForgedReplyTests.name))
        await fixture.end()
    }

    @Test(arguments: buses, [false, true])
    func onlyTheCalledConnectionAnswers(_ kind: PrivateBus.Kind, _ asErrors: Bool) async throws {
        try await onlyTheCalledAnswers(kind, asErrors) { $0.uniqueName }
    }

    @Test(arguments: buses, [false, true])
    func onlyTheOwnerOfTheCalledNameAnswers(_ kind: PrivateBus.Kind, _ asErrors: Bool) async throws {
        try await onlyTheCalledAnswers(kind, asErrors) {
            _ = try $0.requestName(ForgedReplyTests.name)
            return ForgedReplyTests.name
        }
    }

    private func onlyTheCalledAnswers(
        _ kind: PrivateBus.Kind, _ asErrors: Bool, destination: (Connection) throws -> String
    ) async throws {
        let fixture = try await Fixture(kind)
        let forger = try RawBusClient(fixture.bus.address)
        let destination = try destination(fixture.service)
        let calls = EventLog<Message>()
        fixture.service.methodHandler = { calls.add($0) }
        let results = EventLog<Result<Message, BusError>>()
        fixture.client.call(
            .call(destination: destination, path: "/", interface: "org.example.A", member: "B")
        ) { results.add($0) }
        let call = try await calls.wait(for: 1)[0]
        try forge(forger, to: fixture.client, asErrors: asErrors)
        fixture.service.reply(to: call, [.string("true")])
        #expect(try await results.wait(for: 1)[0].get().body == [.string("true")])
        await fixture.end()
    }

    /// The connection that received the call may answer it even if the name has a new owner by then.
    @Test(arguments: buses)
    func aFormerOwnerAnswersCallsItReceived(_ kind: PrivateBus.Kind) async throws {
        let fixture = try await Fixture(kind)
        let heir = try fixture.bus.connect()
        #expect(try fixture.service.requestName(ForgedReplyTests.name))
        let calls = EventLog<Message>()
        fixture.service.methodHandler = { calls.add($0) }
        let results = EventLog<Result<Message, BusError>>()
        let message = Message.call(
            destination: ForgedReplyTests.name, path: "/", interface: "org.example.A", member: "B")
        fixture.client.call(message) { results.add($0) }
        let call = try await calls.wait(for: 1)[0]
        let owners = EventLog<String>()
        fixture.client.onSignal(
            sender: Message.busName, member: "NameOwnerChanged", firstArgument: ForgedReplyTests.name
        ) { owners.add($0.body[2].stringValue ?? "") }
        _ = try await fixture.client.call(.busCall("GetId"))
        fixture.service.releaseName(ForgedReplyTests.name)
        _ = try await fixture.service.call(.busCall("GetId"))
        #expect(try heir.requestName(ForgedReplyTests.name))
        #expect(try await owners.wait(for: 2) == ["", heir.uniqueName])
        fixture.service.reply(to: call, [.string("late")])
        #expect(try await results.wait(for: 1)[0].get().body == [.string("late")])
        // The next call goes to the new owner.
        heir.methodHandler = { heir.reply(to: $0, [.string("heir")]) }
        #expect(try await fixture.client.call(message).body == [.string("heir")])
        heir.close()
        await fixture.end()
    }

    /// No peer can imitate libdbus's own signal for a lost connection.
    @Test(arguments: buses)
    func aForgedDisconnectIsIgnored(_ kind: PrivateBus.Kind) async throws {
        let fixture = try await Fixture(kind)
        fixture.echo()
        let forger = try RawBusClient(fixture.bus.address)
        var signal = RawMessage(.signal, to: fixture.client.uniqueName)
        (signal.path, signal.interface, signal.member) = ("/a", "org.freedesktop.DBus.Local", "Disconnected")
        // Both buses disconnect the forger for this.
        _ = try? forger.send(signal)
        try? forger.settle()
        #expect(try await fixture.call("Echo", [.bool(true)]) == [.bool(true)])
        await fixture.end()
    }
}
