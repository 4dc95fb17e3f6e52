// A bus connection without a library, which may send anything and need not read.

import Glibc

/// Every operation blocks, for one second at most, so it is used in separate processes only.
final class RawPeer {
    private(set) var socket: Int32 = -1
    private(set) var uniqueName = ""
    private var serial: UInt32 = 0
    private var received: [UInt8] = []
    private static let timeout = timeval(tv_sec: 1, tv_usec: 0)
    /// Larger than any single reply of the bus.
    private static let chunk = 256 << 10

    struct Received {
        var kind: UInt8
        var serial: UInt32
        var replySerial: UInt32 = 0
        var path = ""
        var interface = ""
        var member = ""
        var sender = ""
        var body: ArraySlice<UInt8>

        /// The first string of the body; empty if there is none.
        var text: String {
            guard body.count > 4 else { return "" }
            let length = Int(RawPeer.uint32(body, 0))
            guard body.count >= 4 + length else { return "" }
            return String(decoding: body.dropFirst(4).prefix(length), as: UTF8.self)
        }
    }

    /// Fails if the bus accepts no more connections.
    init?(path: String) {
        socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return nil }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        var timeout = RawPeer.timeout
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard isConnected, authenticate() else { return nil }
        let hello = bus("Hello")
        guard send(hello), let answer = answer(to: serial) else { return nil }
        uniqueName = answer.text
    }

    deinit { close() }

    func close() {
        if socket >= 0 { Glibc.close(socket) }
        socket = -1
    }

    private func authenticate() -> Bool {
        let identity = "\(geteuid())".utf8.map { String($0, radix: 16) }.joined()
        for line in ["\0AUTH EXTERNAL \(identity)\r\n", "NEGOTIATE_UNIX_FD\r\n"] {
            guard send(Array(line.utf8)), readLine() else { return false }
        }
        return send(Array("BEGIN\r\n".utf8))
    }

    private func readLine() -> Bool {
        var byte: UInt8 = 0
        while byte != UInt8(ascii: "\n") { guard recv(socket, &byte, 1, 0) == 1 else { return false } }
        return true
    }

    // MARK: Sending

    func nextSerial() -> UInt32 {
        serial += 1
        return serial
    }

    var lastSerial: UInt32 { serial }

    func call(
        _ destination: String, _ path: String, _ interface: String?, _ member: String, _ signature: String? = nil,
        wantsReply: Bool = true, _ body: (inout Wire) -> Void = { _ in }
    ) -> [UInt8] {
        var header = Wire.Header()
        header.serial = nextSerial()
        header.path = path
        header.interface = interface
        header.member = member
        header.destination = destination
        header.signature = signature
        header.wantsReply = wantsReply
        return Wire.message(header, Wire.body(body))
    }

    func bus(_ member: String, _ signature: String? = nil, _ body: (inout Wire) -> Void = { _ in }) -> [UInt8] {
        call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", member, signature, body)
    }

    /// Returns false if the bus has closed the connection or accepts no data for one second.
    @discardableResult
    func send(_ bytes: [UInt8], flags: Int32 = 0) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL) | flags)
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    /// Sends a message with `copies` copies of a descriptor.
    @discardableResult
    func send(_ bytes: [UInt8], with descriptor: Int32, copies: Int) -> Bool {
        let size = copies * MemoryLayout<Int32>.size
        let header = MemoryLayout<cmsghdr>.size
        var control = [UInt8](repeating: 0, count: (header + size + 7) & ~7)
        control.withUnsafeMutableBytes { buffer in
            var head = cmsghdr()
            head.cmsg_len = header + size
            head.cmsg_level = SOL_SOCKET
            head.cmsg_type = Int32(SCM_RIGHTS)
            buffer.storeBytes(of: head, as: cmsghdr.self)
            for index in 0..<copies {
                buffer.storeBytes(of: descriptor, toByteOffset: header + index * 4, as: Int32.self)
            }
        }
        var bytes = bytes
        let length = bytes.count
        let sent = bytes.withUnsafeMutableBytes { data in
            control.withUnsafeMutableBytes { control in
                var part = iovec(iov_base: data.baseAddress, iov_len: length)
                return withUnsafeMutablePointer(to: &part) { part in
                    var message = msghdr()
                    message.msg_iov = part
                    message.msg_iovlen = 1
                    message.msg_control = control.baseAddress
                    message.msg_controllen = control.count
                    return sendmsg(socket, &message, Int32(MSG_NOSIGNAL))
                }
            }
        }
        return sent == length
    }

    // MARK: Receiving

    /// Returns the reply to a call, or nil on timeout; messages before it are dropped.
    /// - Parameter sender: The required sender, because others send forged replies; nil accepts any.
    func answer(to serial: UInt32, from sender: String? = nil) -> Received? {
        for _ in 0..<10_000 {
            guard let next = receive() else { return nil }
            if next.kind == 2 || next.kind == 3, next.replySerial == serial, sender == nil || next.sender == sender {
                return next
            }
        }
        return nil
    }

    /// Returns the unique name of the owner; nil if the name has none.
    func owner(of name: String) -> String? {
        send(bus("GetNameOwner", "s") { $0.string(name) })
        guard let answer = answer(to: lastSerial, from: "org.freedesktop.DBus"),
            answer.kind == Wire.Kind.methodReturn.rawValue
        else { return nil }
        return answer.text
    }

    /// Returns the next message; nil if there is none within one second, or at once if `wait` is false. Descriptors
    /// that it carries are closed.
    func receive(wait: Bool = true) -> Received? {
        while true {
            if let message = takeMessage() { return message }
            var buffer = [UInt8](repeating: 0, count: RawPeer.chunk)
            let count = recv(socket, &buffer, buffer.count, wait ? 0 : Int32(MSG_DONTWAIT))
            guard count > 0 else { return nil }
            received += buffer[..<count]
        }
    }

    private func takeMessage() -> Received? {
        guard received.count >= 16 else { return nil }
        let fields = Int(RawPeer.uint32(received[...], 12))
        let start = 16 + (fields + 7) / 8 * 8
        let length = start + Int(RawPeer.uint32(received[...], 4))
        guard received.count >= length else { return nil }
        defer { received.removeFirst(length) }
        var message = Received(
            kind: received[1], serial: RawPeer.uint32(received[...], 8), body: received[start..<length])
        var place = 16
        while place < 16 + fields {
            place = (place + 7) / 8 * 8
            guard place + 4 < 16 + fields else { break }
            let code = received[place]
            let type = received[place + 2]
            place += 4
            switch type {
            case UInt8(ascii: "u"):
                let value = RawPeer.uint32(received[...], place)
                if code == 5 { message.replySerial = value }
                place += 4
            case UInt8(ascii: "g"): place += 2 + Int(received[place])
            default:
                let size = Int(RawPeer.uint32(received[...], place))
                let text = String(decoding: received[place + 4..<place + 4 + size], as: UTF8.self)
                switch code {
                case 1: message.path = text
                case 2: message.interface = text
                case 3: message.member = text
                case 7: message.sender = text
                default: break
                }
                place += 5 + size
            }
        }
        return message
    }

    private static func uint32(_ bytes: ArraySlice<UInt8>, _ offset: Int) -> UInt32 {
        let start = bytes.startIndex + offset
        guard start + 4 <= bytes.endIndex else { return 0 }
        return bytes[start..<start + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
}
