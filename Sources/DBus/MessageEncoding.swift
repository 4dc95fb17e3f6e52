// Converts Swift values to libdbus messages. libdbus aborts on invalid strings, so they are validated first.

import CDBus
import CLinux
import Glibc

/// A message that cannot be sent. This is a bug of the sender, not of the peer.
struct EncodingError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

extension Message {
    /// A new libdbus message, owned by the caller (`dbus_message_unref`).
    func encoded() throws(EncodingError) -> OpaquePointer {
        try validate()
        guard let raw = dbus_message_new(kind.rawValue) else { throw EncodingError("out of memory building a message") }
        if let destination { dbus_message_set_destination(raw, destination) }
        if let path { dbus_message_set_path(raw, path) }
        if let interface { dbus_message_set_interface(raw, interface) }
        if let member { dbus_message_set_member(raw, member) }
        if let errorName { dbus_message_set_error_name(raw, errorName) }
        if replySerial != 0 { dbus_message_set_reply_serial(raw, replySerial) }
        dbus_message_set_no_reply(raw, expectsReply ? 0 : 1)
        dbus_message_set_auto_start(raw, mayAutoStart ? 1 : 0)
        var iterator = DBusMessageIter()
        dbus_message_iter_init_append(raw, &iterator)
        var size = BodySize(path: path)
        do throws(EncodingError) {
            for value in body { try append(value, &iterator, &size, depth: 0) }
        } catch {
            dbus_message_unref(raw)
            throw error
        }
        return raw
    }

    /// Rejects what would make libdbus abort or the bus disconnect us.
    private func validate() throws(EncodingError) {
        try check(destination, "destination", dbus_validate_bus_name)
        try check(path, "path", dbus_validate_path)
        try check(interface, "interface", dbus_validate_interface)
        try check(member, "member", dbus_validate_member)
        try check(errorName, "error name", dbus_validate_error_name)
        let isComplete =
            switch kind {
            case .methodCall: path != nil && member != nil
            case .signal: path != nil && interface != nil && member != nil
            case .methodReturn: replySerial != 0
            case .error: replySerial != 0 && errorName != nil
            }
        guard isComplete else { throw EncodingError("a \(kind) message lacks a required header field") }
        guard path != "/org/freedesktop/DBus/Local", interface != StandardInterfaces.local else {
            throw EncodingError("\(StandardInterfaces.local) is reserved")
        }
        var bytes = 0
        for value in body { bytes += value.signature.utf8.count }
        guard bytes <= 255 else { throw EncodingError("the signature of the arguments is longer than 255 bytes") }
    }

    private func check(
        _ text: String?, _ what: String,
        _ isValid: (UnsafePointer<CChar>?, UnsafeMutablePointer<DBusError>?) -> dbus_bool_t
    ) throws(EncodingError) {
        guard let text else { return }
        guard withWholeText(text, { isValid($0, nil) != 0 }) == true else {
            throw EncodingError("the \(what) “\(text)” is not valid")
        }
    }
}

extension Value {
    /// Appends the value to a message whose body has the size `size`, at a nesting depth of `depth` containers.
    func append(to iterator: inout DBusMessageIter, _ size: inout BodySize, depth: Int) throws(EncodingError) {
        try DBus.append(self, &iterator, &size, depth: depth)
    }
}

/// The maximum nesting of containers (D-Bus specification, "Valid Signatures"). A receiver disconnects a sender that
/// exceeds it; dbus-broker passes the message on, and then disconnects the receiver, which finds it invalid.
private let maximumDepth = 64

/// The size of a message's body in bytes, as marshaled (D-Bus specification, "Marshaling"). The limits are enforced
/// here for the same reason as `maximumDepth`; libdbus does not enforce them for senders.
struct BodySize {
    /// The maximum size of an array (D-Bus specification, "Container types").
    private static let maximumArray = 64 << 20
    /// The maximum size of a message (D-Bus specification, "Message Format").
    private static let maximumMessage = 128 << 20
    /// More than all header fields but the path together: names and signatures have at most 255 bytes.
    private static let fields = 4 << 10

    private(set) var bytes = 0
    private let maximum: Int

    init(path: String?) { maximum = BodySize.maximumMessage - BodySize.fields - (path?.utf8.count ?? 0) }

