// Breaks the parts of a prompt's page into lines of a terminal's width.

struct Typesetter {
    let glyphs: Glyphs
    /// The width of the terminal.
    let columns: Int

    /// Longer lines are hard to read, even on a wide terminal.
    private static let longestLine = 100
    private static let longestRule = 78
    /// Narrower terminals are wide enough for a word at most.
    static let leastColumns = 12
    /// Terminals that are narrower than these have no room for margins, or for wide ones.
    private static let narrow = 40
    private static let small = 60

    private var margin: Int { columns < Typesetter.narrow ? 0 : columns < Typesetter.small ? 1 : 3 }
    private var gap: Int { columns < Typesetter.small ? 2 : 3 }

    /// The last column stays free because some terminals wrap as soon as it is filled.
    var width: Int { min(columns, Typesetter.longestLine) - 1 }

    /// A question. Each of its lines is marked, so that a name cannot fill one with something else.
    func heading(_ text: TerminalText) -> [TerminalText] {
        let mark = glyphs.rule + glyphs.rule + " "
        var lines = text.wrapped(to: width - mark.columns).map { mark + $0 }
        let rest = min(width, Typesetter.longestRule) - (lines.last?.columns ?? 0) - 1
        if rest > 0 {
            lines[lines.count - 1] =
                lines[lines.count - 1] + " " + Array(repeating: glyphs.rule, count: rest).joined(separator: "")
        }
        return Output.isColoured ? lines.map { $0.painted(.bold) } : lines
    }

    /// - Parameter hanging: the columns by which all lines but the first are indented.
    func paragraph(_ text: TerminalText, hanging: Int = 0) -> [TerminalText] {
        text.wrapped(to: width - margin, indent: hanging).map { .spaces(margin) + $0 }
    }

    /// One line, whose end is left out if there is no room for it.
    func cut(_ text: TerminalText) -> TerminalText {
        .spaces(margin) + text.cut(to: width - margin, glyphs.ellipsis)
    }

    /// Words of the app or the portal.
    func quoted(_ text: TerminalText) -> [TerminalText] {
        text.wrapped(to: width - margin - glyphs.bar.columns).map { .spaces(margin) + glyphs.bar + $0 }
    }

    /// Puts as many parts side by side as fit in a line, without breaking one that fits in a line by itself.
    func row(_ parts: [TerminalText]) -> [TerminalText] {
        var lines: [TerminalText] = []
        for part in parts {
            if let last = lines.last, last.columns + gap + part.columns <= width {
                lines[lines.count - 1] = last + .spaces(gap) + part
            } else {
                lines += paragraph(part, hanging: 4)
            }
        }
        return lines
    }

    /// The line with a note at its end, which is shortened if necessary; nil if there is no room for it.
    func line(_ text: TerminalText, _ note: TerminalText) -> TerminalText? {
        let room = width - text.columns - gap
        return room < min(Typesetter.leastNote, note.columns)
            ? nil : text + .spaces(gap) + note.cut(to: room, glyphs.ellipsis)
    }

    /// Less of a note says nothing.
    private static let leastNote = 12

    /// The most columns that the name in a question may take: two lines.
    var nameColumns: Int { 2 * (width - 3) }
}
