// The identity of an app, and of a process.

/// The identity of an app, as permd determines it from the bus and the kernel.
///
/// Its text is the key `app` of all rows on the bus, in one of these forms:
///
/// - `flatpak:ID`: the application ID in the sandbox's `/.flatpak-info`
/// - `snap:NAME`: the name of the snap
/// - `exe:PATH`: the path of the executable
/// - `exe:PATH:FILE`: the path of a program that runs others, such as an interpreter, and of the file that it runs
///
/// In paths, `%XX` stands for `:`, `%`, control characters, and bytes that are not UTF-8. The prefix is part of the
/// identity: apps of different kinds never share a decision.
public struct AppID: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The kind of an identity. The raw value is the prefix of its text.
    public enum Kind: String, Sendable, CaseIterable {
        case flatpak, snap, exe
    }

    /// The prefix.
    public let kind: Kind
    /// The text after the prefix, with paths escaped.
    public let name: String

    /// The identity as text, such as `flatpak:org.example.App`.
    public var description: String { "\(kind.rawValue):\(name)" }
    /// For two ASCII names, `String` comparison is the same as byte comparison, and faster.
    private let isASCII: Bool

    /// Compares bytes. `String` comparison would equate paths that are different files (Unicode canonical equivalence).
    public static func == (a: AppID, b: AppID) -> Bool {
        a.kind == b.kind && a.isASCII == b.isASCII && a.name == b.name
            && (a.isASCII || a.name.utf8.elementsEqual(b.name.utf8))
    }

    /// Hashes the name only, which tells nearly all apps apart.
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }

    /// Whether the app runs in a sandbox: true for flatpaks and snaps.
    public var isSandboxed: Bool { kind == .flatpak || kind == .snap }

    /// Parses an identity; returns nil if the text has none of the forms.
    public init?(_ text: String) {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")),
            let kind = Kind(rawValue: String(text[..<colon]))
        else { return nil }
        var name = String(text[text.utf8.index(after: colon)...])
        guard name.withUTF8({ AppID.isName($0, of: kind) }) else { return nil }
        self.init(kind: kind, name: name)
    }

    private static func isName(_ bytes: UnsafeBufferPointer<UInt8>, of kind: Kind) -> Bool {
        guard !bytes.isEmpty, bytes.count <= maximumLength, !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            return false
        }
        let colon = bytes.firstIndex(of: UInt8(ascii: ":"))
        guard kind == .exe else { return colon == nil && !bytes.contains(UInt8(ascii: "/")) }
        guard let colon else { return isPath(bytes[...]) }
        return isPath(bytes[..<colon]) && isPath(bytes[(colon + 1)...])
    }

    /// Whether it is absolute and escaped.
    private static func isPath(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        bytes.first == UInt8(ascii: "/") && !bytes.contains(UInt8(ascii: ":")) && isEscaped(bytes)
    }

    private init(kind: Kind, name: String) {
        self.kind = kind
        self.name = name
        var name = name
        isASCII = name.withUTF8 { $0.allSatisfy { $0 < 0x80 } }
    }

    /// Returns the identity of a program outside sandboxes, and of the file that it runs if it runs others.
    ///
    /// - Parameters:
    ///   - path: The absolute path of the executable, in bytes.
    ///   - script: The absolute path of the file that it runs, in bytes; nil if there is none.
    public static func executable(_ path: some Sequence<UInt8>, script: (some Sequence<UInt8>)? = [UInt8]?.none)
        -> AppID
    {
        var name = escape(path)
        if let script { name += ":" + escape(script) }
        return AppID(kind: .exe, name: name)
    }

    /// The paths of the executable and of the file that it runs, if there is one; empty for other kinds. Bytes that are not UTF-8 are
    /// replaced.
    package var paths: [String] {
        guard kind == .exe else { return [] }
        return name.utf8.split(separator: UInt8(ascii: ":")).map { part in
            var (bytes, rest) = ([UInt8](), part)
            while let byte = rest.popFirst() {
                let digits = byte == UInt8(ascii: "%") ? String(Substring(rest.prefix(2))) : ""
                bytes.append(UInt8(digits, radix: 16) ?? byte)
                if !digits.isEmpty { rest = rest.dropFirst(2) }
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    /// Compares bytes, like SQLite's default collation.
    public static func < (a: AppID, b: AppID) -> Bool {
        if a.kind != b.kind { return a.kind.rawValue < b.kind.rawValue }
        return a.isASCII && b.isASCII ? a.name < b.name : a.name.utf8.lexicographicallyPrecedes(b.name.utf8)
    }

    /// The maximum number of bytes in a name. Two escaped paths of PATH_MAX bytes fit.
    static let maximumLength = 4 * 4096 * 2

    /// Escapes `:`, `%` and control characters as `%XX`, and all bytes above 0x7F if the path is not UTF-8, because
    /// D-Bus strings are UTF-8.
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

    /// Whether every `%` is followed by two upper-case hexadecimal digits.
    private static func isEscaped(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        var rest = bytes
        while let place = rest.firstIndex(of: UInt8(ascii: "%")) {
            rest = rest[(place + 1)...]
            guard rest.count >= 2, rest.prefix(2).allSatisfy(isHex) else { return false }
        }
        return true
    }

    private static func isHex(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte)
    }
}

/// A process. The start time distinguishes it from a later process with the same process ID.
package struct ProcessKey: Sendable, Hashable {
    /// The process ID.
    package let pid: Int32
    /// The start time in clock ticks after boot: field 22 of `/proc/PID/stat` (proc(5)).
    package let startTime: UInt64

    /// Creates the key of a process.
    package init(pid: Int32, startTime: UInt64) {
        self.pid = pid
        self.startTime = startTime
    }
}
