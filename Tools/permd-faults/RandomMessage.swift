// Random values and calls: valid ones, almost valid ones and nonsense.

import DBus
import Glibc
import PermissionModel

struct RandomMessage {
    var dice: Dice
    /// The number of descriptors that this message may still get: the bus disconnects senders of more than 16.
    private var descriptorsLeft = 0
    /// The long texts that it may still get: with some thousand, an array would be longer than the D-Bus Specification
    /// allows, and a bus disconnects its sender.
    private var longTextsLeft = 0

    init(dice: Dice) { self.dice = dice }

    /// A method of an object, from its introspection data.
    struct Member: Sendable {
        var path: String
        var interface: String
        var name: String
        var signature: String
    }

    private static let words =
        Permission.allCases.map(\.rawValue) + [
            "", "grant", "deny", "always", "once", "session", "until", "pause", "app", "permission", "limit", "offset",
            "since", "handle_token", "reasons", "explanation", "parent_window", "interactive", "hold", "level",
            "desktop", "system", "writable", "exe:/usr/bin/a", "exe:/bin/sh:/tmp/x", "flatpak:org.example.App",
            "snap:x", "desktop:x", "exe:", "exe:relative", "exe:/%", "exe:/%zz", "a:b:c", "Camera", "camera ",
            "../../etc/passwd", "/dev/video0", "*", "%n%n%s", "'; DROP TABLE decision; --", "<b>&amp;</b>",
            "\u{202E}evil", "\u{0}1".filter { $0 != "\u{0}" }, "\n\n\n", "\u{FEFF}", "é\u{301}\u{301}", "👩‍👩‍👧‍👦",
            "org.permd.Access1",
        ]
    private static let types =
        Array("ybnqiuxtdsogv").map(String.init) + [
            "as", "a{sv}", "a{ss}", "(ss)", "aa{sv}", "a{sa{sv}}", "ay", "a(ii)", "av", "(s(s(s)))", "h",
        ]

    mutating func text() -> String {
        switch dice.number(0...19) {
        case 0: return String(repeating: dice.pick(["x", "é", "/", "%", "\u{202E}"]), count: dice.number(0...3000))
        case 1:
            longTextsLeft -= 1
            return String(repeating: "long ", count: dice.number(1...(longTextsLeft < 0 ? 10 : 20_000)))
        case 2:
            return String((0..<dice.number(0...40)).map { _ in Character(UnicodeScalar(UInt8(dice.number(1...127)))) })
        case 3: return dice.pick(RandomMessage.words) + dice.pick(RandomMessage.words)
        case 4:
            return String(
                (0..<dice.number(0...20)).map { _ in Character(UnicodeScalar(UInt32(dice.number(1...0xD7FF)))!) })
        default: return dice.pick(RandomMessage.words)
        }
    }

    mutating func number() -> UInt64 {
        switch dice.number(0...4) {
        case 0: UInt64(dice.number(0...20))
        case 1: dice.pick([0, 1, .max, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x7FFF_FFFF_FFFF_FFFF, 1 << 63])
        default: dice.next()
        }
    }

    /// The maximum nesting depth: the D-Bus Specification allows 64, and a bus disconnects senders that exceed it.
    private static let deepest = 60

