// Messages as bytes, also such as no library would send (D-Bus specification, "Message Format").

package import DBus

/// A message that is encoded without any validation, in little-endian order.
package struct RawMessage: Sendable {
    package enum Kind: UInt8, Sendable {
        case methodCall = 1
        case methodReturn, error, signal
    }

    package var kind: Kind
    package var serial: UInt32 = 1
    package var replySerial: UInt32?
    package var destination: String?
    package var path: String?
    package var interface: String?
    package var member: String?
    package var errorName: String?
    package var signature = ""
    package var body: [UInt8] = []
    /// If false, the flag NO_REPLY_EXPECTED is set.
    package var expectsReply = true
    /// The header field UNIX_FDS; it may differ from the number of descriptors sent.
    package var descriptorCount: UInt32?
    /// Additional header fields, encoded as strings regardless of their specified type.
    package var furtherFields: [(code: UInt8, text: String)] = []

    package init(_ kind: Kind, to destination: String? = nil) {
        self.kind = kind
        self.destination = destination
    }

    package static func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [Value] = []
    ) -> RawMessage {
        call(
            destination, path, interface, member, signature: arguments.map(\.signature).joined(),
            body: encoded(arguments))
    }

    package static func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, signature: String, body: [UInt8]
    ) -> RawMessage {
        var message = RawMessage(.methodCall, to: destination)
        (message.path, message.interface, message.member) = (path, interface, member)
        (message.signature, message.body) = (signature, body)
        return message
    }

    package var bytes: [UInt8] {
        var fields: [Value] = []
        func add(_ code: UInt8, _ value: Value?) {
            if let value { fields.append(.structure([.byte(code), .variant(value)])) }
        }
        add(1, path.map { .objectPath($0) })
        add(2, interface.map { .string($0) })
        add(3, member.map { .string($0) })
        add(4, errorName.map { .string($0) })
        add(5, replySerial.map { .uint32($0) })
        add(6, destination.map { .string($0) })
        add(8, signature.isEmpty ? nil : .signature(signature))
        add(9, descriptorCount.map { .uint32($0) })
        for (code, text) in furtherFields { add(code, .string(text)) }
        let start: [UInt8] = [UInt8(ascii: "l"), kind.rawValue, expectsReply ? 0 : 1, 1]
        var encoding = Encoding(bytes: start)
        encoding.add(.uint32(UInt32(body.count)))
        encoding.add(.uint32(serial))
        encoding.add(.array(of: "(yv)", fields))
        encoding.align(8)
        return encoding.bytes + body
    }

    /// The body that has these values. Strings and paths may have any content.
    package static func encoded(_ values: [Value]) -> [UInt8] {
        var encoding = Encoding()
        for value in values { encoding.add(value) }
        return encoding.bytes
    }

    /// A `u`.
    package static func number(_ number: UInt32) -> [UInt8] { encoded([.uint32(number)]) }

    /// An `s` or `o`.
    package static func string(_ text: String) -> [UInt8] { encoded([.string(text)]) }

    /// An `ay` of `count` zeros.
    package static func zeros(_ count: Int) -> [UInt8] {
        number(UInt32(count)) + [UInt8](repeating: 0, count: count)
    }
}

/// Bytes of a message, in which each value has its alignment.
private struct Encoding {
    var bytes: [UInt8] = []

    mutating func align(_ size: Int) { while !bytes.count.isMultiple(of: size) { bytes.append(0) } }

    mutating func add(_ value: Value) {
        align(Encoding.alignment(value.signature))
        switch value {
        case .byte(let byte): bytes.append(byte)
        case .bool(let flag): add(UInt32(flag ? 1 : 0))
        case .uint32(let number): add(number)
        case .string(let text), .objectPath(let text):
            add(UInt32(text.utf8.count))
            bytes += Array(text.utf8) + [0]
        case .signature(let text): bytes += [UInt8(text.utf8.count)] + Array(text.utf8) + [0]
        case .array(let element, let values): addArray(element) { for value in values { $0.add(value) } }
        case .dictionary(_, _, let entries):
            addArray("{") { for entry in entries { $0.add(.structure([entry.key, entry.value])) } }
        case .structure(let fields): for field in fields { add(field) }
        case .variant(let content):
            add(.signature(content.signature))
            add(content)
        default: preconditionFailure("no raw message has a \(value.signature)")
        }
    }

    private mutating func add(_ number: UInt32) { withUnsafeBytes(of: number.littleEndian) { bytes += $0 } }

    private mutating func addArray(_ element: String, _ elements: (inout Encoding) -> Void) {
        add(0)
        let length = bytes.count - 4
        align(Encoding.alignment(element))
        let start = bytes.count
        elements(&self)
        withUnsafeBytes(of: UInt32(bytes.count - start).littleEndian) {
            bytes.replaceSubrange(length..<length + 4, with: $0)
        }
    }

    private static func alignment(_ signature: String) -> Int {
        switch signature.first {
        case "y", "g", "v": 1
        case "(", "{": 8
        default: 4
        }
    }
}
