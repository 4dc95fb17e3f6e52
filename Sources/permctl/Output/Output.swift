// Writes to stdout and stderr, with colours on a terminal.

import ArgumentParser
import CLinux
import FoundationEssentials
import Glibc
import PermissionClient
import System

/// The output options of a verb.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print JSON.")
    var json = false

    @Flag(help: "Print tables without their header, and nothing if they have no rows.")
    var noLegend = false

    @Flag(help: "On a terminal, print whole identities and all columns.")
    var wide = false

    /// The apps that a terminal shows by their short names, those that also stand for them on the command line; nil
    /// where everything is printed in full.
    func shortNames(_ settings: PermissionSettings) async throws -> ShortNames? {
        guard !json, !wide, Output.columns(of: STDOUT_FILENO) != nil else { return nil }
        return ShortNames(try await AppName.known(settings))
    }

    /// Prints rows, as a table or as JSON.
    /// - Parameters:
    ///   - empty: what to say instead of a table without rows.
    ///   - isChosen: whether the command line says which rows there should be; then it is a failure if there are none.
    ///   - isFollowed: whether it is printed again on changes; then `empty` is printed without a header, too.
    func list<Row>(
        _ rows: [Row], _ columns: [Column], empty: TerminalText, isChosen: Bool = false, isFollowed: Bool = false,
        json value: @autoclosure () -> some Encodable, cells: (Row) -> [Cell]
    ) throws {
        if json {
            try Output.json(value())
        } else if rows.isEmpty {
            if !noLegend || isFollowed { Output.line(empty) }
        } else {
            Output.verbatim(
                Table(columns, rows.map(cells)).text(
                    legend: !noLegend, colour: Output.isColoured, columns: Output.columns(of: STDOUT_FILENO),
                    isWide: wide))
        }
        if rows.isEmpty, isChosen { throw Failure(.no) }
    }
}

enum Output {
    /// Whether stdout is a terminal that supports colours and NO_COLOR (no-color.org) is not set.
    static let isColoured: Bool = {
        let environment = { (name: String) in getenv(name).map { String(cString: $0) } ?? "" }
        return isatty(STDOUT_FILENO) == 1 && environment("NO_COLOR").isEmpty && environment("TERM") != "dumb"
    }()

    /// The width of the terminal behind the descriptor; nil for a file or a pipe.
    static func columns(of fd: Int32) -> Int? {
        var size = winsize()
        guard ioctl(fd, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Writes lines to stdout, without breaking words at the edge of a terminal.
    static func line(_ text: TerminalText) { if !text.isEmpty { lines(text, to: STDOUT_FILENO) } }

    /// Writes lines to stdout as they are: a table that fits already, or a script.
    static func verbatim(_ text: TerminalText) {
        if !text.isEmpty { write(text + "\n", to: STDOUT_FILENO) }
    }

    private static func lines(_ text: TerminalText, to fd: Int32) {
        write((columns(of: fd).map { text.fitted(to: $0) } ?? text) + "\n", to: fd)
    }

    /// Clears the screen if stdout is a terminal.
    static func clearScreen() {
        if isatty(STDOUT_FILENO) == 1 { write("\u{1B}[H\u{1B}[2J", to: STDOUT_FILENO) }
    }

    /// Writes an error message to stderr.
    static func complain(_ text: TerminalText) { errorLines("permctl: \(text)") }

    /// Writes lines to stderr, like ``line(_:)``.
    static func errorLines(_ text: TerminalText) { lines(text, to: STDERR_FILENO) }

    /// Writes a question to stderr, without a line break.
    static func ask(_ text: TerminalText) { write(text, to: STDERR_FILENO) }

    /// Writes without buffering, so that the reader of a pipe sees each line at once. Stops if that reader has exited. Ends
    /// the program if stdout cannot be written otherwise, as on a full disk.
    static func write(_ text: TerminalText, to fd: Int32) { write(text.text, to: fd) }

    private static func write(_ text: String, to fd: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(fd, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return failed(fd, errno) }
            rest = rest.dropFirst(count)
        }
    }

    private static func failed(_ fd: Int32, _ code: Int32) {
        guard fd == STDOUT_FILENO, code != EPIPE else { return }
        complain("the output could not be written: \(errorText(code))")
        exit(ExitReason.output.rawValue)
    }

    static func json(_ value: some Encodable, pretty: Bool = true) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting =
            pretty ? [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes] : [.sortedKeys, .withoutEscapingSlashes]
        // The encoder breaks the line within an empty list, too. In strings, line breaks are escaped.
        let text = String(decoding: try encoder.encode(value), as: UTF8.self).replacing(#/\[\n\n *\]/#, with: "[]")
        write(escaped(text) + "\n", to: STDOUT_FILENO)
    }

    /// Escapes the characters in the JSON's strings that are unsafe on a terminal: the encoder does not escape controls
    /// beyond ASCII or bidi overrides.
    static func escaped(_ json: String) -> String {
        if json.utf8.allSatisfy({ $0 < 0x7F }) { return json }
        var result = String.UnicodeScalarView()
        for scalar in json.unicodeScalars {
            if scalar == "\n" || Columns.width(of: scalar) != nil {
                result.append(scalar)
                continue
            }
            for unit in String(scalar).utf16 {
                let digits = String(unit, radix: 16)
                result.append(
                    contentsOf: ("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).unicodeScalars)
            }
        }
        return String(result)
    }
}

/// `1 decision`, `2 decisions`.
func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

/// Colours from the terminal's palette.
enum Colour: String {
    case good = "32"
    case bad = "31"
    case waiting = "33"
    case faint = "2"
    case bold = "1"

    func paint(_ text: String) -> String { "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" }
}
