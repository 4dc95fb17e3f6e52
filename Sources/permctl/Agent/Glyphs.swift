// The characters that the agent writes: what a UTF-8 terminal shows, or ASCII alone.

import CLinux
import Glibc
import PermissionTexts

/// How texts of ``PromptTexts``, and the marks between them, are written.
///
/// On another terminal than one with UTF-8, a byte of a character beyond ASCII could be a control of its own (C1).
struct Glyphs: Equatable {
    let isUnicode: Bool

    static let unicode = Glyphs(isUnicode: true)
    static let ascii = Glyphs(isUnicode: false)

    /// Finds the language and the characters of the terminal, from the environment. The catalogs are for UTF-8, so on
    /// any other terminal all texts are English.
    static func ofTerminal() -> Glyphs {
        Texts.bind()
        let isUnicode = String(cString: nl_langinfo(nl_item(CODESET))) == "UTF-8" || namesUnicode
        if !isUnicode { setlocale(LC_ALL, "C") }
        // Columns needs it for the widths of characters.
        setlocale(LC_CTYPE, "C.UTF-8")
        return isUnicode ? .unicode : .ascii
    }

    /// Whether the environment names a UTF-8 locale. It may do so, as after a login over ssh, without the machine having
    /// that locale.
    private static var namesUnicode: Bool {
        func value(_ variable: String) -> String { getenv(variable).map { String(cString: $0).lowercased() } ?? "" }
        let name = ["LC_ALL", "LC_CTYPE", "LANG"].map(value).first { !$0.isEmpty } ?? ""
        return name.contains(".utf-8") || name.contains(".utf8")
    }

    // MARK: Marks

    var rule: TerminalText { isUnicode ? "─" : "-" }
    /// Marks each line of the app's words, so that none can pass for the agent's own.
    var bar: TerminalText { isUnicode ? "│ " : "| " }
    var arrow: TerminalText { isUnicode ? "→" : "->" }
    var ellipsis: TerminalText { isUnicode ? "…" : "..." }
    var selected: TerminalText { isUnicode ? "(•)" : "(*)" }
    /// The keys that scroll.
    var scrolling: TerminalText { isUnicode ? "[↑] [↓]" : "[Up] [Down]" }

    // MARK: Texts

    /// A text of which parts are from others. On a page, only keys are in square brackets: the ones of a name or a reason
    /// become round.
    func text(_ text: String) -> TerminalText {
        exact(String(text.map { Glyphs.roundBrackets[$0] ?? $0 }))
    }

    /// A text that must be shown as it is, such as an identity.
    func exact(_ text: String) -> TerminalText {
        // They are for text that is laid out with the Unicode bidirectional algorithm; a terminal does not know them.
        let plain = text.filter { !Glyphs.isolates.contains($0) }
        return TerminalText(isUnicode ? plain : Glyphs.inASCII(plain))
    }

    private static let isolates: Set<Character> = ["\u{2068}", "\u{2069}"]
    private static let roundBrackets: [Character: Character] = ["[": "(", "]": ")", "［": "(", "］": ")"]
    private static let plainForms: [Character: String] = [
        "“": "\"", "”": "\"", "‘": "'", "’": "'", "…": "...", "–": "-", "—": "-",
    ]

    private static func inASCII(_ text: String) -> String {
        text.reduce(into: "") { result, character in
            if character.isASCII {
                result.append(character)
            } else if let form = plainForms[character] {
                result += form
            } else {
                for scalar in character.unicodeScalars { result += "\\u{\(String(scalar.value, radix: 16))}" }
            }
        }
    }
}
