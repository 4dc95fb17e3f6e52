// Texts from apps, made safe to show: nothing in them can hide a button or fake a line of ours.

import PermissionModel

public enum SafeText {
    /// A title or an app's name.
    public static func title(_ text: String) -> String { clean(text, limit: Limits.titleScalars) }

    /// A reason or the body of an explanation.
    public static func body(_ text: String) -> String { clean(text, limit: Limits.bodyScalars) }

    /// Removes controls, bidi overrides and isolates; makes each run of white space one space; trims; cuts to `limit`
    /// scalars, the ellipsis included. Reads no further than it must.
    static func clean(_ text: String, limit: Int) -> String {
        var scalars: [Unicode.Scalar] = []
        var isSpacePending = false
        for scalar in text.unicodeScalars {
            if scalar.properties.isWhitespace {
                isSpacePending = !scalars.isEmpty
                continue
            }
            if isRemoved(scalar) { continue }
            if isSpacePending {
                scalars.append(" ")
                isSpacePending = false
            }
            scalars.append(scalar)
            if scalars.count > limit { return cut(scalars, limit) }
        }
        return string(scalars)
    }

    /// The first whole characters that leave room for the ellipsis.
    private static func cut(_ scalars: [Unicode.Scalar], _ limit: Int) -> String {
        var kept = 0
        // One scalar more than fits shows whether the last character goes on.
        for character in string(Array(scalars.prefix(limit))) {
            let count = character.unicodeScalars.count
            if kept + count > limit - 1 { break }
            kept += count
        }
        // A character longer than the whole room is cut inside rather than lost.
        if kept == 0 { kept = limit - 1 }
        while kept > 0, scalars[kept - 1] == " " { kept -= 1 }
        return string(Array(scalars.prefix(kept))) + "…"
    }

    private static func string(_ scalars: [Unicode.Scalar]) -> String {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: scalars)
        return String(text)
    }

    private static func isRemoved(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x202A...0x202E, 0x2066...0x2069: true
        default: scalar.properties.generalCategory == .control
        }
    }
}
