// How many terminal columns a scalar takes, and which scalars are safe to write to a terminal.

import CLinux
import Glibc

enum Columns {
    /// The most non-spacing marks shown on one letter. This is enough for every script; more would be drawn over the
    /// lines above and below.
    static let marks = 4

    /// wcwidth(3) knows more than ASCII only in a UTF-8 locale, and C.UTF-8 does not depend on the user's settings.
    /// Where it is missing, all but ASCII is escaped.
    private static let knowsUnicode = setlocale(LC_CTYPE, "C.UTF-8") != nil

    /// The columns that a scalar takes; nil for one that must not reach a terminal: controls (C0, C1, DEL), bidi marks,
    /// overrides and isolates, other invisible characters, and characters of unknown width.
    static func width(of scalar: Unicode.Scalar) -> Int? {
        if scalar.isASCII { return (0x20...0x7E).contains(scalar.value) ? 1 : nil }
        guard knowsUnicode else { return nil }
        switch scalar.value {
        // Zero width non-joiner and joiner, and the text presentation selector.
        case 0x200C, 0x200D, 0xFE0E: return 0
        // The emoji presentation selector: a terminal may draw the preceding character twice as wide.
        case 0xFE0F: return 1
        default: break
        }
        guard !scalar.properties.isDefaultIgnorableCodePoint else { return nil }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: return nil
        default: break
        }
        let columns = Int(wcwidth(wchar_t(scalar.value)))
        return columns < 0 ? nil : columns
    }

    /// The columns that a text takes. The text must already be safe to show.
    static func width(of text: some Sequence<Unicode.Scalar>) -> Int { text.reduce(0) { $0 + (width(of: $1) ?? 0) } }
}
