// Received messages over the limits: large messages, unwanted descriptors, long paths and error texts.

import DBus
import Glibc
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct ReceivingTests {
    /// More bytes than the connection receives before it pauses reading.
    private nonisolated static let large = 17 << 20

    private func message(_ fixture: Fixture, _ member: String, signature: String = "", body: [UInt8] = []) -> RawMessage
    {
        .call(
            fixture.service.uniqueName, Fixture.path, Fixture.interface, member, signature: signature, body: body)
    }

    /// Sends all messages in one go. Returns "done" or the error name for each, in the order of the calls.
    private nonisolated func answers(
        _ bus: String, _ messages: [RawMessage], descriptors: [Int32] = []
    ) async throws -> [String] {
        try await RawBusClient.offLoop {
            let client = try RawBusClient(bus)
            let serials = try messages.map { try client.send($0, descriptors: descriptors) }
            var answers: [UInt32: String] = [:]
            while answers.count < serials.count {
                let answer = try client.receive()
                guard let serial = answer.replySerial, serials.contains(serial) else { continue }
                answers[serial] = answer.errorName ?? "done"
            }
            return serials.map { answers[$0] ?? "" }
        }
    }

    /// libdbus keeps data that it has read beyond the limit, and does not report when it can continue.
    @Test(arguments: buses)
    func callsBehindALargeOneAreServed(_ kind: PrivateBus.Kind) async throws {
        let fixture = try await Fixture(kind)
        fixture.echo()
        let large = message(
            fixture, "Large", signature: "ay", body: RawMessage.zeros(ReceivingTests.large))
        let small = message(fixture, "Small")
        let answers = try await answers(fixture.bus.address, [large, small, small])
        #expect(answers == [BusError.Name.limitsExceeded, "done", "done"])
        await fixture.end()
    }

    /// The kernel and dbus-broker pass up to 253 descriptors with a message; libdbus expects 16.
    /// dbus-daemon accepts 16 by default.
    @Test(arguments: [(PrivateBus.Kind.daemon, 1), (.daemon, 16), (.broker, 1), (.broker, 16), (.broker, 253)])
    func unwantedDescriptorsAreRefused(_ kind: PrivateBus.Kind, _ count: Int) async throws {
        let fixture = try await Fixture(kind)
        fixture.echo()
        fixture.service.takesDescriptors = { _ in false }
        let file = UnixFD(owning: open("/dev/null", O_RDONLY))
        let answers = try await answers(
            fixture.bus.address, [message(fixture, "A"), message(fixture, "B")],
            descriptors: [Int32](repeating: file.raw, count: count))
        #expect(answers == [BusError.Name.invalidArgs, BusError.Name.invalidArgs])
        #expect(fixture.service.isConnected)
        #expect(try await fixture.call("Echo", [.bool(true)]) == [.bool(true)])
        await fixture.end()
    }

    @Test(arguments: buses)
    func signalsWithDescriptorsAreDropped(_ kind: PrivateBus.Kind) async throws {
        let fixture = try await Fixture(kind)
        let heard = EventLog<String>()
        fixture.client.onSignal(member: "Changed", addMatch: false) { heard.add($0.signature) }
        let client = fixture.client.uniqueName
        let address = fixture.bus.address
        try await RawBusClient.offLoop {
            let sender = try RawBusClient(address)
            var signal = RawMessage(.signal, to: client)
            (signal.path, signal.interface, signal.member) = ("/a", "org.example.A", "Changed")
            signal.signature = "h"
            signal.body = RawMessage.number(0)
            let file = UnixFD(owning: open("/dev/null", O_RDONLY))
            try sender.send(signal, descriptors: [file.raw])
            (signal.signature, signal.body) = ("", [])
            try sender.send(signal)
            try sender.settle()
        }
        #expect(try await heard.wait(for: 1) == [""])
        await fixture.end()
    }

    @Test(arguments: buses)
    func overlongPathsAreRefusedWithAShortError(_ kind: PrivateBus.Kind) async throws {
        let fixture = try await Fixture(kind)
        fixture.echo()
        var call = message(fixture, "A")
        call.path = "/" + String(repeating: "a", count: 1 << 20)
        let request = call
        let address = fixture.bus.address
        let answer = try await RawBusClient.offLoop { try RawBusClient(address).call(request) }
        #expect(answer.errorName == BusError.Name.limitsExceeded)
        #expect(answer.body.count < 1024)
        await fixture.end()
    }

    /// Error texts end up in logs.
    @Test func longErrorTextsAreDropped() async throws {
        let fixture = try await Fixture()
        fixture.service.methodHandler = { [service = fixture.service] in
            service.reply(to: $0, error: "org.example.Sad", [.string(String(repeating: "a", count: 1 << 20))])
        }
        let error = await failure { () throws(BusError) in _ = try await fixture.call() }
        #expect(error?.name == "org.example.Sad" && error?.message.isEmpty == true)
        await fixture.end()
    }
}
