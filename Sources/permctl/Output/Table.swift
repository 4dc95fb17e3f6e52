// Tables with aligned columns, and what becomes of them on a terminal that is too narrow.

import PermissionClient

struct Cell: ExpressibleByStringInterpolation {
    let text: TerminalText
    /// What a terminal shows instead, unless everything is wanted in full.
    let brief: TerminalText
    let colour: Colour?

    init(_ text: String, brief: String? = nil, _ colour: Colour? = nil) {
        self.text = TerminalText(text)
        self.brief = brief.map { TerminalText($0) } ?? self.text
        self.colour = colour
    }

    init(stringLiteral text: String) { self.init(text) }

    /// An app, by its short name if only one app has it.
    init(_ app: AppID, _ names: ShortNames?) {
        self.init(app.description, brief: names?.isUnique(app) == true ? app.shortName : nil)
    }
}

/// A column of a table.
struct Column: ExpressibleByStringLiteral {
    let title: String
    /// Whether a terminal that is too narrow shows the table without it.
    let isDetail: Bool
    /// A value that says nothing. A terminal does not show a column in which every cell has it or is empty.
    let usual: String?

    init(_ title: String, isDetail: Bool = false, usual: String? = nil) {
        self.title = title
        self.isDetail = isDetail
        self.usual = usual
    }

    init(stringLiteral title: String) { self.init(title) }
}

struct Table {
    private let columns: [Column]
    private let rows: [[Cell]]

    init(_ columns: [Column], _ rows: [[Cell]]) { (self.columns, self.rows) = (columns, rows) }

    /// - Parameters:
    ///   - width: of the terminal; nil for a file or a pipe, where each row is one line with everything.
    ///   - isWide: whether a terminal shows everything in full as well.
    ///
    /// No line is longer than the terminal: if the terminal wrapped a long name itself, its end could look like a row
    /// of its own. Cells are wrapped between words. If that does not help, each row becomes a block of lines.
    func text(legend: Bool, colour: Bool, columns width: Int? = nil, isWide: Bool = false) -> TerminalText {
        let isFull = width == nil || isWide
        var shown = columns.indices.filter { isFull || says(something: $0) }
        func grid() -> Grid {
            let titles = shown.map { columns[$0].title }
            let heading = titles.map { (text: TerminalText($0.uppercased()), colour: colour ? Colour.faint : nil) }
            let cells = rows.map { row in
                shown.map { (text: isFull ? row[$0].text : row[$0].brief, colour: colour ? row[$0].colour : nil) }
            }
            return Grid(titles: titles, heading: legend ? [heading] : [], rows: cells)
        }
        guard let width else { return grid().text(grid().widths) }
        while !isFull, !Grid.fit(grid().widths, width), let detail = shown.last(where: { columns[$0].isDetail }) {
            shown.removeAll { $0 == detail }
        }
        return grid().text(fitting: width)
    }

    private func says(something column: Int) -> Bool {
        guard let usual = columns[column].usual, !rows.isEmpty else { return true }
        return rows.contains { !["", usual].contains($0[column].text.text) }
    }
}

/// The cells that are shown.
private struct Grid {
    typealias Piece = (text: TerminalText, colour: Colour?)

    let titles: [String]
    /// The titles as a row, unless there are to be none.
    let heading: [[Piece]]
    let rows: [[Piece]]

    /// Spaces between two cells; also the indentation of all lines of a cell but the first.
    private static let gap = 2

    static func fit(_ widths: [Int], _ width: Int) -> Bool { widths.reduce(gap * (widths.count - 1), +) < width }

    var widths: [Int] { most(\.columns) }

    /// The widths without which a word would be broken.
    private var leastWidths: [Int] {
        most { text in
            let words = text.wordColumns
            return max(words.first ?? 0, (words.dropFirst().max() ?? -Grid.gap) + Grid.gap)
        }
    }

    private func most(_ measure: (TerminalText) -> Int) -> [Int] {
        titles.indices.map { column in (heading + rows).map { measure($0[column].text) }.max() ?? 0 }
    }

    func text(fitting width: Int) -> TerminalText {
        var (widths, least) = (widths, leastWidths)
        guard Grid.fit(least, width) else { return blocks(width) }
        while !Grid.fit(widths, width),
            let widest = widths.indices.filter({ widths[$0] > least[$0] }).max(by: { widths[$0] < widths[$1] })
        {
            widths[widest] -= 1
        }
        return text(widths)
    }

    /// Cells side by side.
    func text(_ widths: [Int]) -> TerminalText {
        (heading + rows).flatMap { Grid.lines(of: $0, widths) }.joined(separator: "\n")
    }

    private static func lines(of row: [Piece], _ widths: [Int]) -> [TerminalText] {
        let cells = zip(row, widths).map { $0.text.wrapped(to: $1, indent: gap) }
        return (0..<(cells.map(\.count).max() ?? 0)).map { line in
            var result: TerminalText = ""
            var space = 0
            for (column, parts) in cells.enumerated() {
                let part = line < parts.count ? parts[line] : ""
                if !part.isEmpty {
                    result = result + .spaces(space) + part.painted(row[column].colour)
                    space = 0
                }
                space += widths[column] - part.columns + gap
            }
            return result
        }
    }

    /// The first cell of a row, and below it a line for each other cell that says something, with its title.
    private func blocks(_ width: Int) -> TerminalText {
        let first = (titles.firstIndex { !$0.isEmpty } ?? 0) + 1
        let label = (titles.dropFirst(first).map(\.count).max() ?? 0) + Grid.gap
        return rows.flatMap { row -> [TerminalText] in
            let heading = row.prefix(first).map(\.text).joined(separator: "  ")
            let others = zip(titles, row).dropFirst(first).filter { !["", "-"].contains($1.text.text) }
            let lines =
                [(heading, row[0].colour)]
                + others.map { title, piece in
                    let title = TerminalText(title)
                    return (.spaces(Grid.gap) + title + .spaces(label - title.columns) + piece.text, piece.colour)
                }
            return lines.flatMap { text, colour in
                text.wrapped(to: width - 1, indent: Grid.gap * 2).map { $0.painted(colour) }
            }
        }.joined(separator: "\n")
    }
}
