// The only type of text that permctl writes to a terminal, a pipe or a log.

/// Text that is safe to show on a terminal: no value from outside the program can move the cursor, change a colour,
/// reverse the direction of a line or begin a new one.
///
/// Literals stay as they are. Every interpolated value (`"\(app)"`) is escaped, whether it is from the daemon, a file
/// or the command line.
struct TerminalText: ExpressibleByStringInterpolation, Equatable {
    let text: String

    /// Escapes an untrusted value into one line. White space becomes spaces; unsafe characters are written in the form
    /// `\u{202e}` rather than dropped, so that a name with such a character does not look like one without.
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

    /// Escapes an untrusted text of several lines, such as a library's usage message.
    init(lines value: String) {
        let lines = value.split(separator: "\n", omittingEmptySubsequences: false)
        text = lines.map { TerminalText(String($0)).text }.joined(separator: "\n")
    }

    /// Text that is already safe: parts of other `TerminalText` values, and permctl's own escape sequences.
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

    /// The columns that the text takes on one line.
    var columns: Int { Columns.width(of: text.unicodeScalars) }

    /// The text with each line wrapped between words; what continues a line is indented further than the line.
    func fitted(to columns: Int) -> TerminalText {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.flatMap { line in
            let margin = line.prefix { $0 == " " }.count
            let room = max(2, columns - 1 - margin)
            return TerminalText(safe: String(line.dropFirst(margin))).wrapped(to: room, indent: 2)
                .map { .spaces(margin) + $0 }
        }.joined(separator: "\n")
    }

    /// The columns of each word.
    var wordColumns: [Int] {
        text.unicodeScalars.split(separator: " ", omittingEmptySubsequences: false).map { Columns.width(of: $0) }
    }

    func painted(_ colour: Colour?) -> TerminalText { colour.map { TerminalText(safe: $0.paint(text)) } ?? self }

    /// The text with its end replaced by `mark` if it takes more than `width` columns.
    func cut(to width: Int, _ mark: TerminalText) -> TerminalText {
        guard columns > width else { return self }
        var used = mark.columns
        let start = text.prefix { character in
            used += Columns.width(of: character.unicodeScalars)
            return used <= width
        }
        return TerminalText(safe: String(start)) + mark
    }

    /// Breaks the text into lines of at most `width` columns, between words, or within a word that is longer than a
    /// line. Returns at least one line.
    /// - Parameter indent: the columns by which all lines but the first are indented.
    func wrapped(to width: Int, indent: Int = 0) -> [TerminalText] {
        guard columns > width else { return [self] }
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
    /// The characters of a word; one that is wider than a line is split into its scalars.
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