    /// Returns a value of that signature; a byte if the signature is not that of a single complete type.
    mutating func value(_ signature: Substring, depth: Int = 0) -> Value {
        let rest = signature.dropFirst()
        switch signature.first {
        case "b": return .bool(dice.oneIn(2))
        case "n": return .int16(Int16(truncatingIfNeeded: number()))
        case "q": return .uint16(UInt16(truncatingIfNeeded: number()))
        case "i": return .int32(Int32(truncatingIfNeeded: number()))
        case "u": return .uint32(UInt32(truncatingIfNeeded: number()))
        case "x": return .int64(Int64(truncatingIfNeeded: number()))
        case "t": return .uint64(number())
        case "d": return .double(Double(bitPattern: number()))
        case "s": return .string(text())
        case "o": return .objectPath(dice.pick(["/", "/org/permd", "/org/permd/request/1_1/t", "/a/b_c"]))
        case "g": return .signature(dice.pick(["", "s", "a{sv}", "(iiai)"]))
        case "h":
            descriptorsLeft -= 1
            let fd = descriptorsLeft < 0 ? -1 : open("/dev/null", O_RDWR | O_CLOEXEC)
            return fd < 0 ? .byte(0) : .unixFD(UnixFD(owning: fd))
        case "v":
            guard depth < RandomMessage.deepest - 8 else { return .variant(.byte(1)) }
            // Occasionally nested as deeply as a message may be.
            if dice.oneIn(30) {
                return (depth..<RandomMessage.deepest).reduce(Value.byte(1)) { value, _ in .variant(value) }.asVariant
            }
            return .variant(value(Substring(dice.pick(RandomMessage.types)), depth: depth + 1))
        case "a" where rest.first == "{":
            let inner = rest.dropFirst().dropLast()
            let key = inner.prefix(1)
            let entries = (0..<count(depth)).map { _ in
                DictionaryEntry(value(key, depth: depth + 2), value(inner.dropFirst(), depth: depth + 2))
            }
            return .dictionary(key: String(key), value: String(inner.dropFirst()), entries)
        case "a": return .array(of: String(rest), (0..<count(depth)).map { _ in value(rest, depth: depth + 1) })
        case "(":
            return .structure(RandomMessage.split(rest.dropLast()).map { value($0, depth: depth + 1) })
        default: return .byte(UInt8(truncatingIfNeeded: number()))
        }
    }

    private mutating func count(_ depth: Int) -> Int {
        if depth == 0, dice.oneIn(60) { return dice.number(100...5000) }
        return dice.number(0...4)
    }

    /// Splits a signature into single complete types.
    static func split(_ signature: Substring) -> [Substring] {
        var parts: [Substring] = []
        var rest = signature
        while !rest.isEmpty {
            var end = rest.startIndex
            while end < rest.endIndex, rest[end] == "a" { end = rest.index(after: end) }
            var depth = 0
            repeat {
                guard end < rest.endIndex else { return parts }
                if "({".contains(rest[end]) { depth += 1 }
                if ")}".contains(rest[end]) { depth -= 1 }
                end = rest.index(after: end)
            } while depth > 0
            parts.append(rest[..<end])
            rest = rest[end...]
        }
        return parts
    }

    mutating func call(_ member: Member, paths: [String]) -> Message {
        var member = member
        descriptorsLeft = 8
        longTextsLeft = 300
        var signatures = RandomMessage.split(Substring(member.signature)).map(String.init)
        if dice.oneIn(4) {
            switch dice.number(0...3) {
            case 0: if !signatures.isEmpty { signatures.removeLast() }
            case 1: signatures.append(dice.pick(RandomMessage.types))
            case 2:
                if !signatures.isEmpty {
                    signatures[dice.number(0...signatures.count - 1)] = dice.pick(RandomMessage.types)
                }
            default: signatures = (0..<dice.number(0...6)).map { _ in dice.pick(RandomMessage.types) }
            }
        }
        if dice.oneIn(12) { member.path = dice.pick(paths) }
        if dice.oneIn(25) { member.name = dice.pick(["Nothing", "a", "_", String(repeating: "N", count: 255)]) }
        if dice.oneIn(25) { member.interface = dice.pick(["org.permd.Nothing1", "a.b", "org.freedesktop.DBus"]) }
        return .call(
            destination: BusNames.service, path: member.path, interface: member.interface, member: member.name,
            signatures.map { value(Substring($0)) }, noAutoStart: true)
    }
}

extension Value {
    fileprivate var asVariant: Value { if case .variant = self { self } else { .variant(self) } }
}
