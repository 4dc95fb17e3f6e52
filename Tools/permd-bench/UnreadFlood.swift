// A client that makes calls as fast as the bus accepts them and never reads replies.

import CDBus
import Dispatch
import Glibc
import Synchronization

/// Floods from its own thread until `stop`. It writes to the socket directly, because libdbus would buffer what the bus
/// does not accept yet, and would read replies.
final class UnreadFlood: Sendable {
    /// Bytes written at once.
    private static let chunk = 64 << 10

    private let isOver = Atomic<Bool>(false)
    private let ended = DispatchSemaphore(value: 0)

    /// - Parameter address: An address of the form `unix:path=…`.
    init(_ address: String, _ message: () -> BenchMessage) throws {
        let socket = try UnreadFlood.connect(address)
        let hello = BenchMessage.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello")
        guard UnreadFlood.write(hello.bytes(serial: 1), to: socket) else {
            close(socket)
            throw BenchFailure("the bus refused the flooding client")
        }
        var calls: [UInt8] = []
        var serial: UInt32 = 2
        while calls.count < UnreadFlood.chunk {
            calls += message().bytes(serial: serial)
            serial += 1
        }
        DispatchQueue.global().async { [self, calls] in
            while UnreadFlood.write(calls, to: socket, while: { !isOver.load(ordering: .relaxed) }) {}
            close(socket)
            ended.signal()
        }
    }

    func stop() {
        isOver.store(true, ordering: .relaxed)
        ended.wait()
    }

    private static func connect(_ address: String) throws -> Int32 {
        let path = address.split(separator: ",")[0].dropFirst("unix:path=".count)
        let socket = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        // A short timeout, so that the thread notices `stop` soon.
        var timeout = timeval(tv_sec: 0, tv_usec: 100_000)
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        let isConnected = withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        let identity = "\(geteuid())".utf8.map { String($0, radix: 16) }.joined()
        var answer = [UInt8](repeating: 0, count: 256)
        guard isConnected, write(Array("\0AUTH EXTERNAL \(identity)\r\n".utf8), to: socket),
            recv(socket, &answer, answer.count, 0) > 0, write(Array("BEGIN\r\n".utf8), to: socket)
        else {
            close(socket)
            throw BenchFailure("there is no bus at \(address)")
        }
        return socket
    }

    /// Returns false if the bus has closed the connection or `goesOn` returns false.
    private static func write(_ bytes: [UInt8], to socket: Int32, while goesOn: () -> Bool = { true }) -> Bool {
        var sent = 0
        while sent < bytes.count {
            guard goesOn() else { return false }
            let count = bytes.withUnsafeBytes {
                send(socket, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno != EAGAIN { return false }
            sent += max(0, count)
        }
        return true
    }
}

extension BenchMessage {
    /// The encoded message (`dbus_message_marshal`).
    func bytes(serial: UInt32) -> [UInt8] {
        var data: UnsafeMutablePointer<CChar>?
        var length: Int32 = 0
        dbus_message_set_serial(raw, serial)
        guard dbus_message_marshal(raw, &data, &length) != 0, let data else {
            preconditionFailure("out of memory encoding a message")
        }
        defer { dbus_free(data) }
        return UnsafeRawBufferPointer(start: data, count: Int(length)).map { $0 }
    }
}
