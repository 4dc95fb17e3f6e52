// Texts of others, made safe to show: nothing in them hides a button, fakes a line of ours or outgrows its place.

public enum SafeText {
    /// Scalars of an app's identity: longer than any path that was not made to be long.
    static let identityScalars = 512
    /// Scalars looked at: what is removed is not counted against a limit, and a text without end is not read to its end.
    static let examinedScalars = 16 << 10

    /// A title or an app's name.
    public static func title(_ text: String) -> String { clean(text, limit: Limits.titleScalars) }

    /// A reason or the body of an explanation.
    public static func body(_ text: String) -> String { clean(text, limit: Limits.bodyScalars) }

    /// An app's identity. What ``title(_:)`` would remove or change is shown as its bytes, `%E2%80%AE`: two apps that differ
    /// never look the same. The middle of a long one is cut, so that both its kind and its program are seen.
    public static func identity(_ identity: String) -> String {
        let shown = visible(identity, keepsSpaces: false) { $0.utf8.map(percentEscaped).joined() }
        let scalars = shown.unicodeScalars
        guard scalars.count > identityScalars else { return shown }
        let half = (identityScalars - 1) / 2
        return String(scalars.prefix(half)) + "…" + String(scalars.suffix(half))
    }

    /// A line for a log or an error. What ``title(_:)`` would remove or change is shown as `\u{202e}`; nothing is cut.
    public static func line(_ text: String) -> String {
        if text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return text }
        return visible(text, keepsSpaces: true) { "\\u{\(String($0.value, radix: 16))}" }
    }

    /// Removes what is not seen and what only changes its surroundings; makes each run of white space one space; trims; cuts
    /// to `limit` scalars, the ellipsis included. Reads no further than it must.
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

    /// The first whole characters that leave space for the ellipsis.
    private static func cut(_ scalars: [Unicode.Scalar], _ limit: Int) -> String {
        var kept = 0
        // One scalar more than fits shows whether the last character goes on.
        for character in string(Array(scalars.prefix(limit))) {
            let count = character.unicodeScalars.count
            if kept + count > limit - 1 { break }
            kept += count
        }
        while kept > 0, scalars[kept - 1] == " " { kept -= 1 }
        return string(Array(scalars.prefix(kept))) + "…"
    }

    /// The text with what would not be shown, or not as it is, in its escaped form.
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
