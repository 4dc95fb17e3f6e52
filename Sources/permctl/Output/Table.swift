// Tables with aligned columns.

struct Cell: ExpressibleByStringInterpolation {
    let text: TerminalText
    let colour: Colour?

    init(_ text: String, _ colour: Colour? = nil) {
        self.text = TerminalText(text)
        self.colour = colour
    }

    init(stringLiteral text: String) { self.init(text) }
}

struct Table {
    let header: [String]
    private(set) var rows: [[Cell]] = []

    init(_ header: String...) { self.init(header) }
    init(_ header: [String]) { self.header = header }

    mutating func add(_ cells: Cell...) { rows.append(cells) }

    mutating func add(_ cells: [Cell]) { rows.append(cells) }

    /// Spaces between two cells.
    private static let gap = 2
    /// The least width to which a column is shrunk to make room for others.
    private static let leastWidth = 12

    /// - Parameter columns: the width of the terminal; nil for a file or a pipe, where each row is one line. Cells are
    ///   wrapped before the terminal's edge: if the terminal wrapped a long name itself, its end could look like a row
    ///   of its own.
    func text(legend: Bool, colour: Bool, columns: Int? = nil) -> TerminalText {
        var lines = rows
        if legend { lines.insert(header.map { Cell($0.uppercased(), .faint) }, at: 0) }
        var widths = header.indices.map { column in lines.map { $0[column].text.columns }.max() ?? 0 }
        if let columns { Table.shrink(&widths, to: columns) }
        return lines.flatMap { Table.lines(of: $0, widths, colour: colour, wraps: columns != nil) }
            .joined(separator: "\n")
    }

    /// Narrows the widest columns until all fit.
    private static func shrink(_ widths: inout [Int], to columns: Int) {
        let room = columns - 1 - gap * (widths.count - 1)
        while widths.reduce(0, +) > room, let widest = widths.indices.max(by: { widths[$0] < widths[$1] }),
            widths[widest] > leastWidth
        {
            widths[widest] -= 1
        }
    }

    private static func lines(of row: [Cell], _ widths: [Int], colour: Bool, wraps: Bool) -> [TerminalText] {
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
}
