// An INI file as sections of keys, read with libinih; the first thing wrong is an error with its line.

import CInih
import PermissionModel

/// What is wrong in a file, and where. Line 0 is the whole file.
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

    /// libinih's own bound of a line (INI_MAX_LINE, with its end): longer ones it would silently break in two.
    private static let maximumLine = 198

    init(_ text: String) throws(FileProblem) {
        guard !text.utf8.contains(0) else { throw FileProblem(line: 0, message: "the file contains a NUL character") }
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            guard line.utf8.count <= IniFile.maximumLine else {
                throw FileProblem(line: index + 1, message: "the line is longer than \(IniFile.maximumLine) bytes")
            }
            guard line.first == "[" else { continue }
            let name = String(line.dropFirst().prefix { $0 != "]" })
            guard !sections.contains(where: { $0.name == name }) else {
                throw FileProblem(line: index + 1, message: "the section [\(name)] is there twice")
            }
            sections.append(Section(name: name, line: index + 1))
        }
        try parse(text)
    }

    /// libinih calls for each key, in order; sections come in the order found above.
    private mutating func parse(_ text: String) throws(FileProblem) {
        let reading = Reading()
        // SAFETY: the handler runs within the call, which `reading` outlives.
        let result = ini_parse_string(
            text,
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
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (section, key, value) in reading.found {
            guard let index = sections.firstIndex(where: { $0.name == section }) else {
                throw FileProblem(line: 1, message: "\(key) stands before any section")
            }
            let line = IniFile.line(of: key, in: lines, after: sections[index].line)
            guard !sections[index].values.contains(where: { $0.key == key }) else {
                throw FileProblem(line: line, message: "\(key) is given twice in [\(section)]")
            }
            guard !value.isEmpty else { throw FileProblem(line: line, message: "\(key) has no value") }
            sections[index].values.append((key, value, line))
        }
    }

    /// libinih does not say where a key stood.
    private static func line(of key: String, in lines: [Substring], after start: Int) -> Int {
        for index in start..<max(start, lines.count) {
            let line = lines[index].drop { $0 == " " || $0 == "\t" }
            if line.hasPrefix("[") { break }
            if line.hasPrefix(key) { return index + 1 }
        }
        return start
    }

    private final class Reading {
        var found: [(section: String, key: String, value: String)] = []
    }
}
