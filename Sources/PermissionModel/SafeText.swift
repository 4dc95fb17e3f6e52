// Makes text from other programs safe to show.

/// Makes text from other programs safe to show: it cannot imitate or displace other text in a prompt or a log.
public enum SafeText {
    /// The maximum number of scalars in a shown identity. Ordinary paths are shorter.
    static let identityScalars = 512
    /// The maximum number of scalars that are read of a text, because removed scalars do not count towards its limit:
    /// bidirectional marks, soft hyphens, further spaces. Texts have far fewer of them than of others.
    static let examinedScalars = 4 * Limits.bodyScalars

    /// Returns a title or an app's name with at most ``Limits/titleScalars`` scalars; see ``body(_:)``.
    public static func title(_ text: String) -> String { clean(text, limit: Limits.titleScalars) }

    /// Returns an app's name with at most ``Limits/titleScalars`` scalars, as ``title(_:)`` does, but with the middle of a
    /// long name cut: names of one maker's apps differ at the end.
    public static func name(_ text: String) -> String {
        let shown = clean(text, limit: examinedScalars)
        guard shown.unicodeScalars.count > Limits.titleScalars else { return shown }
        var (start, end) = (shown.startIndex, shown.endIndex)
        var left = Limits.titleScalars - 1
        while true {
            let takesStart = shown[..<start].count <= shown[end...].count
            let next = takesStart ? start : shown.index(before: end)
            left -= shown[next].unicodeScalars.count
            guard left >= 0 else { break }
            if takesStart { start = shown.index(after: start) } else { end = next }
        }
        return "\(shown[..<start])…\(shown[end...])"
    }

    /// Returns a reason or the body of an explanation with at most ``Limits/bodyScalars`` scalars.
    ///
    /// Controls, invisible and unassigned characters are removed, and runs of white space become one space. A text that
    /// is too long is cut and ends with an ellipsis.
    public static func body(_ text: String) -> String { clean(text, limit: Limits.bodyScalars) }

    /// Returns an app's identity. Characters that ``title(_:)`` would remove or change are shown as bytes, such as
    /// `%E2%80%AE`, so that different identities never look the same. The middle of a long identity is cut, so that
    /// both its kind and its program are visible.
    public static func identity(_ identity: String) -> String {
        let shown = visible(identity, keepsSpaces: false) { $0.utf8.map(percentEscaped).joined() }
        let scalars = shown.unicodeScalars
        guard scalars.count > identityScalars else { return shown }
        let half = (identityScalars - 1) / 2
        return String(scalars.prefix(half)) + "…" + String(scalars.suffix(half))
    }

    /// Returns a line for a log or an error message. Characters that ``title(_:)`` would remove or change are shown as
    /// `\u{202e}`; nothing is cut.
    public static func line(_ text: String) -> String {
        if text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return text }
        return visible(text, keepsSpaces: true) { "\\u{\(String($0.value, radix: 16))}" }
    }

    /// Removes scalars that are not shown, reduces white space to single spaces, trims, and cuts the text to `limit`
    /// scalars including the ellipsis. Does not read more of the text than necessary.
    static func clean(_ text: String, limit: Int) -> String {
        var shown = ShownText()
        var isSpacePending = false
        for scalar in text.unicodeScalars.prefix(examinedScalars) {
            if ShownText.isSpace(scalar) {
                isSpacePending = !shown.scalars.isEmpty
                continue
            }
            guard shown.append(scalar, afterSpace: isSpacePending) else { continue }
            isSpacePending = false
            if shown.scalars.count > limit { return cut(shown.scalars, limit) }
        }
        return string(shown.scalars)
    }

    /// Returns the first characters that leave space for the ellipsis, and the ellipsis.
    private static func cut(_ scalars: [Unicode.Scalar], _ limit: Int) -> String {
        var kept = 0
        // The scalars include one more than fits, which shows whether the last character is complete.
        for character in string(Array(scalars.prefix(limit))) {
            let count = character.unicodeScalars.count
            if kept + count > limit - 1 { break }
            kept += count
        }
        while kept > 0, scalars[kept - 1] == " " { kept -= 1 }
        return string(Array(scalars.prefix(kept))) + "…"
    }

    /// Returns the text with all scalars escaped that would be removed or changed.
    private static func visible(
        _ text: String, keepsSpaces: Bool, _ escaped: (Unicode.Scalar) -> String
    ) -> String {
        var out = ""
        var shown = ShownText()
        let scalars = Array(text.unicodeScalars)
        for (index, scalar) in scalars.enumerated() {
            let isInside = index > 0 && index + 1 < scalars.count && scalars[index - 1] != " "
            if scalar == " ", keepsSpaces || isInside {
                shown.endCharacter()
                out.unicodeScalars.append(scalar)
            } else if !ShownText.isSpace(scalar), shown.append(scalar, afterSpace: false) {
                out.unicodeScalars.append(scalar)
            } else {
                shown.endCharacter()
                out += escaped(scalar)
            }
        }
        return out
    }

    private static func percentEscaped(_ byte: UInt8) -> String {
        (byte < 0x10 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
    }

    private static func string(_ scalars: [Unicode.Scalar]) -> String {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: scalars)
        return String(text)
    }
}
