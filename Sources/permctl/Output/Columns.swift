// How many columns of a terminal a scalar takes, and which scalars may go to one.

import CLinux
import Glibc

enum Columns {
    /// Non-spacing marks on one letter. Every script gets along with them; more are drawn over the lines above and below.
    static let marks = 4

    /// wcwidth(3) knows more than ASCII only in a UTF-8 locale. C.UTF-8 does not depend on what the person has set. Where it
    /// is missing, nothing but ASCII is shown as it is.
    private static let knowsUnicode = setlocale(LC_CTYPE, "C.UTF-8") != nil

    /// Nil for what must not reach a terminal: controls (C0, C1, DEL), bidi marks, overrides and isolates, everything else
    /// that is drawn as nothing, and what has no known width.
    static func width(of scalar: Unicode.Scalar) -> Int? {
        if scalar.isASCII { return (0x20...0x7E).contains(scalar.value) ? 1 : nil }
        guard knowsUnicode else { return nil }
        switch scalar.value {
        // Zero width non-joiner and joiner; the selector of text presentation.
        case 0x200C, 0x200D, 0xFE0E: return 0
        // The selector of emoji presentation: a terminal may draw the character before it twice as wide.
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

    /// Of a text that is safe to show.
    static func width(of text: some Sequence<Unicode.Scalar>) -> Int { text.reduce(0) { $0 + (width(of: $1) ?? 0) } }
}
