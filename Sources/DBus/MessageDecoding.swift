// Converts libdbus messages to Swift values, within a size limit; those of calls only when their caller has its turn.

import CDBus
import CLinux
import Glibc

enum DecodingError: Error {
    /// Its content exceeds the budget.
    case tooLarge
    /// It refers to a descriptor that did not arrive or that is not wanted.
    case malformed
}

/// Limits the memory and time that one message can take.
struct DecodingBudget {
    /// Bytes of content of a call or signal, which anyone can send. Strings of up to 1 MiB fit; they are truncated
    /// later. The bus itself would carry 128 MiB.
    static let strangers = 4 << 20
    /// Bytes of content of a reply. Higher, because this program chose the callee, and ten thousand history rows are a
    /// long reply.
    static let replies = 64 << 20
    /// Bytes of content of an error, which ends up in logs: a sentence or two.
    static let errors = 64 << 10
    /// Bytes charged per file descriptor, so that the bounds of waiting calls bound their descriptors as well: one
    /// caller's to 64, and all to 256.
    static let perDescriptor = 64 << 10

    /// Bytes of an object path. permd's are shorter than 300; libdbus itself accepts 64 MiB.
    static let path = 4096

    /// Whether descriptors are accepted and duplicated; if not, a message that carries any is malformed.
    let takesDescriptors: Bool
    /// The keys of an `a{sv}` that are wanted; other entries are passed over. If nil, all are wanted.
    private(set) var options: Set<String>?
    /// Bytes charged per value in addition to its string; limits arrays of tiny elements as well.
    private(set) var perValue = 16
    /// The bytes of a string that are read.
    private(set) var textBytes = Int.max
    private let total: Int
    private var left: Int

    init(_ bytes: Int, takesDescriptors: Bool) {
        total = bytes
        left = bytes
        self.takesDescriptors = takesDescriptors
    }

    /// For arguments of which at most 2048 values are valid, where the longest calls have some hundred, and of each
    /// string a little more than an identity may have. Texts to be shown are cut to less, and no other longer string is
    /// valid.
    private init(bounding bytes: Int, takesDescriptors: Bool) {
        self.init(bytes, takesDescriptors: takesDescriptors)
        perValue = 256
        textBytes = 36 << 10
    }

    /// For the arguments of a call. Without `options`, only the memory is limited.
    static func arguments(_ options: Set<String>?) -> DecodingBudget {
        guard let options else { return DecodingBudget(strangers, takesDescriptors: false) }
        var budget = DecodingBudget(bounding: 512 << 10, takesDescriptors: false)
        budget.options = options
        return budget
    }

    /// For a call with a descriptor. It is decoded before its caller's turn, and so has to be short.
    static var descriptors: DecodingBudget {
        DecodingBudget(bounding: perDescriptor + 16 << 10, takesDescriptors: true)
    }

    /// For a call whose body is kept, but not decoded.
    static var encodedBody: DecodingBudget { DecodingBudget(bounding: strangers, takesDescriptors: false) }

    var spent: Int { total - left }

    mutating func spend(_ bytes: Int) throws(DecodingError) {
        left -= bytes
        if left < 0 { throw .tooLarge }
    }
}

/// The body of a received call until it is decoded. It is a copy, because libdbus pauses reading while too much of what
/// it received has not been released.
// SAFETY: nothing changes the copy, and only the loop reads it.
final class EncodedBody: @unchecked Sendable {
    let raw: OpaquePointer

    init?(copying message: OpaquePointer) {
        guard let raw = dbus_message_copy(message) else { return nil }
        self.raw = raw
    }

    deinit { dbus_message_unref(raw) }
}

