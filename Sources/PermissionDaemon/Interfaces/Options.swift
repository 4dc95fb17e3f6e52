// Reads the a{sv} options of a call: unknown keys are ignored, a known key of the wrong type is InvalidArguments.

import DBus
import PermissionCore
import PermissionModel

struct Options {
    private let values: [String: Value]

    init(_ value: Value) throws(PermissionError) {
        guard let values = value.properties else {
            throw PermissionError(.invalidArguments, "the options are no a{sv} dictionary")
        }
        self.values = values
    }

    func string(_ key: String) throws(PermissionError) -> String? { try read(key, "s") { $0.stringValue } }
    func bool(_ key: String) throws(PermissionError) -> Bool? { try read(key, "b") { $0.boolValue } }
    func uint32(_ key: String) throws(PermissionError) -> UInt32? { try read(key, "u") { $0.uint32Value } }
    func uint64(_ key: String) throws(PermissionError) -> UInt64? { try read(key, "t") { $0.uint64Value } }
    func table(_ key: String) throws(PermissionError) -> [String: String]? { try read(key, "a{ss}") { $0.stringTable } }

    /// A structure of two strings, `(ss)`.
    func pair(_ key: String) throws(PermissionError) -> (String, String)? {
        try read(key, "(ss)") { value in
            guard case .structure(let fields) = value, fields.count == 2, let first = fields[0].stringValue,
                let second = fields[1].stringValue
            else { return nil }
            return (first, second)
        }
    }

    /// An array of structures of that signature, each with its fields.
    func structures(_ key: String, _ signature: String) throws(PermissionError) -> [[Value]]? {
        try read(key, "a\(signature)") { value in
            guard case .array(signature, let elements) = value else { return nil }
            return elements.compactMap(\.elements)
        }
    }

    /// An app of one of the contract's forms; nil when absent or empty.
    func app() throws(PermissionError) -> AppID? {
        guard let text = try string("app"), !text.isEmpty else { return nil }
        return try parseApp(text)
    }

    /// What rows may be about, in the option `permission`; nil when absent or empty.
    func question() throws(PermissionError) -> Question? {
        guard let text = try string("permission"), !text.isEmpty else { return nil }
        return try parseQuestion(text)
    }

    /// A time of day in seconds since the epoch, `t`.
    func time(_ key: String) throws(PermissionError) -> EpochSeconds? {
        guard let value = try uint64(key) else { return nil }
        return EpochSeconds(clamping: value)
    }

    private func read<T>(
        _ key: String, _ signature: String, _ decode: (Value) -> T?
    ) throws(PermissionError) -> T? {
        guard let value = values[key] else { return nil }
        guard let decoded = decode(value) else {
            throw PermissionError(
                .invalidArguments, "the option \(key) is of type \(value.signature), not \(signature)")
        }
        return decoded
    }
}

func parsePermission(_ text: String) throws(PermissionError) -> Permission {
    guard let permission = Permission(rawValue: text) else { throw unknownPermission(text) }
    return permission
}

/// A permission, or a question of portals, whose rows can be listed and whose pauses can be lifted.
func parseQuestion(_ text: String) throws(PermissionError) -> Question {
    guard let question = Question(name: text) else { throw unknownPermission(text) }
    return question
}

private func unknownPermission(_ text: String) -> PermissionError {
    let known = Permission.allCases.map(\.rawValue).joined(separator: ", ")
    return PermissionError(.invalidArguments, "there is no permission \(quoted(text)); there are \(known)")
}

func parseApp(_ text: String) throws(PermissionError) -> AppID {
    guard let app = AppID(text) else {
        throw PermissionError(
            .invalidArguments,
            "\(quoted(text)) is no app: an app is flatpak:ID, snap:NAME, desktop:ID, exe:/path or exe:/path:/script")
    }
    return app
}

/// The permissions of a call, in its order; none twice.
func parsePermissions(_ value: Value) throws(PermissionError) -> [Permission] {
    guard let texts = value.strings else {
        throw PermissionError(.invalidArguments, "the permissions are no array of strings")
    }
    // More than there are means one is twice or unknown; this bounds the work before each is looked at.
    guard texts.count <= Permission.allCases.count else {
        throw PermissionError(
            .invalidArguments, "\(texts.count) permissions are named; there are \(Permission.allCases.count)")
    }
    var permissions: [Permission] = []
    for text in texts {
        let permission = try parsePermission(text)
        guard !permissions.contains(permission) else {
            throw PermissionError(.invalidArguments, "\(permission.rawValue) is named twice")
        }
        permissions.append(permission)
    }
    return permissions
}

/// A caller's text inside one of our messages: short, and safe to show.
func quoted(_ text: String) -> String {
    let shown = 64
    let isCut = !text.unicodeScalars.dropFirst(shown).isEmpty
    return "“\(SafeText.line(String(text.unicodeScalars.prefix(shown))))\(isCut ? "…" : "")”"
}
