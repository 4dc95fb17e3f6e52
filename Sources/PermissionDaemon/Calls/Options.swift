// Reads the a{sv} options of a call. Unknown keys are ignored; a known key of the wrong type is an error.

import DBus
import PermissionCore
import PermissionModel

struct Options {
    private let values: [String: Value]

    init(_ value: Value) throws(PermissionError) {
        guard let values = value.properties else {
            throw PermissionError(.invalidArguments, "the options are not an a{sv} dictionary")
        }
        self.values = values
    }

    func string(_ key: String) throws(PermissionError) -> String? { try read(key, "s") { $0.stringValue } }
    func bool(_ key: String) throws(PermissionError) -> Bool? { try read(key, "b") { $0.boolValue } }
    func uint32(_ key: String) throws(PermissionError) -> UInt32? { try read(key, "u") { $0.uint32Value } }
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

    /// The fields of each structure in an array of structures of that signature.
    func structures(_ key: String, _ signature: String) throws(PermissionError) -> [[Value]]? {
        try read(key, "a\(signature)") { value in
            guard case .array(signature, let elements) = value else { return nil }
            return elements.compactMap(\.elements)
        }
    }

    func app() throws(PermissionError) -> AppID? { try parsed("app", parseApp) }

    /// The option `permission`, which may also name a portal's question.
    func item() throws(PermissionError) -> PromptItem? { try parsed("permission", parseItem) }

    func outcome() throws(PermissionError) -> Outcome? {
        try parsed("outcome") { text throws(PermissionError) in
            guard let outcome = Outcome(rawValue: text), outcome != .unknown else {
                throw PermissionError(.invalidArguments, "there is no outcome \(quoted(text))")
            }
            return outcome
        }
    }

    /// A text that means something; nil if absent or empty.
    private func parsed<T>(
        _ key: String, _ parse: (String) throws(PermissionError) -> T
    ) throws(PermissionError) -> T? {
        guard let text = try string(key), !text.isEmpty else { return nil }
        return try parse(text)
    }

    /// A time in seconds since the epoch, `t`.
    func time(_ key: String) throws(PermissionError) -> EpochSeconds? {
        try read(key, "t") { $0.uint64Value }.map { EpochSeconds(clamping: $0) }
    }

    private func read<T>(
        _ key: String, _ signature: String, _ decode: (Value) -> T?
    ) throws(PermissionError) -> T? {
        guard let value = values[key] else { return nil }
        guard let decoded = decode(value) else {
            throw PermissionError(
                .invalidArguments, "the option \(key) has type \(value.signature) instead of \(signature)")
        }
        return decoded
    }
}

func parsePermission(_ text: String) throws(PermissionError) -> Permission {
    guard let permission = Permission(rawValue: text) else { throw unknownPermission(text) }
    return permission
}

/// Parses a permission or a portal's question. Both have rows that can be listed and pauses that can be lifted.
func parseItem(_ text: String) throws(PermissionError) -> PromptItem {
    guard let item = PromptItem(name: text) else { throw unknownPermission(text) }
    return item
}

private func unknownPermission(_ text: String) -> PermissionError {
    let known = Permission.allCases.map(\.rawValue).joined(separator: ", ")
    return PermissionError(.invalidArguments, "there is no permission \(quoted(text)); the permissions are \(known)")
}

func parseApp(_ text: String) throws(PermissionError) -> AppID {
    guard let app = AppID(text) else {
        throw PermissionError(
            .invalidArguments,
            "\(quoted(text)) is not an app: use flatpak:ID, snap:NAME, exe:/path or exe:/path:/file")
    }
    return app
}

/// Parses the permissions of a call and keeps their order. Throws if one is named twice.
func parsePermissions(_ value: Value) throws(PermissionError) -> [Permission] {
    guard let texts = value.strings else {
        throw PermissionError(.invalidArguments, "the permissions are not an array of strings")
    }
    // A longer list must contain a repeated or unknown one. Rejecting it first limits the work.
    guard texts.count <= Permission.allCases.count else {
        throw PermissionError(
            .invalidArguments, "\(texts.count) permissions are named, but only \(Permission.allCases.count) exist")
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

/// The same, where an empty list means all.
func parsePermissionsOrAll(_ value: Value) throws(PermissionError) -> [Permission] {
    let named = try parsePermissions(value)
    return named.isEmpty ? Permission.allCases : named
}

/// Returns a caller's text shortened and sanitized for use in a message.
func quoted(_ text: String) -> String {
    let shown = 64
    let isCut = !text.unicodeScalars.dropFirst(shown).isEmpty
    return "“\(SafeText.line(String(text.unicodeScalars.prefix(shown))))\(isCut ? "…" : "")”"
}
