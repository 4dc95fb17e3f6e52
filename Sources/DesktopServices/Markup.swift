// Plain text for programs that understand markup.

package enum Markup {
    /// Text without tags, for where panels differ: some show markup, some the characters that escape it.
    package static func withoutTags(_ text: String) -> String {
        text.replacing("<", with: "\u{2039}").replacing(">", with: "\u{203A}")
    }

    /// Text that contains no markup.
    package static func escaped(_ text: String) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }
}
