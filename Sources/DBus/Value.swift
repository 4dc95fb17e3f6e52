// D-Bus values as Swift values (D-Bus specification, "Type System").

/// An entry of a D-Bus dictionary. Entries keep the order of the message.
public struct DictionaryEntry: Sendable, Hashable {
    public var key: Value
    public var value: Value
    public init(_ key: Value, _ value: Value) {
        self.key = key
        self.value = value
    }
}

public enum Value: Sendable, Hashable {
    case byte(UInt8)
    case bool(Bool)
    case int16(Int16)
    case uint16(UInt16)
    case int32(Int32)
    case uint32(UInt32)
    case int64(Int64)
    case uint64(UInt64)
    case double(Double)
    case string(String)
    case objectPath(String)
    case signature(String)
    /// A descriptor. Sending duplicates it; a received one is owned by the value.
    case unixFD(UnixFD)
    /// An array, with the signature of its elements.
    case array(of: String, [Value])
    /// `a{…}`, with the signatures of its keys and values.
    case dictionary(key: String, value: String, [DictionaryEntry])
    case structure([Value])
    indirect case variant(Value)

    public var signature: String {
        switch self {
        case .byte: "y"
        case .bool: "b"
        case .int16: "n"
        case .uint16: "q"
        case .int32: "i"
        case .uint32: "u"
        case .int64: "x"
        case .uint64: "t"
        case .double: "d"
        case .string: "s"
        case .objectPath: "o"
        case .signature: "g"
        case .unixFD: "h"
        case .array(let element, _): "a" + element
        case .dictionary(let key, let value, _): "a{" + key + value + "}"
        case .structure(let fields): "(" + fields.map(\.signature).joined() + ")"
        case .variant: "v"
        }
    }
}

// MARK: Building values

extension Value {
    /// `as`
    public static func strings(_ strings: [String]) -> Value { .array(of: "s", strings.map { .string($0) }) }

    /// `a{ss}`, in the given order.
    public static func stringTable(_ entries: [(String, String)]) -> Value {
        .dictionary(key: "s", value: "s", entries.map { DictionaryEntry(.string($0.0), .string($0.1)) })
    }

    /// `a{ss}`, sorted by key.
    public static func stringTable(_ table: [String: String]) -> Value {
        stringTable(table.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
    }

    /// `a{sv}`, sorted by key.
    public static func properties(_ table: [String: Value]) -> Value {
        .dictionary(
            key: "s", value: "v",
            table.sorted { $0.key < $1.key }.map { DictionaryEntry(.string($0.key), .variant($0.value)) })
    }

    /// `aa{sv}`
    public static func rows(_ rows: [[String: Value]]) -> Value {
        .array(of: "a{sv}", rows.map { .properties($0) })
    }
}

// MARK: Reading values; nil if the type differs

extension Value {
    public var stringValue: String? { if case .string(let value) = self { value } else { nil } }
    public var objectPathValue: String? { if case .objectPath(let value) = self { value } else { nil } }
    public var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }
    public var byteValue: UInt8? { if case .byte(let value) = self { value } else { nil } }
    public var uint32Value: UInt32? { if case .uint32(let value) = self { value } else { nil } }
    public var uint64Value: UInt64? { if case .uint64(let value) = self { value } else { nil } }
    public var unixFDValue: UnixFD? { if case .unixFD(let value) = self { value } else { nil } }
    /// The elements of an array or the fields of a structure.
    public var elements: [Value]? {
        switch self {
        case .array(_, let elements), .structure(let elements): elements
        default: nil
        }
    }

    /// An `as`.
    public var strings: [String]? {
        guard case .array("s", let elements) = self else { return nil }
        return elements.compactMap(\.stringValue)
    }

    /// An `a{ss}`. If a key occurs twice, the last entry counts.
    public var stringTable: [String: String]? {
        guard case .dictionary("s", "s", let entries) = self else { return nil }
        var table: [String: String] = [:]
        for entry in entries { if let key = entry.key.stringValue { table[key] = entry.value.stringValue } }
        return table
    }

    /// An `a{sv}` with its variants unwrapped. If a key occurs twice, the last entry counts.
    public var properties: [String: Value]? {
        guard case .dictionary("s", "v", let entries) = self else { return nil }
        var table: [String: Value] = [:]
        for entry in entries {
            if let key = entry.key.stringValue, case .variant(let value) = entry.value { table[key] = value }
        }
        return table
    }

    /// An `aa{sv}`.
    public var rows: [[String: Value]]? {
        guard case .array("a{sv}", let elements) = self else { return nil }
        return elements.compactMap(\.properties)
    }
}
