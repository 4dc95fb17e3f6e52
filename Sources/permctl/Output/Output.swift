// What goes to stdout and stderr, and in which colours.

import ArgumentParser
import FoundationEssentials
import Glibc

/// How a verb prints.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print JSON.")
    var json = false

    @Flag(help: "Print tables without their header.")
    var noLegend = false

    func print(_ table: Table, json value: @autoclosure () -> some Encodable) throws {
        if json {
            try Output.json(value())
        } else {
            Output.line(table.text(legend: !noLegend, colour: Output.isColoured))
        }
    }
}

enum Output {
    /// On a terminal, unless the person wants none (no-color.org) or the terminal has none.
    static let isColoured: Bool = {
        let environment = { (name: String) in getenv(name).map { String(cString: $0) } ?? "" }
        return isatty(STDOUT_FILENO) == 1 && environment("NO_COLOR").isEmpty && environment("TERM") != "dumb"
    }()

    static func line(_ text: String) {
        if !text.isEmpty { write("\(text)\n", to: STDOUT_FILENO) }
    }

    /// What went wrong, to stderr.
    static func complain(_ text: String) { note("permctl: \(text)\n") }

    /// To stderr, as it is.
    static func note(_ text: String) { write(text, to: STDERR_FILENO) }

    /// At once, so that a pipe's reader sees each line as it happens. To a reader that has left, nothing.
    static func write(_ text: String, to fd: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(fd, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    static func json(_ value: some Encodable, pretty: Bool = true) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting =
            pretty ? [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes] : [.sortedKeys, .withoutEscapingSlashes]
        line(String(decoding: try encoder.encode(value), as: UTF8.self))
    }
}

/// Colours of the terminal's own palette.
enum Colour: String {
    case good = "32"
    case bad = "31"
    case waiting = "33"
    case faint = "2"
    case bold = "1"

    func paint(_ text: String) -> String { "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" }
}
