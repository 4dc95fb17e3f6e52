// A service behind a relay is on its bus as if the relay were not there.

import CDBus
import Glibc
import PermissionTestKit
import TestSupport
import Testing

@testable import DBus

/// A relay that passes on everything, on a bus of its own.
@LoopActor
private final class Relay {
    static let service = "org.example.Service"
    let bus: PrivateBus
    let folder: TemporaryFolder
    let passed = EventLog<String>()
    let ends = EventLog<String>()
    private var server: RelayServer?

    init(user: UInt32 = getuid()) async throws {
        bus = try await PrivateBus()
        folder = try TemporaryFolder()
        server = try RelayServer(address, user: user) { [unowned self] in accept($0) }
    }

    var address: String { "unix:path=\(folder.path)/relay" }

    private func accept(_ service: RelayPeer) {
        guard let toBus = try? RelayPeer(to: .address(bus.address)) else { return service.close() }
        for (from, to, name) in [(service, toBus, "service"), (toBus, service, "bus")] {
            from.other = to
            from.onMessage = { [passed] message in
                passed.add("\(name) \(message.header.member ?? "reply")")
                to.send(message)
            }
            from.onClose = { [ends] in
                ends.add(name)
                to.close()
            }
        }
    }

    /// A service with Echo, Open and Emit that has connected to the relay.
    func connectService() async throws -> (Connection, ObjectServer) {
        // It waits for the reply to Hello, so not on the loop, which runs the relay.
        let connection = try await withCheckedThrowingContinuation { continuation in
            Connection.open(.address(address)) { continuation.resume(with: $0) }
        }
        let server = ObjectServer(connection: connection) { call, text in
            call.fail(name: BusError.Name.invalidArgs, body: [.string(text)])
        }
        server.add(
            Interface(
                name: Relay.service,
                methods: [
                    Method(name: "Echo", inputs: ["text": "s"], outputs: ["text": "s"]) { $0.reply($0.arguments) },
                    Method(name: "Sender", inputs: [:], outputs: ["name": "s"]) { $0.reply([.string($0.sender)]) },
                    Method(name: "Same", inputs: ["descriptor": "h"], outputs: ["descriptor": "h"]) {
                        $0.reply($0.arguments)
                    },
                ]), at: "/")
        let isOwner = await withCheckedContinuation { continuation in
            connection.requestName(Relay.service) { continuation.resume(returning: (try? $0.get()) == true) }
        }
        try #require(isOwner)
        return (connection, server)
    }

    func call(_ member: String, _ body: [Value] = [], on client: Connection) async throws -> [Value] {
        try await client.reply(
            to: .call(destination: Relay.service, path: "/", interface: Relay.service, member: member, body))
    }
}

extension Connection {
    fileprivate func reply(to message: Message) async throws -> [Value] {
        try await withCheckedThrowingContinuation { continuation in
            call(message) { continuation.resume(with: $0.map(\.body)) }
        }
    }
}

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct RelayTests {
    @Test func callsRepliesAndDescriptorsPass() async throws {
        let relay = try await Relay()
        let service = try await relay.connectService()
        defer { withExtendedLifetime(service) {} }
        let client = try relay.bus.connect()
        #expect(try await relay.call("Echo", [.string("ü")], on: client) == [.string("ü")])
        #expect(try await relay.call("Sender", on: client) == [.string(client.uniqueName)])
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let sent = UnixFD(owning: ends[0])
        close(ends[1])
        let returned = try await relay.call("Same", [.unixFD(sent)], on: client)[0].unixFDValue
        var (mine, theirs) = (stat(), stat())
        let descriptor = try #require(returned).raw
        #expect(fstat(sent.raw, &mine) == 0 && fstat(descriptor, &theirs) == 0)
        #expect(mine.st_ino == theirs.st_ino)
    }

    /// More than the relay reads ahead, both ways, in the order sent.
    @Test func muchIsPassedInOrder() async throws {
        let relay = try await Relay()
        let service = try await relay.connectService()
        defer { withExtendedLifetime(service) {} }
        let client = try relay.bus.connect()
        let replies = EventLog<String>()
        let padding = String(repeating: "x", count: 200_000)
        for number in 0..<100 {
            client.call(
                .call(
                    destination: Relay.service, path: "/", interface: Relay.service, member: "Echo",
                    [.string("\(number) \(padding)")])
            ) { replies.add(String((try? $0.get().body.first?.stringValue)?.prefix { $0 != " " } ?? "failed")) }
        }
        try await replies.first("the last reply") { $0 == "99" }
        #expect(replies.all == (0..<100).map(String.init))
    }

    /// libdbus would answer these calls, and signals of that interface, itself.
    @Test func callsOfPeerAndSignalsPass() async throws {
        let relay = try await Relay()
        let (connection, _) = try await relay.connectService()
        let client = try relay.bus.connect()
        let heard = EventLog<String>()
        client.onSignal(sender: Relay.service, interface: Relay.service, member: "Happened") {
            heard.add($0.body.first?.stringValue ?? "")
        }
        _ = try await client.reply(to: .busCall("GetId"))
        _ = try await client.reply(
            to: .call(destination: Relay.service, path: "/", interface: StandardInterfaces.peer, member: "Ping"))
        #expect(relay.passed.all.contains("bus Ping"))
        connection.send(.signal(path: "/", interface: Relay.service, member: "Happened", [.string("it")]))
        try await heard.first("the signal") { $0 == "it" }
    }

    @Test func whoLeavesIsGoneOnTheOtherSide() async throws {
        let relay = try await Relay()
        let (connection, _) = try await relay.connectService()
        let client = try relay.bus.connect()
        let owners = EventLog<String?>()
        client.onOwnerChange(of: Relay.service) { owners.add($0) }
        _ = try await client.reply(to: .busCall("GetId"))
        connection.close()
        try await owners.first("the end of the name") { $0 == nil }
        try await relay.ends.first("the end of the service") { $0 == "service" }

        let (second, _) = try await relay.connectService()
        let lost = EventLog<String>()
        second.onDisconnect { lost.add("lost") }
        await relay.bus.end()
        try await lost.first("the loss of the bus") { _ in true }
        #expect(relay.ends.all == ["service", "bus"])
    }

    @Test func anotherUserMayNotConnect() async throws {
        let relay = try await Relay(user: getuid() + 1)
        await #expect(throws: BusError.self) { try await relay.connectService() }
        #expect(relay.passed.all == [])
    }

    @Test func repliesAreCopiedWithOtherContent() throws {
        var call = Message(kind: .methodCall)
        (call.sender, call.serial) = (":1.5", 7)
        var reply = Message.answer(to: call, .methodReturn)
        reply.body = [.string("all"), .uint32(5)]
        let raw = try reply.encoded()
        defer { dbus_message_unref(raw) }
        dbus_message_set_serial(raw, 99)
        let message = RelayMessage(raw)
        #expect(message.firstText == "all" && message.body == reply.body && !message.hasDescriptors)
        #expect(message.fits(100) && !message.fits(20))
        let copy = try #require(message.copy(body: [.string("some")]))
        #expect(copy.header.serial == 99 && copy.header.replySerial == 7 && copy.header.destination == ":1.5")
        #expect(copy.body == [.string("some")])
        #expect(message.copy(to: ":1.6")?.header.destination == ":1.6")
    }
}
