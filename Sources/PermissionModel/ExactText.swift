// Texts that identify something: equal when their bytes are.

/// For `String` two texts are equal that others tell apart (canonical equivalence).
public struct ExactText: Sendable, Hashable, Comparable, ExpressibleByStringLiteral {
    public let text: String

    public init(_ text: String) { self.text = text }

    public init(stringLiteral text: String) { self.text = text }

    public static func == (a: ExactText, b: ExactText) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }

    public static func < (a: ExactText, b: ExactText) -> Bool { a.text.utf8.lexicographicallyPrecedes(b.text.utf8) }

    /// Texts that are equal for `String` alone share a hash, which is allowed.
    public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
