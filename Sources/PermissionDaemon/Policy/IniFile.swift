// Parses an INI file into sections of keys with libinih. The first error is thrown with its line.

import CInih
import PermissionModel

/// An error in a file. Line 0 means the whole file.
struct FileProblem: Error, Sendable, Hashable {
    let line: Int
    let message: String
}

struct IniFile {
    struct Section {
        let name: String
        let line: Int
        var values: [(key: String, value: String, line: Int)] = []
    }

    private(set) var sections: [Section] = []

    /// libinih's limit of a line (INI_MAX_LINE, terminator included). It would silently split longer lines.
    private static let maximumLine = 198
    /// libinih's limit of a section's name (MAX_SECTION, terminator included). It would silently truncate longer names.
    private static let maximumSection = 49

    /// Lines end with LF or CRLF. A byte order mark is skipped.
    init(_ text: String) throws(FileProblem) {
        let mark = "\u{FEFF}".utf8
        let bytes = text.utf8.starts(with: mark) ? text.utf8.dropFirst(mark.count) : text.utf8[...]
        guard !bytes.contains(0) else { throw FileProblem(line: 0, message: "the file contains a NUL character") }
        // Split by bytes: CR LF is one Character, and so is a bracket with a combining mark.
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { line in
            Array(line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
        }
        for (index, line) in lines.enumerated() { try readLine(line, index + 1) }
        try parse(lines)
    }

    private mutating func readLine(_ line: [UInt8], _ number: Int) throws(FileProblem) {
        guard line.count <= IniFile.maximumLine else {
            throw FileProblem(line: number, message: "the line is longer than \(IniFile.maximumLine) bytes")
        }
        if let control = line.first(where: { $0 < 0x20 && $0 != UInt8(ascii: "\t") || $0 == 0x7F }) {
            throw FileProblem(
                line: number, message: "the line contains the control character \(control); lines end with LF or CR LF")
        }
        guard line.first == UInt8(ascii: "[") else { return }
        let bytes = line.dropFirst().prefix { $0 != UInt8(ascii: "]") }
        let name = String(decoding: bytes, as: UTF8.self)
        guard bytes.count <= IniFile.maximumSection else {
            throw FileProblem(
                line: number, message: "the name of the section is longer than \(IniFile.maximumSection) bytes")
        }
        guard !sections.contains(where: { $0.name == name }) else {
            throw FileProblem(line: number, message: "the section [\(name)] is given twice")
        }
        sections.append(Section(name: name, line: number))
    }

    /// libinih calls the handler for each key in order; the sections are in the order found above.
    private mutating func parse(_ lines: [[UInt8]]) throws(FileProblem) {
        let reading = Reading()
        // SAFETY: the handler runs within the call, which `reading` outlives.
        let result = ini_parse_string(
            String(decoding: Array(lines.joined(separator: [UInt8(ascii: "\n")])), as: UTF8.self),
            { context, section, name, value in
                guard let context, let section, let name else { return 0 }
                let reading = Unmanaged<Reading>.fromOpaque(context).takeUnretainedValue()
                reading.found.append(
                    (String(cString: section), String(cString: name), value.map { String(cString: $0) } ?? ""))
                return 1
            }, Unmanaged.passUnretained(reading).toOpaque())
        guard result == 0 else {
            throw FileProblem(line: max(0, Int(result)), message: "this is neither [Section], Key=value nor a comment")
        }
        for (section, key, value) in reading.found {
            guard let index = sections.firstIndex(where: { $0.name == section }) else {
                throw FileProblem(line: 1, message: "\(key) is given before any section")
            }
            let line = IniFile.line(of: key, in: lines, after: sections[index].line)
            guard !sections[index].values.contains(where: { $0.key == key }) else {
                throw FileProblem(line: line, message: "\(key) is given twice in [\(section)]")
            }
            guard !value.isEmpty else { throw FileProblem(line: line, message: "\(key) has no value") }
            sections[index].values.append((key, value, line))
        }
    }

    /// Finds the line of a key, which libinih does not report.
    private static func line(of key: String, in lines: [[UInt8]], after start: Int) -> Int {
        for index in start..<max(start, lines.count) {
            let line = lines[index].drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            if line.first == UInt8(ascii: "[") { break }
            guard line.starts(with: key.utf8) else { continue }
            let end = line.dropFirst(key.utf8.count).first { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
            if end == UInt8(ascii: "=") || end == UInt8(ascii: ":") { return index + 1 }
        }
        return start
    }

    private final class Reading {
        var found: [(section: String, key: String, value: String)] = []
    }
}