extension Message {
    /// Reads the header. `path` is nil if there is none or if it is longer than `DecodingBudget.path`.
    // SAFETY: libdbus has validated the message; its pointers are valid as long as `raw`, and strings are copied.
    static func header(of raw: OpaquePointer) -> Message {
        var message = Message(kind: Kind(rawValue: dbus_message_get_type(raw)) ?? .signal)
        message.serial = dbus_message_get_serial(raw)
        message.replySerial = dbus_message_get_reply_serial(raw)
        message.sender = text(dbus_message_get_sender(raw))
        message.destination = text(dbus_message_get_destination(raw))
        if let path = dbus_message_get_path(raw), strnlen(path, DecodingBudget.path + 1) <= DecodingBudget.path {
            message.path = String(cString: path)
        }
        message.interface = text(dbus_message_get_interface(raw))
        message.member = text(dbus_message_get_member(raw))
        message.errorName = text(dbus_message_get_error_name(raw))
        message.signature = text(dbus_message_get_signature(raw)) ?? ""
        message.expectsReply = message.kind == .methodCall && dbus_message_get_no_reply(raw) == 0
        return message
    }

    /// Reads the body within the budget. If it does not fit, the body stays empty.
    mutating func readBody(of raw: OpaquePointer, within budget: DecodingBudget) -> DecodingError? {
        var iterator = DBusMessageIter()
        guard dbus_message_iter_init(raw, &iterator) != 0 else { return nil }
        var budget = budget
        do throws(DecodingError) {
            body = try Message.readAll(&iterator, &budget)
            contentSize = budget.spent
            return nil
        } catch {
            return error
        }
    }

    /// Keeps the body of a call without decoding it.
    mutating func keepBody(of raw: OpaquePointer) -> DecodingError? {
        var iterator = DBusMessageIter()
        guard dbus_message_iter_init(raw, &iterator) != 0 else { return nil }
        var budget = DecodingBudget.encodedBody
        do throws(DecodingError) { try Message.measure(&iterator, &budget) } catch { return error }
        contentSize = budget.spent
        encodedBody = EncodedBody(copying: raw)
        return encodedBody == nil ? .tooLarge : nil
    }

    /// Decodes the body of a call that was kept, and releases it.
    ///
    /// - Parameter options: The keys of an `a{sv}` that are wanted; nil for all.
    mutating func decode(options: Set<String>? = nil) -> DecodingError? {
        guard let body = encodedBody else { return nil }
        encodedBody = nil
        return withExtendedLifetime(body) { readBody(of: body.raw, within: .arguments(options)) }
    }

