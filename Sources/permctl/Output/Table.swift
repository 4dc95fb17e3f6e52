// Columns that align, whatever is in them.

import CLinux
import Glibc

struct Cell: ExpressibleByStringInterpolation {
    let text: String
    let colour: Colour?

    init(_ text: String, _ colour: Colour? = nil) {
        // A tab or an escape in a name would move the columns.
        self.text = String(
            String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }))
        self.colour = colour
    }

    init(stringLiteral text: String) { self.init(text) }

    /// Columns of a terminal that the text takes (wcwidth(3)).
    var width: Int { text.unicodeScalars.reduce(0) { $0 + max(0, Int(wcwidth(wchar_t($1.value)))) } }
}

struct Table {
    let header: [String]
    private(set) var rows: [[Cell]] = []

    init(_ header: String...) { self.header = header }

    mutating func add(_ cells: Cell...) { rows.append(cells) }

    mutating func add(_ cells: [Cell]) { rows.append(cells) }

    func text(legend: Bool, colour: Bool) -> String {
        setlocale(LC_CTYPE, "C.UTF-8")
        var lines = rows
        if legend { lines.insert(header.map { Cell($0.uppercased(), .faint) }, at: 0) }
        var widths = [Int](repeating: 0, count: header.count)
        for line in lines {
            for (column, cell) in line.enumerated() { widths[column] = max(widths[column], cell.width) }
        }
        return lines.map { line in
            var text = ""
            for (column, cell) in line.enumerated() {
                text += colour ? cell.colour?.paint(cell.text) ?? cell.text : cell.text
                if column < line.count - 1 { text += String(repeating: " ", count: widths[column] - cell.width + 2) }
            }
            while text.last == " " { text.removeLast() }
            return text
        }.joined(separator: "\n")
    }
}