    /// Adds `count` bytes with the given alignment.
    mutating func add(_ count: Int, alignment: Int) throws(EncodingError) {
        bytes = (bytes + alignment - 1) & -alignment + count
        guard bytes <= maximum else {
            throw EncodingError("the message is longer than \(BodySize.maximumMessage >> 20) MiB")
        }
    }

    /// Adds what precedes the content of a container. Returns where the content starts.
    mutating func open(_ type: Int32, _ signature: String?) throws(EncodingError) -> Int {
        switch type {
        case CDBUS_TYPE_ARRAY:
            try add(4, alignment: 4)
            try add(0, alignment: BodySize.alignment(signature?.utf8.first))
        case CDBUS_TYPE_VARIANT: try add((signature?.utf8.count ?? 0) + 2, alignment: 1)
        default: try add(0, alignment: 8)
        }
        return bytes
    }

    /// The alignment of values whose signature begins with `code`.
    private static func alignment(_ code: UInt8?) -> Int {
        switch code.map(UnicodeScalar.init) {
        case "y", "g", "v": 1
        case "n", "q": 2
        case "x", "t", "d", "(", "{": 8
        default: 4
        }
    }

    /// Throws if an array whose first element begins at `start` is longer than permitted.
    func checkArray(from start: Int) throws(EncodingError) {
        guard bytes - start <= BodySize.maximumArray else {
            throw EncodingError("an array is longer than \(BodySize.maximumArray >> 20) MiB")
        }
    }
}

private func append(
    _ value: Value, _ iterator: inout DBusMessageIter, _ size: inout BodySize, depth: Int
) throws(EncodingError) {
    switch value {
    case .byte(var number): try appendBasic(&iterator, &size, CDBUS_TYPE_BYTE, &number)
    case .bool(let flag):
        var number: dbus_bool_t = flag ? 1 : 0
        try appendBasic(&iterator, &size, CDBUS_TYPE_BOOLEAN, &number)
    case .int16(var number): try appendBasic(&iterator, &size, CDBUS_TYPE_INT16, &number)
    case .uint16(var number): try appendBasic(&iterator, &size, CDBUS_TYPE_UINT16, &number)
    case .int32(var number): try appendBasic(&iterator, &size, CDBUS_TYPE_INT32, &number)
    case .uint32(var number): try appendBasic(&iterator, &size, CDBUS_TYPE_UINT32, &number)
    case .int64(var number): try appendBasic(&iterator, &size, CDBUS_TYPE_INT64, &number)
    case .uint64(var number): try appendBasic(&iterator, &size, CDBUS_TYPE_UINT64, &number)
    case .double(var number): try appendBasic(&iterator, &size, CDBUS_TYPE_DOUBLE, &number)
    case .string(let text): try appendText(&iterator, &size, CDBUS_TYPE_STRING, text) { _ in true }
    case .objectPath(let text):
        try appendText(&iterator, &size, CDBUS_TYPE_OBJECT_PATH, text) { dbus_validate_path($0, nil) != 0 }
    case .signature(let text):
        try appendText(&iterator, &size, CDBUS_TYPE_SIGNATURE, text) { dbus_signature_validate($0, nil) != 0 }
    case .unixFD(let descriptor):
        var fd = descriptor.raw
        try size.add(4, alignment: 4)
        guard fd >= 0, dbus_message_iter_append_basic(&iterator, CDBUS_TYPE_UNIX_FD, &fd) != 0 else {
            throw EncodingError("the descriptor is closed, or the process has no free descriptor to duplicate it")
        }
    case .array(let element, let values):
        try appendContainer(&iterator, &size, depth, CDBUS_TYPE_ARRAY, element) { (inner, size) throws(EncodingError) in
            for value in values {
                guard value.signature == element else {
                    throw EncodingError("an array of \(element) contains an element of type \(value.signature)")
                }
                try append(value, &inner, &size, depth: depth + 1)
            }
        }
    case .dictionary(let key, let content, let entries):
        try appendContainer(&iterator, &size, depth, CDBUS_TYPE_ARRAY, "{\(key)\(content)}") {
            (inner, size) throws(EncodingError) in
            for entry in entries { try append(entry, key, content, &inner, &size, depth: depth + 1) }
        }
    case .structure(let fields):
        guard !fields.isEmpty else { throw EncodingError("a structure must have at least one field") }
        try appendContainer(&iterator, &size, depth, CDBUS_TYPE_STRUCT, nil) { (inner, size) throws(EncodingError) in
            for field in fields { try append(field, &inner, &size, depth: depth + 1) }
        }
    case .variant(let content):
        try appendContainer(&iterator, &size, depth, CDBUS_TYPE_VARIANT, content.signature) {
            (inner, size) throws(EncodingError) in
            try append(content, &inner, &size, depth: depth + 1)
        }
    }
}