    /// Charges the content without looking into arrays, whose sizes are known.
    static func measure(
        _ iterator: inout DBusMessageIter, _ budget: inout DecodingBudget
    ) throws(DecodingError) {
        while true {
            let type = dbus_message_iter_get_arg_type(&iterator)
            var inner = DBusMessageIter()
            switch type {
            case CDBUS_TYPE_INVALID: return
            case CDBUS_TYPE_STRING, CDBUS_TYPE_OBJECT_PATH, CDBUS_TYPE_SIGNATURE:
                var pointer: UnsafePointer<CChar>?
                dbus_message_iter_get_basic(&iterator, &pointer)
                if let pointer { try budget.spend(strlen(pointer)) }
            case CDBUS_TYPE_ARRAY:
                dbus_message_iter_recurse(&iterator, &inner)
                try budget.spend(Int(cdbus_array_bytes(&inner)))
            case CDBUS_TYPE_STRUCT, CDBUS_TYPE_VARIANT:
                dbus_message_iter_recurse(&iterator, &inner)
                try measure(&inner, &budget)
            default: break
            }
            try budget.spend(budget.perValue)
            dbus_message_iter_next(&iterator)
        }
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String? { pointer.map { String(cString: $0) } }

    private static func readAll(
        _ iterator: inout DBusMessageIter, _ budget: inout DecodingBudget
    ) throws(DecodingError) -> [Value] {
        var values: [Value] = []
        while dbus_message_iter_get_arg_type(&iterator) != CDBUS_TYPE_INVALID {
            values.append(try readOne(&iterator, &budget))
            dbus_message_iter_next(&iterator)
        }
        return values
    }

    private static func readOne(
        _ iterator: inout DBusMessageIter, _ budget: inout DecodingBudget
    ) throws(DecodingError) -> Value {
        try budget.spend(budget.perValue)
        let type = dbus_message_iter_get_arg_type(&iterator)
        switch type {
        case CDBUS_TYPE_STRING, CDBUS_TYPE_OBJECT_PATH, CDBUS_TYPE_SIGNATURE:
            return try readText(&iterator, type, &budget)
        case CDBUS_TYPE_UNIX_FD:
            guard budget.takesDescriptors else { throw .malformed }
            try budget.spend(DecodingBudget.perDescriptor)
            var fd: Int32 = -1
            dbus_message_iter_get_basic(&iterator, &fd)
            guard fd >= 0 else { throw .malformed }
            return .unixFD(UnixFD(owning: fd))
        case CDBUS_TYPE_ARRAY: return try readArray(&iterator, &budget)
        case CDBUS_TYPE_STRUCT, CDBUS_TYPE_VARIANT:
            var inner = DBusMessageIter()
            dbus_message_iter_recurse(&iterator, &inner)
            if type == CDBUS_TYPE_VARIANT { return .variant(try readOne(&inner, &budget)) }
            return .structure(try readAll(&inner, &budget))
        default: return try readNumber(&iterator, type)
        }
    }

    private static func readNumber(_ iterator: inout DBusMessageIter, _ type: Int32) throws(DecodingError) -> Value {
        // libdbus gives the values of basic types only.
        guard dbus_type_is_basic(type) != 0 else { throw .malformed }
        var basic = DBusBasicValue()
        dbus_message_iter_get_basic(&iterator, &basic)
        switch type {
        case CDBUS_TYPE_BYTE: return .byte(basic.byt)
        case CDBUS_TYPE_BOOLEAN: return .bool(basic.bool_val != 0)
        case CDBUS_TYPE_INT16: return .int16(basic.i16)
        case CDBUS_TYPE_UINT16: return .uint16(basic.u16)
        case CDBUS_TYPE_INT32: return .int32(basic.i32)
        case CDBUS_TYPE_UINT32: return .uint32(basic.u32)
        case CDBUS_TYPE_INT64: return .int64(Int64(basic.i64))
        case CDBUS_TYPE_UINT64: return .uint64(UInt64(basic.u64))
        case CDBUS_TYPE_DOUBLE: return .double(basic.dbl)
        default: throw .malformed
        }
    }

    private static func readText(
        _ iterator: inout DBusMessageIter, _ type: Int32, _ budget: inout DecodingBudget
    ) throws(DecodingError) -> Value {
        var pointer: UnsafePointer<CChar>?
        dbus_message_iter_get_basic(&iterator, &pointer)
        guard let pointer else { throw .malformed }
        let length = type == CDBUS_TYPE_STRING ? strnlen(pointer, budget.textBytes) : strlen(pointer)
        try budget.spend(length)
        let text = String(decoding: UnsafeRawBufferPointer(start: pointer, count: length), as: UTF8.self)
        switch type {
        case CDBUS_TYPE_STRING: return .string(text)
        case CDBUS_TYPE_OBJECT_PATH: return .objectPath(text)
        default: return .signature(text)
        }
    }

    private static func readArray(
        _ iterator: inout DBusMessageIter, _ budget: inout DecodingBudget
    ) throws(DecodingError) -> Value {
        guard let pointer = dbus_message_iter_get_signature(&iterator) else { throw .malformed }
        let signature = String(cString: pointer)
        dbus_free(pointer)
        var inner = DBusMessageIter()
        dbus_message_iter_recurse(&iterator, &inner)
        guard dbus_message_iter_get_element_type(&iterator) == CDBUS_TYPE_DICT_ENTRY else {
            return .array(of: String(signature.dropFirst()), try readAll(&inner, &budget))
        }
        var entries: [DictionaryEntry] = []
        while dbus_message_iter_get_arg_type(&inner) == CDBUS_TYPE_DICT_ENTRY {
            var pair = DBusMessageIter()
            dbus_message_iter_recurse(&inner, &pair)
            let key = try readOne(&pair, &budget)
            dbus_message_iter_next(&pair)
            if signature != "a{sv}" || budget.options?.contains(key.stringValue ?? "") ?? true {
                entries.append(DictionaryEntry(key, try readOne(&pair, &budget)))
            }
            dbus_message_iter_next(&inner)
        }
        // a{KV}: the key is one character, a basic type.
        let inside = signature.dropFirst(2).dropLast()
        return .dictionary(key: String(inside.prefix(1)), value: String(inside.dropFirst()), entries)
    }
}
