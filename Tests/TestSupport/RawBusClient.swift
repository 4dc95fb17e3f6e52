// A client that sends raw bytes to the bus, for messages that no library would send.

import DBus
import Dispatch
import Glibc
package import PermissionTestKit

/// An authenticated client with a unique name. What it does blocks until the bus answers, or fails after some time.
// SAFETY: used by one test at a time; the descriptor is constant.
package final class RawBusClient: @unchecked Sendable {
    private let fd: Int32
    private var received: [UInt8] = []
    private var buffer = [UInt8](repeating: 0, count: RawBusClient.chunk)
    private var lastSerial: UInt32 = 0
    package private(set) var uniqueName = ""

    /// - Parameters:
    ///   - address: An address of the form `unix:path=…`.
    ///   - seconds: How long it waits for the bus.
    package init(_ address: String, patience seconds: Int = RawBusClient.patience) throws(TestKitError) {
        fd = try UnixSocket.connect(String(address.dropFirst("unix:path=".count))).take()
        var patience = timeval(tv_sec: seconds, tv_usec: 0)
        let length = socklen_t(MemoryLayout<timeval>.size)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] { setsockopt(fd, SOL_SOCKET, option, &patience, length) }
        try logIn()
        let hello = try call(
            .call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello"))
        uniqueName = String(decoding: hello.body.dropFirst(4).dropLast(), as: UTF8.self)
    }

    /// The bus's end of an accepted connection, for a bus that a test plays. Waits until the client has authenticated.
    ///
    /// - Parameter descriptor: Closed with this object.
    package init(accepted descriptor: Int32) throws(TestKitError) {
        fd = descriptor
        try read(untilHaving: 1)
        received.removeFirst()
        while true {
            let line = try readLine()
            if line.hasPrefix("BEGIN") { return }
            let reply =
                if line.hasPrefix("AUTH EXTERNAL") {
                    "OK \(String(repeating: "0", count: 32))"
                } else {
                    line.hasPrefix("NEGOTIATE_UNIX_FD") ? "AGREE_UNIX_FD" : "REJECTED EXTERNAL"
                }
            try write(Array("\(reply)\r\n".utf8))
        }
    }

    deinit { close(fd) }

    /// Runs blocking code on a separate thread.
    package static func offLoop<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "raw client").async { continuation.resume(with: Swift.Result { try body() }) }
        }
    }

    /// In seconds, far longer than a loaded machine needs.
    package static let patience = 100
    /// The bytes that are read at once.
    private static let chunk = 64 << 10

    private func logIn() throws(TestKitError) {
        let user = "\(geteuid())".utf8.map { String($0, radix: 16) }.joined()
        try write(Array("\0AUTH EXTERNAL \(user)\r\n".utf8))
        try readLine()
        try write(Array("NEGOTIATE_UNIX_FD\r\n".utf8))
        try readLine()
        try write(Array("BEGIN\r\n".utf8))
    }

    // MARK: Messages

    /// Sends a message with a new serial and returns the serial. The caller keeps ownership of the descriptors.
    @discardableResult
    package func send(_ message: RawMessage, descriptors: [Int32] = []) throws(TestKitError) -> UInt32 {
        var message = message
        lastSerial += 1
        message.serial = lastSerial
        if !descriptors.isEmpty, message.descriptorCount == nil { message.descriptorCount = UInt32(descriptors.count) }
        try write(message.bytes, descriptors)
        return lastSerial
    }

    /// Sends a call and waits for its reply or error; other messages are dropped.
    package func call(_ message: RawMessage, descriptors: [Int32] = []) throws(TestKitError) -> RawMessage {
        try answer(to: try send(message, descriptors: descriptors))
    }

    /// Waits for the reply to the call with that serial, or its error; other messages are dropped.
    package func answer(to serial: UInt32) throws(TestKitError) -> RawMessage {
        while true {
            let answer = try receive()
            if answer.replySerial == serial { return answer }
        }
    }

    /// Returns when the bus has processed everything sent so far.
    package func settle() throws(TestKitError) {
        _ = try call(.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetId"))
    }

    /// Receives the next message. Only some header fields are parsed.
    package func receive() throws(TestKitError) -> RawMessage {
        try read(untilHaving: 16)
        let body = Int(number(at: 4))
        let fields = Int(number(at: 12))
        let start = (16 + fields + 7) / 8 * 8
        try read(untilHaving: start + body)
        var message = RawMessage(RawMessage.Kind(rawValue: received[1]) ?? .signal)
        message.serial = number(at: 8)
        readFields(upTo: 16 + fields, &message)
        message.body = Array(received[start..<start + body])
        received.removeFirst(start + body)
        return message
    }

    /// Drops what has arrived until now, which may end within a message: nothing can be received afterwards.
    package func discardReceived() {
        while recv(fd, &buffer, RawBusClient.chunk, Int32(MSG_DONTWAIT)) > 0 {}
    }

    private func readFields(upTo end: Int, _ message: inout RawMessage) {
        var place = 16
        while place + 8 <= end {
            let code = received[place]
            let type = received[place + 2]
            place += 4
            switch type {
            case UInt8(ascii: "u"):
                if code == 5 { message.replySerial = number(at: place) }
                place += 4
            case UInt8(ascii: "g"):
                let length = Int(received[place])
                message.signature = String(decoding: received[place + 1..<place + 1 + length], as: UTF8.self)
                place += length + 2
            default:
                let length = Int(number(at: place))
                let text = String(decoding: received[place + 4..<place + 4 + length], as: UTF8.self)
                if code == 3 { message.member = text }
                if code == 4 { message.errorName = text }
                place += length + 5
            }
            place = (place + 7) / 8 * 8
        }
    }

    private func number(at place: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(received[place + $1]) << ($1 * 8) }
    }

    // MARK: Bytes

    @discardableResult
    private func readLine() throws(TestKitError) -> String {
        while !received.contains(UInt8(ascii: "\n")) { try read(untilHaving: received.count + 1) }
        let end = received.firstIndex(of: UInt8(ascii: "\n")) ?? 0
        defer { received.removeSubrange(...end) }
        return String(decoding: received[..<end], as: UTF8.self)
    }

    private func read(untilHaving count: Int) throws(TestKitError) {
        while received.count < count {
            let got = Glibc.read(fd, &buffer, RawBusClient.chunk)
            guard got > 0 else { throw .system("the bus sends no more data", errno) }
            received += buffer[..<got]
        }
    }

    /// Writes all bytes; the descriptors are sent with the first one.
    package func write(_ bytes: [UInt8], _ descriptors: [Int32] = []) throws(TestKitError) {
        var rest = bytes[...]
        if !descriptors.isEmpty { rest = rest.dropFirst(try send(rest, with: descriptors)) }
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(fd, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw .system("the bus accepts no data", errno) }
            rest = rest.dropFirst(count)
        }
    }

    private func send(_ bytes: ArraySlice<UInt8>, with descriptors: [Int32]) throws(TestKitError) -> Int {
        // struct cmsghdr: length (size_t), level, type (int); then the descriptors, padded to a multiple of 8 bytes.
        let length = MemoryLayout<cmsghdr>.size + descriptors.count * 4
        var control = [UInt8](repeating: 0, count: (length + 7) / 8 * 8)
        control.withUnsafeMutableBytes { buffer in
            buffer.storeBytes(of: length, as: Int.self)
            buffer.storeBytes(of: SOL_SOCKET, toByteOffset: 8, as: Int32.self)
            buffer.storeBytes(of: Int32(SCM_RIGHTS), toByteOffset: 12, as: Int32.self)
            for (index, descriptor) in descriptors.enumerated() {
                buffer.storeBytes(
                    of: descriptor, toByteOffset: MemoryLayout<cmsghdr>.size + index * 4, as: Int32.self)
            }
        }
        let count = Array(bytes).withUnsafeBytes { data in
            control.withUnsafeMutableBytes { control in
                var vector = iovec(
                    iov_base: UnsafeMutableRawPointer(mutating: data.baseAddress), iov_len: data.count)
                return withUnsafeMutablePointer(to: &vector) { vector in
                    var header = msghdr()
                    header.msg_iov = vector
                    header.msg_iovlen = 1
                    header.msg_control = control.baseAddress
                    header.msg_controllen = control.count
                    return RawBusClient.whenTheyFit { sendmsg(fd, &header, Int32(MSG_NOSIGNAL)) }
                }
            }
        }
        guard count > 0 else { throw .system("the bus accepts no descriptors", errno) }
        return count
    }

    /// Retries while too many descriptors are in flight, which is limited for ordinary users (unix(7), ETOOMANYREFS).
    /// There is no event to wait for.
    private static func whenTheyFit(_ send: () -> Int) -> Int {
        var pause = timespec(tv_sec: 0, tv_nsec: 1_000_000)
        for _ in 0..<(patience * 1000) {
            let count = send()
            if count >= 0 || errno != ETOOMANYREFS { return count }
            nanosleep(&pause, nil)
        }
        return send()
    }
}
