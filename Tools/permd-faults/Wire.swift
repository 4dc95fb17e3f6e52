// Encodes messages, including ones that no library would send (D-Bus specification, "Message Format").

struct Wire {
    enum Kind: UInt8 {
        case call = 1
        case methodReturn, error, signal
    }

    /// The header fields; nil omits a field.
    struct Header {
        var kind = Kind.call
        var serial: UInt32 = 1
        var path: String?
        var interface: String?
        var member: String?
        var errorName: String?
        var replySerial: UInt32?
        var destination: String?
        var signature: String?
        var descriptors: UInt32?
        /// Additional fields, for codes that are unknown to the specification or that it defines with another type.
        var further: [(code: UInt8, text: String)] = []
        var wantsReply = true
    }

    private(set) var bytes: [UInt8] = []

    mutating func align(_ size: Int) { while !bytes.count.isMultiple(of: size) { bytes.append(0) } }

    mutating func byte(_ value: UInt8) { bytes.append(value) }

    mutating func append(_ more: [UInt8]) { bytes += more }

    mutating func uint32(_ value: UInt32) {
        align(4)
        withUnsafeBytes(of: value.littleEndian) { bytes += $0 }
    }

    mutating func string(_ text: String) {
        uint32(UInt32(text.utf8.count))
        bytes += text.utf8
        bytes.append(0)
    }

    mutating func signature(_ text: String) {
        bytes.append(UInt8(text.utf8.count))
        bytes += text.utf8
        bytes.append(0)
    }

    /// An array whose elements are aligned to `size`.
    mutating func array(_ size: Int, _ elements: (inout Wire) -> Void) {
        uint32(0)
        let length = bytes.count - 4
        align(size)
        let start = bytes.count
        elements(&self)
        withUnsafeBytes(of: UInt32(bytes.count - start).littleEndian) {
            bytes.replaceSubrange(length..<length + 4, with: $0)
        }
    }

    mutating func strings(_ texts: [String]) { array(4) { for text in texts { $0.string(text) } } }

    /// An `a{sv}`. Each entry consists of a key, a signature, and a function that writes the value.
    mutating func options(_ entries: [(String, String, (inout Wire) -> Void)]) {
        array(8) {
            for (key, signature, value) in entries {
                $0.align(8)
                $0.string(key)
                $0.signature(signature)
                value(&$0)
            }
        }
    }

    static func body(_ write: (inout Wire) -> Void) -> [UInt8] {
        var wire = Wire()
        write(&wire)
        return wire.bytes
    }

    static func setSerial(of message: inout [UInt8], to serial: UInt32) {
        withUnsafeBytes(of: serial.littleEndian) { message.replaceSubrange(8..<12, with: $0) }
    }

    static func message(_ header: Header, _ body: [UInt8] = []) -> [UInt8] {
        var wire = Wire()
        wire.bytes = [UInt8(ascii: "l"), header.kind.rawValue, header.wantsReply ? 0 : 1, 1]
        wire.uint32(UInt32(body.count))
        wire.uint32(header.serial)
        wire.array(8) { wire in
            func field(_ code: UInt8, _ type: String, _ write: (inout Wire) -> Void) {
                wire.align(8)
                wire.byte(code)
                wire.signature(type)
                write(&wire)
            }
            if let path = header.path { field(1, "o") { $0.string(path) } }
            if let interface = header.interface { field(2, "s") { $0.string(interface) } }
            if let member = header.member { field(3, "s") { $0.string(member) } }
            if let name = header.errorName { field(4, "s") { $0.string(name) } }
            if let serial = header.replySerial { field(5, "u") { $0.uint32(serial) } }
            if let destination = header.destination { field(6, "s") { $0.string(destination) } }
            if let signature = header.signature { field(8, "g") { $0.signature(signature) } }
            if let count = header.descriptors { field(9, "u") { $0.uint32(count) } }
            for (code, text) in header.further { field(code, "s") { $0.string(text) } }
        }
        wire.align(8)
        return wire.bytes + body
    }
}
