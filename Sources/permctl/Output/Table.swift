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
    let columns: [Column]
    private(set) var rows: [[Cell]] = []

    init(_ columns: Column...) { self.columns = columns }
    init(_ columns: [Column]) { self.columns = columns }

    mutating func add(_ cells: Cell...) { rows.append(cells) }

    mutating func add(_ cells: [Cell]) { rows.append(cells) }

    /// Spaces between two cells.
    private static let gap = 2

    /// - Parameters:
    ///   - columns: the width of the terminal; nil for a file or a pipe, where each row is one line with everything.
    ///   - isWide: whether a terminal shows everything in full as well.
    ///
    /// No line is longer than the terminal: if the terminal wrapped a long name itself, its end could look like a row
    /// of its own. Cells are wrapped between words. If that does not help, each row becomes a block of lines.
    func text(legend: Bool, colour: Bool, columns: Int? = nil, isWide: Bool = false) -> TerminalText {
        let isFull = columns == nil || isWide
        var shown = Array(self.columns.indices)
        if !isFull { shown = shown.filter { says(something: $0) } }
        guard let columns else {
            return grid(shown, widths(shown, legend, isFull), legend, colour, isFull, wraps: false)
        }
        func fits(_ widths: [Int]) -> Bool { widths.reduce(Table.gap * (widths.count - 1), +) < columns }
        while !isFull, !fits(widths(shown, legend, isFull)),
            let detail = shown.last(where: { self.columns[$0].isDetail })
        {
            shown.removeAll { $0 == detail }
        }
        var widths = widths(shown, legend, isFull)
        let least = leastWidths(shown, legend, isFull)
        guard fits(least) else { return blocks(shown, columns, colour, isFull) }
        while !fits(widths),
            let widest = widths.indices.filter({ widths[$0] > least[$0] }).max(by: { widths[$0] < widths[$1] })
        {
            widths[widest] -= 1
        }
        return grid(shown, widths, legend, colour, isFull, wraps: true)
    }

    private func says(something column: Int) -> Bool {
        guard let usual = columns[column].usual, !rows.isEmpty else { return true }
        return rows.contains { !["", usual].contains($0[column].text.text) }
    }

    private func titles(_ shown: [Int]) -> [Cell] { shown.map { Cell(columns[$0].title.uppercased(), .faint) } }

    private func texts(_ column: Int, _ legend: Bool, _ isFull: Bool) -> [TerminalText] {
        let title = legend ? [TerminalText(columns[column].title.uppercased())] : []
        return title + rows.map { isFull ? $0[column].text : $0[column].brief }
    }

    private func widths(_ shown: [Int], _ legend: Bool, _ isFull: Bool) -> [Int] {
        shown.map { texts($0, legend, isFull).map(\.columns).max() ?? 0 }
    }

    /// The widths without which a word would be broken. All lines of a cell but the first are indented.
    private func leastWidths(_ shown: [Int], _ legend: Bool, _ isFull: Bool) -> [Int] {
        shown.map { column in
            texts(column, legend, isFull).map { text in
                let words = text.wordColumns
                return max(words.first ?? 0, (words.dropFirst().max() ?? -Table.gap) + Table.gap)
            }.max() ?? 0
        }
    }

    // MARK: Rows side by side

    private func grid(
        _ shown: [Int], _ widths: [Int], _ legend: Bool, _ colour: Bool, _ isFull: Bool, wraps: Bool
    ) -> TerminalText {
        let rows = self.rows.map { row in shown.map { (isFull ? row[$0].text : row[$0].brief, row[$0].colour) } }
        let titles = legend ? [titles(shown).map { ($0.text, $0.colour) }] : []
        return (titles + rows).flatMap { Table.lines(of: $0, widths, colour: colour, wraps: wraps) }
            .joined(separator: "\n")
    }

    private static func lines(
        of row: [(text: TerminalText, colour: Colour?)], _ widths: [Int], colour: Bool, wraps: Bool
    ) -> [TerminalText] {
        let cells = row.indices.map { wraps ? row[$0].text.wrapped(to: widths[$0], indent: gap) : [row[$0].text] }
        return (0..<(cells.map(\.count).max() ?? 0)).map { line in
            var result: TerminalText = ""
            var space = 0
            for (column, parts) in cells.enumerated() {
                let part = line < parts.count ? parts[line] : ""
                if !part.isEmpty {
                    let paint = colour ? row[column].colour : nil
                    result = result + .spaces(space) + (paint.map(part.painted) ?? part)
                    space = 0
                }
                space += widths[column] - part.columns + gap
            }
            return result
        }
    }

    // MARK: Rows as blocks

    /// The first cell of a row, and below it a line for each other cell that says something, with its title.
    private func blocks(_ shown: [Int], _ columns: Int, _ colour: Bool, _ isFull: Bool) -> TerminalText {
        let heading = (shown.firstIndex { !self.columns[$0].title.isEmpty } ?? 0) + 1
        let label = (shown.dropFirst(heading).map { self.columns[$0].title.count }.max() ?? 0) + Table.gap
        let room = max(Table.gap, columns - 1 - label - Table.gap)
        func painted(_ text: TerminalText, _ cell: Cell) -> TerminalText {
            colour ? cell.colour.map(text.painted) ?? text : text
        }
        return rows.flatMap { row -> [TerminalText] in
            let first = shown.prefix(heading).map { isFull ? row[$0].text : row[$0].brief }.joined(separator: "  ")
            var lines = first.wrapped(to: columns - 1, indent: Table.gap * 2).map { painted($0, row[shown[0]]) }
            for column in shown.dropFirst(heading) {
                let text = isFull ? row[column].text : row[column].brief
                guard !["", "-"].contains(text.text) else { continue }
                let title = TerminalText(self.columns[column].title)
                // A word that is longer than the rest of the line begins below its title.
                let isBelow = (text.wordColumns.max() ?? 0) > room
                if isBelow { lines.append(.spaces(Table.gap) + title) }
                let left = Table.gap + (isBelow ? Table.gap : label)
                for (index, part) in text.wrapped(to: max(Table.gap, columns - 1 - left)).enumerated() {
                    let isFirst = index == 0 && !isBelow
                    let start =
                        isFirst
                        ? .spaces(Table.gap) + title + .spaces(label - title.columns) : TerminalText.spaces(left)
                    lines.append(start + painted(part, row[column]))
                }
            }
            return lines
        }.joined(separator: "\n")
    }
}
