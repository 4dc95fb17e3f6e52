// Text that is compared byte by byte.

/// Text that identifies something. Two values are equal if their bytes are equal.
///
/// `String` comparison would equate texts that SQLite and other programs distinguish (Unicode canonical equivalence).
package struct ExactText: Sendable, Hashable, Comparable, ExpressibleByStringLiteral {
    /// The text.
    package let text: String

    /// Wraps a text.
    package init(_ text: String) { self.text = text }

    /// Wraps a literal.
    package init(stringLiteral text: String) { self.text = text }

    /// Compares bytes.
    package static func == (a: ExactText, b: ExactText) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }

    /// Compares bytes, like SQLite's default collation.
    package static func < (a: ExactText, b: ExactText) -> Bool { a.text.utf8.lexicographicallyPrecedes(b.text.utf8) }

    /// Hashes the text as a `String`: equal bytes have equal hashes.
    package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