private func append(
    _ entry: DictionaryEntry, _ key: String, _ value: String, _ iterator: inout DBusMessageIter, _ size: inout BodySize,
    depth: Int
) throws(EncodingError) {
    guard entry.key.signature == key, entry.value.signature == value else {
        throw EncodingError("an entry does not match the dictionary's types \(key) and \(value)")
    }
    try appendContainer(&iterator, &size, depth, CDBUS_TYPE_DICT_ENTRY, nil) { (inner, size) throws(EncodingError) in
        try append(entry.key, &inner, &size, depth: depth + 1)
        try append(entry.value, &inner, &size, depth: depth + 1)
    }
}

/// Appends a value of a type whose marshaled size and alignment are the size of `T`.
private func appendBasic<T: BitwiseCopyable>(
    _ iterator: inout DBusMessageIter, _ size: inout BodySize, _ type: Int32, _ value: inout T
) throws(EncodingError) {
    try size.add(MemoryLayout<T>.size, alignment: MemoryLayout<T>.size)
    let ok = dbus_message_iter_append_basic(&iterator, type, &value)
    precondition(ok != 0, "out of memory building a message")
}

/// Returns nil if the string contains a NUL character, because C code would see only a part of it.
private func withWholeText<Result>(_ text: String, _ body: (UnsafePointer<CChar>) -> Result) -> Result? {
    text.withCString { strlen($0) == text.utf8.count ? body($0) : nil }
}

private func appendText(
    _ iterator: inout DBusMessageIter, _ size: inout BodySize, _ type: Int32, _ text: String,
    _ isValid: (UnsafePointer<CChar>) -> Bool
) throws(EncodingError) {
    // The length, the text and a NUL.
    let prefix = type == CDBUS_TYPE_SIGNATURE ? 1 : 4
    try size.add(prefix + text.utf8.count + 1, alignment: prefix)
    let ok = withWholeText(text) { pointer -> Bool in
        guard isValid(pointer) else { return false }
        var pointer: UnsafePointer<CChar>? = pointer
        return dbus_message_iter_append_basic(&iterator, type, &pointer) != 0
    }
    guard let ok else { throw EncodingError("a string contains a NUL character") }
    guard ok else { throw EncodingError("“\(text)” is not a valid object path or signature") }
}

private func appendContainer(
    _ iterator: inout DBusMessageIter, _ size: inout BodySize, _ depth: Int, _ type: Int32, _ signature: String?,
    _ content: (inout DBusMessageIter, inout BodySize) throws(EncodingError) -> Void
) throws(EncodingError) {
    guard depth < maximumDepth else { throw EncodingError("more than \(maximumDepth) levels of nested containers") }
    if let signature {
        // Must be one complete type: libdbus would also accept two.
        let whole = type == CDBUS_TYPE_ARRAY ? "a" + signature : signature
        if whole.utf8.contains(0) || dbus_signature_validate_single(whole, nil) == 0 {
            throw EncodingError("\(signature) is not the signature of a single value")
        }
    }
    var inner = DBusMessageIter()
    guard dbus_message_iter_open_container(&iterator, type, signature, &inner) != 0 else {
        throw EncodingError("out of memory building a message")
    }
    do throws(EncodingError) {
        let start = try size.open(type, signature)
        try content(&inner, &size)
        if type == CDBUS_TYPE_ARRAY { try size.checkArray(from: start) }
    } catch {
        dbus_message_iter_abandon_container(&iterator, &inner)
        throw error
    }
    guard dbus_message_iter_close_container(&iterator, &inner) != 0 else {
        throw EncodingError("out of memory building a message")
    }
}
