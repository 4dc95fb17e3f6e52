// A hostile bus: bytes that are not a valid message must end the connection, never the process.

import DBus
import Foundation
import PermissionTestKit
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
        let folder = try TemporaryFolder()
        self.folder = folder
        address = "unix:path=\(folder.file("bus"))"
        let listener = try UnixSocketListener(folder.file("bus"))
        Thread.detachNewThread {
            let client = accept(listener.fd.raw, nil, nil)
            FakeBus.serve(client, bytes)
            close(client)
        }
    }

    private static func serve(_ client: Int32, _ bytes: [UInt8]) {
        var received: [UInt8] = []
        func send(_ bytes: [UInt8]) { _ = Glibc.send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }
        func read() -> Bool {
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = Glibc.read(client, &buffer, buffer.count)
            if count > 0 { received += buffer[..<count] }
            return count > 0
        }
        while read() {
            let text = String(decoding: received, as: UTF8.self)
            if text.hasSuffix("\r\n"), text.contains("AUTH"), !text.contains("BEGIN") {
                let isAnsweredBefore = text.contains("NEGOTIATE_UNIX_FD")
                send(Array((isAnsweredBefore ? "AGREE_UNIX_FD\r\n" : "OK 0123456789abcdef0123456789abcdef\r\n").utf8))
            } else if text.contains("BEGIN"), text.contains("Hello") {
                break
            }
        }
        send(helloReply() + bytes)
        while read() {}
    }

    static func signal(body: [UInt8], signature: String) -> [UInt8] {
        message(
            type: 4, body: body,
            fields: [
                field(1, "o", "/a"), field(2, "s", "a.b"), field(3, "s", "C"), field(7, "s", ":1.9"),
                field(8, "g", signature),
            ])
    }

    private static func helloReply() -> [UInt8] {
        message(
            type: 2, body: text(":1.1"),
            fields: [[5, 1, 0x75, 0, 1, 0, 0, 0], field(7, "s", "org.freedesktop.DBus"), field(8, "g", "s")])
    }

    private static func message(type: UInt8, body: [UInt8], fields: [[UInt8]]) -> [UInt8] {
        var array: [UInt8] = []
        for field in fields { array = padded(array) + field }
        return padded([0x6c, type, 1, 1] + number(body.count) + number(7) + number(array.count) + array) + body
    }

    private static func field(_ code: UInt8, _ type: Character, _ value: String) -> [UInt8] {
        let content = type == "g" ? [UInt8(value.utf8.count)] + Array(value.utf8) + [0] : text(value)
        return [code, 1, type.asciiValue ?? 0, 0] + content
    }

    private static func text(_ text: String) -> [UInt8] { number(text.utf8.count) + Array(text.utf8) + [0] }

    private static func number(_ number: Int) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    private static func padded(_ bytes: [UInt8]) -> [UInt8] {
        bytes + [UInt8](repeating: 0, count: (8 - bytes.count % 8) % 8)
    }
}

private struct UnixSocketListener {
    let fd: UnixFD

    init(_ path: String) throws {
        fd = UnixFD(owning: socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let fd = fd.raw
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(fd, $0, size) }
        }
        guard result == 0, listen(fd, 1) == 0 else { throw TestKitError("cannot listen on \(path)") }
    }
}
