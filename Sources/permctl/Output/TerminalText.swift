// The only texts that permctl writes to a terminal, a pipe or a log.

/// A text that does to a terminal what was meant: nothing that came from elsewhere moves the cursor, changes a colour, turns
/// a line around or begins a new one.
///
/// Literals are ours and stay as they are. Whatever is put into one (`"\(app)"`) is made safe, whoever it is from: the
/// daemon, a file, the command line.
struct TerminalText: ExpressibleByStringInterpolation, Equatable {
    let text: String

    /// A value from elsewhere on one line. White space becomes spaces; what is not to be shown is written as `\u{202e}`, so
    /// that two names that differ never look the same.
    init(_ value: String) {
        if value.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) {
            text = value
            return
        }
        var shown = String.UnicodeScalarView()
        var marks = 0
        for scalar in value.unicodeScalars {
            let width = Columns.width(of: scalar)
            marks = width == 0 ? marks + 1 : 0
            if scalar != " ", scalar.properties.isWhitespace {
                shown.append(" ")
            } else if width == nil || marks > Columns.marks {
                shown.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
            } else {
                shown.append(scalar)
            }
        }
        text = String(shown)
    }

    /// A text of several lines from elsewhere, as a library's usage message.
    init(lines value: String) {
        let lines = value.split(separator: "\n", omittingEmptySubsequences: false)
        text = lines.map { TerminalText(String($0)).text }.joined(separator: "\n")
    }

    /// What is safe already: parts of such texts, and our own escape sequences.
    private init(safe text: String) { self.text = text }

    init(stringLiteral text: String) { self.text = text }

    init(stringInterpolation: Interpolation) { text = stringInterpolation.text }

    struct Interpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) {}

        mutating func appendLiteral(_ literal: String) { text += literal }

        mutating func appendInterpolation(_ value: TerminalText) { text += value.text }

        mutating func appendInterpolation(_ value: some Any) { text += TerminalText(String(describing: value)).text }
    }

    static func + (a: TerminalText, b: TerminalText) -> TerminalText { TerminalText(safe: a.text + b.text) }

    static func spaces(_ count: Int) -> TerminalText {
        TerminalText(safe: String(repeating: " ", count: max(0, count)))
    }

    var isEmpty: Bool { text.isEmpty }

    /// Columns that the text takes on one line.
    var columns: Int { Columns.width(of: text.unicodeScalars) }

    /// Upper-case letters, of ours.
    var uppercased: TerminalText { TerminalText(safe: text.uppercased()) }

    func painted(_ colour: Colour) -> TerminalText { TerminalText(safe: colour.paint(text)) }

    /// Lines of at most so many columns, broken between words, and within one that is longer than a line. At least one.
    /// - Parameter indent: of all lines but the first.
    func wrapped(to width: Int, indent: Int = 0) -> [TerminalText] {
        let indent = min(indent, max(0, width - 2))
        var lines: [TerminalText] = []
        var line = String.UnicodeScalarView()
        var used = 0
        var isEmpty = true
        func end() {
            lines.append(TerminalText(safe: String(line)))
            line = String.UnicodeScalarView()
            line.append(contentsOf: repeatElement(" ", count: indent))
            used = indent
            isEmpty = true
        }
        for (index, word) in text.unicodeScalars.split(separator: " ", omittingEmptySubsequences: false).enumerated() {
            if index > 0 {
                if used + 1 + Columns.width(of: word) <= width {
                    line.append(" ")
                    used += 1
                    isEmpty = false
                } else {
                    end()
                }
            }
            for piece in TerminalText.pieces(of: word, width - indent) {
                let columns = Columns.width(of: piece)
                if !isEmpty, used + columns > width { end() }
                line.append(contentsOf: piece)
                used += columns
                isEmpty = false
            }
        }
        end()
        return lines
    }
}

extension TerminalText {
    /// Characters; of one that is wider than a line, its scalars.
    private static func pieces(of word: Substring.UnicodeScalarView, _ width: Int) -> [[Unicode.Scalar]] {
        Substring(word).flatMap { character -> [[Unicode.Scalar]] in
            let scalars = Array(character.unicodeScalars)
            return Columns.width(of: scalars) <= width ? [scalars] : scalars.map { [$0] }
        }
    }
}

extension [TerminalText] {
    func joined(separator: TerminalText = "") -> TerminalText {
        dropFirst().reduce(first ?? "") { $0 + separator + $1 }
    }
}
