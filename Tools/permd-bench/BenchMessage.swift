// A thin message layer, so that the client's overhead is small and the same for every service.

import CDBus
import Glibc

/// An error that ends the benchmark.
struct BenchFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

enum BenchValue {
    case text(String)
    case path(String)
    case bool(Bool)
    case number(UInt32)
    case texts([String])
    /// An empty `a{sv}`.
    case noOptions

    func append(to iterator: inout DBusMessageIter) {
        switch self {
        case .text(let text): BenchValue.append(text, CDBUS_TYPE_STRING, &iterator)
        case .path(let text): BenchValue.append(text, CDBUS_TYPE_OBJECT_PATH, &iterator)
        case .bool(let flag):
            var value: dbus_bool_t = flag ? 1 : 0
            dbus_message_iter_append_basic(&iterator, CDBUS_TYPE_BOOLEAN, &value)
        case .number(var value): dbus_message_iter_append_basic(&iterator, CDBUS_TYPE_UINT32, &value)
        case .texts(let texts): BenchValue.append(texts, of: "s", &iterator)
        case .noOptions: BenchValue.append([], of: "{sv}", &iterator)
        }
    }

    private static func append(_ text: String, _ type: Int32, _ iterator: inout DBusMessageIter) {
        text.withCString { characters in
            var pointer: UnsafePointer<CChar>? = characters
            dbus_message_iter_append_basic(&iterator, type, &pointer)
        }
    }

    private static func append(_ texts: [String], of signature: String, _ iterator: inout DBusMessageIter) {
        var inner = DBusMessageIter()
        dbus_message_iter_open_container(&iterator, CDBUS_TYPE_ARRAY, signature, &inner)
        for text in texts { append(text, CDBUS_TYPE_STRING, &inner) }
        dbus_message_iter_close_container(&iterator, &inner)
    }
}

/// A libdbus message, released with the last reference.
final class BenchMessage {
    let raw: OpaquePointer

    /// Takes ownership of the reference.
    init(owning raw: OpaquePointer) { self.raw = raw }

    deinit { dbus_message_unref(raw) }

    static func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [BenchValue] = []
    ) -> BenchMessage {
        guard let raw = dbus_message_new_method_call(destination, path, interface, member) else {
            preconditionFailure("out of memory building a message")
        }
        var iterator = DBusMessageIter()
        dbus_message_iter_init_append(raw, &iterator)
        for argument in arguments { argument.append(to: &iterator) }
        return BenchMessage(owning: raw)
    }

    /// The copy gets a serial of its own when it is sent.
    func copy() -> BenchMessage {
        guard let copy = dbus_message_copy(raw) else { preconditionFailure("out of memory building a message") }
        return BenchMessage(owning: copy)
    }

    var isError: Bool { dbus_message_get_type(raw) == DBUS_MESSAGE_TYPE_ERROR }
    var replySerial: UInt32 { dbus_message_get_reply_serial(raw) }
    var member: String { dbus_message_get_member(raw).map { String(cString: $0) } ?? "" }
    var errorName: String { dbus_message_get_error_name(raw).map { String(cString: $0) } ?? "" }

    /// The first argument, if it is a string or an object path.
    var firstText: String? {
        var iterator = DBusMessageIter()
        return dbus_message_iter_init(raw, &iterator) == 0 ? nil : BenchMessage.text(&iterator)
    }

    /// The first argument, if it is a number or a boolean.
    var firstNumber: UInt32? {
        var iterator = DBusMessageIter()
        guard dbus_message_iter_init(raw, &iterator) != 0,
            [CDBUS_TYPE_UINT32, CDBUS_TYPE_BOOLEAN].contains(dbus_message_iter_get_arg_type(&iterator))
        else { return nil }
        var number: UInt32 = 0
        dbus_message_iter_get_basic(&iterator, &number)
        return number
    }

    /// The value of the first entry, if the first argument is an `a{ss}`.
    var firstTableValue: String? {
        var (iterator, entries, pair) = (DBusMessageIter(), DBusMessageIter(), DBusMessageIter())
        guard dbus_message_iter_init(raw, &iterator) != 0,
            dbus_message_iter_get_arg_type(&iterator) == CDBUS_TYPE_ARRAY
        else { return nil }
        dbus_message_iter_recurse(&iterator, &entries)
        guard dbus_message_iter_get_arg_type(&entries) == CDBUS_TYPE_DICT_ENTRY else { return nil }
        dbus_message_iter_recurse(&entries, &pair)
        dbus_message_iter_next(&pair)
        return BenchMessage.text(&pair)
    }

    private static func text(_ iterator: inout DBusMessageIter) -> String? {
        guard [CDBUS_TYPE_STRING, CDBUS_TYPE_OBJECT_PATH].contains(dbus_message_iter_get_arg_type(&iterator)) else {
            return nil
        }
        var pointer: UnsafePointer<CChar>?
        dbus_message_iter_get_basic(&iterator, &pointer)
        return pointer.map { String(cString: $0) }
    }
}
