// A thin message layer, so that the client's overhead is small and the same for every service.

import CDBus
import Glibc

/// An error that ends the benchmark.
struct BenchFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

indirect enum BenchValue {
    case text(String)
    case path(String)
    case bool(Bool)
    case number(UInt32)
    case byte(UInt8)
    case texts([String])
    /// `a{ss}`
    case table([(String, String)])
    /// `a{sv}`
    case options([(String, BenchValue)])
    case structure([BenchValue])
    case variant(BenchValue)
    /// An empty `a{sa{sv}}`.
    case noDecisions

    var signature: String {
        switch self {
        case .text: "s"
        case .path: "o"
        case .bool: "b"
        case .number: "u"
        case .byte: "y"
        case .texts: "as"
        case .table: "a{ss}"
        case .options: "a{sv}"
        case .structure(let fields): "(" + fields.map(\.signature).joined() + ")"
        case .variant: "v"
        case .noDecisions: "a{sa{sv}}"
        }
    }

    func append(to iterator: inout DBusMessageIter) {
        switch self {
        case .text(let text): BenchValue.append(text, CDBUS_TYPE_STRING, &iterator)
        case .path(let text): BenchValue.append(text, CDBUS_TYPE_OBJECT_PATH, &iterator)
        case .bool(let flag):
            var value: dbus_bool_t = flag ? 1 : 0
            dbus_message_iter_append_basic(&iterator, CDBUS_TYPE_BOOLEAN, &value)
        case .number(var value): dbus_message_iter_append_basic(&iterator, CDBUS_TYPE_UINT32, &value)
        case .byte(var value): dbus_message_iter_append_basic(&iterator, CDBUS_TYPE_BYTE, &value)
        case .texts(let texts):
            BenchValue.within(&iterator, CDBUS_TYPE_ARRAY, "s") { inner in
                for text in texts { BenchValue.append(text, CDBUS_TYPE_STRING, &inner) }
            }
        case .table(let entries):
            BenchValue.append(entries.map { ($0.0, .text($0.1)) }, "{ss}", &iterator)
        case .options(let entries):
            BenchValue.append(entries.map { ($0.0, .variant($0.1)) }, "{sv}", &iterator)
        case .structure(let fields):
            BenchValue.within(&iterator, CDBUS_TYPE_STRUCT, nil) { inner in
                for field in fields { field.append(to: &inner) }
            }
        case .variant(let value):
            BenchValue.within(&iterator, CDBUS_TYPE_VARIANT, value.signature) { value.append(to: &$0) }
        case .noDecisions: BenchValue.append([], "{sa{sv}}", &iterator)
        }
    }

    private static func append(_ text: String, _ type: Int32, _ iterator: inout DBusMessageIter) {
        text.withCString { characters in
            var pointer: UnsafePointer<CChar>? = characters
            dbus_message_iter_append_basic(&iterator, type, &pointer)
        }
    }

    private static func append(
        _ entries: [(String, BenchValue)], _ signature: String, _ iterator: inout DBusMessageIter
    ) {
        within(&iterator, CDBUS_TYPE_ARRAY, signature) { inner in
            for (key, value) in entries {
                within(&inner, CDBUS_TYPE_DICT_ENTRY, nil) { entry in
                    append(key, CDBUS_TYPE_STRING, &entry)
                    value.append(to: &entry)
                }
            }
        }
    }

    private static func within(
        _ iterator: inout DBusMessageIter, _ type: Int32, _ signature: String?,
        _ body: (inout DBusMessageIter) -> Void
    ) {
        var inner = DBusMessageIter()
        dbus_message_iter_open_container(&iterator, type, signature, &inner)
        body(&inner)
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
        let message = BenchMessage(owning: raw)
        message.append(arguments)
        return message
    }

    func append(_ arguments: [BenchValue]) {
        var iterator = DBusMessageIter()
        dbus_message_iter_init_append(raw, &iterator)
        for argument in arguments { argument.append(to: &iterator) }
    }

    /// Returns a copy, which gets a new serial when it is sent.
    func again() -> BenchMessage {
        guard let copy = dbus_message_copy(raw) else { preconditionFailure("out of memory building a message") }
        return BenchMessage(owning: copy)
    }

    var isCall: Bool { dbus_message_get_type(raw) == DBUS_MESSAGE_TYPE_METHOD_CALL }
    var isError: Bool { dbus_message_get_type(raw) == DBUS_MESSAGE_TYPE_ERROR }
    var replySerial: UInt32 { dbus_message_get_reply_serial(raw) }
    var member: String { dbus_message_get_member(raw).map { String(cString: $0) } ?? "" }
    var errorName: String { dbus_message_get_error_name(raw).map { String(cString: $0) } ?? "" }

    /// The first argument, if it is a string or an object path.
    var firstText: String? {
        var iterator = DBusMessageIter()
        guard dbus_message_iter_init(raw, &iterator) != 0 else { return nil }
        let type = dbus_message_iter_get_arg_type(&iterator)
        guard type == CDBUS_TYPE_STRING || type == CDBUS_TYPE_OBJECT_PATH else { return nil }
        var pointer: UnsafePointer<CChar>?
        dbus_message_iter_get_basic(&iterator, &pointer)
        return pointer.map { String(cString: $0) }
    }

    /// The first argument, if it is a number or a boolean.
    var firstNumber: UInt32? {
        var iterator = DBusMessageIter()
        guard dbus_message_iter_init(raw, &iterator) != 0 else { return nil }
        let type = dbus_message_iter_get_arg_type(&iterator)
        guard type == CDBUS_TYPE_UINT32 || type == CDBUS_TYPE_BOOLEAN else { return nil }
        var number: UInt32 = 0
        dbus_message_iter_get_basic(&iterator, &number)
        return number
    }

    /// The values of the first argument, if it is an `a{ss}`.
    var tableValues: [String] {
        var iterator = DBusMessageIter()
        guard dbus_message_iter_init(raw, &iterator) != 0,
            dbus_message_iter_get_arg_type(&iterator) == CDBUS_TYPE_ARRAY
        else { return [] }
        var entries = DBusMessageIter()
        dbus_message_iter_recurse(&iterator, &entries)
        var values: [String] = []
        while dbus_message_iter_get_arg_type(&entries) == CDBUS_TYPE_DICT_ENTRY {
            var pair = DBusMessageIter()
            dbus_message_iter_recurse(&entries, &pair)
            dbus_message_iter_next(&pair)
            var pointer: UnsafePointer<CChar>?
            if dbus_message_iter_get_arg_type(&pair) == CDBUS_TYPE_STRING {
                dbus_message_iter_get_basic(&pair, &pointer)
            }
            if let pointer { values.append(String(cString: pointer)) }
            dbus_message_iter_next(&entries)
        }
        return values
    }
}
