// A hostile bus: bytes that are not a valid message must end the connection, never the process.

import DBus
import Dispatch
import Glibc
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct MalformedTests {
    /// What a peer could send after Hello: random bytes, truncated headers, wrong lengths, wrong types.
    nonisolated static let attacks: [[UInt8]] = [
        [UInt8](repeating: 0, count: 64),
        [UInt8](repeating: 0xff, count: 64),
        Array("GET / HTTP/1.1\r\nHost: bus\r\n\r\n".utf8),
        FakeBus.signal(body: [0xff, 0xff, 0xff, 0x7f], signature: "s"),
        FakeBus.signal(body: [1, 0, 0, 0, 0xc3, 0], signature: "s"),
        FakeBus.signal(body: [2, 0, 0, 0], signature: "b"),
        FakeBus.signal(body: [3, 0, 0, 0, 0x61, 0x62, 0x63, 0], signature: "o"),
        FakeBus.signal(body: [1, 0x61, 0], signature: "v"),
        FakeBus.signal(body: [], signature: "a"),
        FakeBus.signal(body: [0xff, 0xff, 0xff, 0xff], signature: "a{sv}"),
    ]

    /// A valid signal follows, which a connection that stays open would deliver.
    @Test(arguments: attacks.indices)
    func malformedBytesEndTheConnection(_ index: Int) async throws {
        let truth = FakeBus.signal(body: [1, 0, 0, 0, 0x61, 0], signature: "s")
        let bus = try FakeBus(then: MalformedTests.attacks[index] + truth)
        let connection = try Connection.open(.address(bus.address))
        let events = EventLog<String>()
        connection.onSignal(addMatch: false) { _ in events.add("signal") }
        connection.onDisconnect { events.add("gone") }
        #expect(try await events.wait(for: 1) == ["gone"])
    }

    /// libdbus passes on a signal that refers to a descriptor that was not sent; the signal is dropped.
    @Test func signalsWithMissingDescriptorsAreDropped() async throws {
        let truth = FakeBus.signal(body: [1, 0, 0, 0, 0x61, 0], signature: "s")
        let bus = try FakeBus(then: FakeBus.signal(body: [0, 0, 0, 0], signature: "h") + truth)
        let connection = try Connection.open(.address(bus.address))
        let events = EventLog<String>()
        connection.onSignal(addMatch: false) { events.add($0.signature) }
        #expect(try await events.wait(for: 1) == ["s"])
        connection.close()
    }

    /// Confirms that the tests above succeed only because the bytes are malformed.
    @Test func validSignalsAreDelivered() async throws {
        let bus = try FakeBus(then: FakeBus.signal(body: [1, 0, 0, 0, 0x61, 0], signature: "s"))
        let connection = try Connection.open(.address(bus.address))
        let events = EventLog<[Value]>()
        connection.onSignal(addMatch: false) { events.add($0.body) }
        #expect(try await events.wait(for: 1) == [[.string("a")]])
        connection.close()
    }
}

/// Lets one client authenticate and send Hello, sends it some bytes, and closes when the client does.
final class FakeBus: Sendable {
    let address: String
    private let folder: TemporaryFolder

    init(then bytes: [UInt8]) throws {
        folder = try TemporaryFolder()
        let path = folder.file("bus")
        address = "unix:path=\(path)"
        let listener = try UnixSocket.bind(path, SOCK_STREAM)
        guard listen(listener.raw, 1) == 0 else { throw TestKitError("cannot listen at \(path)") }
        DispatchQueue(label: "fake bus").async {
            try? FakeBus.serve(accept(listener.raw, nil, nil), bytes)
        }
    }

    private static func serve(_ descriptor: Int32, _ bytes: [UInt8]) throws {
        let client = try RawBusClient(accepted: descriptor)
        var reply = RawMessage(.methodReturn, to: ":1.1")
        reply.replySerial = try client.receive().serial
        reply.furtherFields = [(7, "org.freedesktop.DBus")]
        (reply.signature, reply.body) = ("s", RawMessage.string(":1.1"))
        try client.send(reply)
        try client.write(bytes)
        while true { _ = try client.receive() }
    }

    static func signal(body: [UInt8], signature: String) -> [UInt8] {
        var signal = RawMessage(.signal)
        (signal.path, signal.interface, signal.member) = ("/a", "a.b", "C")
        signal.furtherFields = [(7, ":1.9")]
        (signal.signature, signal.body) = (signature, body)
        return signal.bytes
    }
}
