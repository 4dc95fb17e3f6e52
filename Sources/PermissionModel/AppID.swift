// Who an app is: the five forms of the contract's Identity section, parsed and written in one place.

/// The identity of an app, as the kernel and the bus know it. The prefix is part of it, so kinds never share a grant.
public struct AppID: Sendable, Hashable, Comparable, CustomStringConvertible {
    public enum Kind: String, Sendable, CaseIterable {
        case flatpak, snap, desktop, exe
    }

    public let kind: Kind
    /// The text after the prefix, as it stands in the identity.
    public let name: String

    public var description: String { "\(kind.rawValue):\(name)" }
    /// Two names of ASCII alone are equal for `String` when their bytes are, which is fast.
    private let isASCII: Bool

    /// Byte for byte: for `String` two paths are equal that the kernel tells apart (canonical equivalence).
    public static func == (a: AppID, b: AppID) -> Bool {
        a.kind == b.kind && a.isASCII == b.isASCII && a.name == b.name
            && (a.isASCII || a.name.utf8.elementsEqual(b.name.utf8))
    }

    /// Names alone tell nearly all apps apart. Those that are equal for `String` alone share a hash, which is allowed.
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }

    /// Flatpaks and snaps run in a sandbox.
    public var isSandboxed: Bool { kind == .flatpak || kind == .snap }

    /// Parses a whole identity; nil when it has none of the contract's forms.
    public init?(_ text: String) {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")),
            let kind = Kind(rawValue: String(text[..<colon]))
        else { return nil }
        let name = String(text[text.index(after: colon)...])
        guard !name.isEmpty, name.utf8.count <= AppID.maximumLength,
            !name.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F })
        else { return nil }
        if kind == .exe {
            // By bytes, as paths are: a combining mark would make a character of its own with the slash before it.
            let parts = name.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
            guard parts.count <= 2,
                parts.allSatisfy({ $0.first == UInt8(ascii: "/") && AppID.isEscaped(Substring($0)) })
            else { return nil }
        } else if name.utf8.contains(UInt8(ascii: "/")) || name.utf8.contains(UInt8(ascii: ":")) {
            return nil
        }
        self.init(kind: kind, name: name)
    }

    private init(kind: Kind, name: String) {
        self.kind = kind
        self.name = name
        isASCII = name.utf8.allSatisfy { $0 < 0x80 }
    }

    /// The identity of a plain program, and of the script it runs if it is an interpreter. Paths are bytes as the kernel has them.
    public static func executable(_ path: some Sequence<UInt8>, script: (some Sequence<UInt8>)? = [UInt8]?.none)
        -> AppID
    {
        var name = escape(path)
        if let script { name += ":" + escape(script) }
        return AppID(kind: .exe, name: name)
    }

    /// The order of the bytes, as SQLite has it.
    public static func < (a: AppID, b: AppID) -> Bool {
        a.kind == b.kind ? a.name.utf8.lexicographicallyPrecedes(b.name.utf8) : a.kind.rawValue < b.kind.rawValue
    }

    /// Longer than any path the kernel gives, twice, escaped. A longer text names no app.
    public static let maximumLength = 4 * 4096 * 2

    /// `:` and `%` become `%3A` and `%25`; so do control characters and bytes that are not UTF-8, which D-Bus strings cannot carry.
    static func escape(_ path: some Sequence<UInt8>) -> String {
        let bytes = Array(path)
        let isText = String(validating: bytes, as: UTF8.self) != nil
        var out: [UInt8] = []
        out.reserveCapacity(bytes.count)
        let hex = Array("0123456789ABCDEF".utf8)
        for byte in bytes {
            let plain =
                byte >= 0x20 && byte != 0x7F && byte != UInt8(ascii: ":") && byte != UInt8(ascii: "%")
                && (byte < 0x80 || isText)
            if plain {
                out.append(byte)
            } else {
                out += [UInt8(ascii: "%"), hex[Int(byte >> 4)], hex[Int(byte & 15)]]
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// Every `%` is followed by two upper-case hexadecimal digits.
    private static func isEscaped(_ text: Substring) -> Bool {
        let bytes = Array(text.utf8)
        var i = 0
        while i < bytes.count {
            if bytes[i] == UInt8(ascii: "%") {
                guard i + 2 < bytes.count, isHex(bytes[i + 1]), isHex(bytes[i + 2]) else { return false }
                i += 2
            }
            i += 1
        }
        return true
    }

    private static func isHex(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte)
    }
}

/// One process, told apart from a later one with the same pid by its start time.
public struct ProcessKey: Sendable, Hashable {
    public let pid: Int32
    /// Clock ticks after boot, field 22 of `/proc/PID/stat` (proc(5)).
    public let startTime: UInt64

    public init(pid: Int32, startTime: UInt64) {
        self.pid = pid
        self.startTime = startTime
    }
}
