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
        do throws(EncodingError) {
            for value in body { try append(value, &iterator) }
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

private func append(_ value: Value, _ iterator: inout DBusMessageIter) throws(EncodingError) {
    switch value {
    case .byte(var number): appendBasic(&iterator, CDBUS_TYPE_BYTE, &number)
    case .bool(let flag):
        var number: dbus_bool_t = flag ? 1 : 0
        appendBasic(&iterator, CDBUS_TYPE_BOOLEAN, &number)
    case .int16(var number): appendBasic(&iterator, CDBUS_TYPE_INT16, &number)
    case .uint16(var number): appendBasic(&iterator, CDBUS_TYPE_UINT16, &number)
    case .int32(var number): appendBasic(&iterator, CDBUS_TYPE_INT32, &number)
    case .uint32(var number): appendBasic(&iterator, CDBUS_TYPE_UINT32, &number)
    case .int64(var number): appendBasic(&iterator, CDBUS_TYPE_INT64, &number)
    case .uint64(var number): appendBasic(&iterator, CDBUS_TYPE_UINT64, &number)
    case .double(var number): appendBasic(&iterator, CDBUS_TYPE_DOUBLE, &number)
    case .string(let text): try appendText(&iterator, CDBUS_TYPE_STRING, text) { _ in true }
    case .objectPath(let text):
        try appendText(&iterator, CDBUS_TYPE_OBJECT_PATH, text) { dbus_validate_path($0, nil) != 0 }
    case .signature(let text):
        try appendText(&iterator, CDBUS_TYPE_SIGNATURE, text) { dbus_signature_validate($0, nil) != 0 }
    case .unixFD(let descriptor):
        guard descriptor.canBePassed else {
            throw EncodingError("too many descriptors of this user are on their way between processes")
        }
        var fd = descriptor.raw
        guard fd >= 0, dbus_message_iter_append_basic(&iterator, CDBUS_TYPE_UNIX_FD, &fd) != 0 else {
            throw EncodingError("the descriptor is closed, or the process has no free descriptor to duplicate it")
        }
    case .array(let element, let values):
        try appendContainer(&iterator, CDBUS_TYPE_ARRAY, element) { inner throws(EncodingError) in
            for value in values {
                guard value.signature == element else {
                    throw EncodingError("an array of \(element) contains an element of type \(value.signature)")
                }
                try append(value, &inner)
            }
        }
    case .dictionary(let key, let content, let entries):
        try appendContainer(&iterator, CDBUS_TYPE_ARRAY, "{\(key)\(content)}") { inner throws(EncodingError) in
            for entry in entries {
                guard entry.key.signature == key, entry.value.signature == content else {
                    throw EncodingError("an entry does not match the dictionary's types \(key) and \(content)")
                }
                try appendContainer(&inner, CDBUS_TYPE_DICT_ENTRY, nil) { pair throws(EncodingError) in
                    try append(entry.key, &pair)
                    try append(entry.value, &pair)
                }
            }
        }
    case .structure(let fields):
        guard !fields.isEmpty else { throw EncodingError("a structure must have at least one field") }
        try appendContainer(&iterator, CDBUS_TYPE_STRUCT, nil) { inner throws(EncodingError) in
            for field in fields { try append(field, &inner) }
        }
    case .variant(let content):
        try appendContainer(&iterator, CDBUS_TYPE_VARIANT, content.signature) { inner throws(EncodingError) in
            try append(content, &inner)
        }
    }
}

private func appendBasic<T: BitwiseCopyable>(_ iterator: inout DBusMessageIter, _ type: Int32, _ value: inout T) {
    let ok = dbus_message_iter_append_basic(&iterator, type, &value)
    precondition(ok != 0, "out of memory building a message")
}

/// Returns nil if the string contains a NUL character, because C code would see only a part of it.
private func withWholeText<Result>(_ text: String, _ body: (UnsafePointer<CChar>) -> Result) -> Result? {
    text.withCString { strlen($0) == text.utf8.count ? body($0) : nil }
}

private func appendText(
    _ iterator: inout DBusMessageIter, _ type: Int32, _ text: String,
    _ isValid: (UnsafePointer<CChar>) -> Bool
) throws(EncodingError) {
    let ok = withWholeText(text) { pointer -> Bool in
        guard isValid(pointer) else { return false }
        var pointer: UnsafePointer<CChar>? = pointer
        return dbus_message_iter_append_basic(&iterator, type, &pointer) != 0
    }
    guard let ok else { throw EncodingError("a string contains a NUL character") }
    guard ok else { throw EncodingError("“\(text)” is not a valid object path or signature") }
}

private func appendContainer(
    _ iterator: inout DBusMessageIter, _ type: Int32, _ signature: String?,
    _ content: (inout DBusMessageIter) throws(EncodingError) -> Void
) throws(EncodingError) {
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
        try content(&inner)
    } catch {
        dbus_message_iter_abandon_container(&iterator, &inner)
        throw error
    }
    guard dbus_message_iter_close_container(&iterator, &inner) != 0 else {
        throw EncodingError("out of memory building a message")
    }
}
