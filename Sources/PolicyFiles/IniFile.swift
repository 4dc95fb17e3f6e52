// Parses an INI file into sections of keys with libinih. The first error is thrown with its line.

import CInih
import PermissionModel

/// An error in a file. Line 0 means the whole file.
package struct FileProblem: Error, Sendable, Hashable {
    package let line: Int
    package let message: String

    /// A place in a file, as people and editors read it.
    package static func place(_ file: String, _ line: Int) -> String { line == 0 ? file : "\(file):\(line)" }
}

package struct IniFile {
    struct Section {
        let name: String
        let line: Int
        var values: [(key: String, value: String, line: Int)] = []
    }

    let sections: [Section]

    /// Lines end with LF or CRLF. A byte order mark is skipped.
    /// - Parameter repeatable: The keys that a section may have several times.
    package init(_ text: String, repeatable: Set<String> = []) throws(FileProblem) {
        let mark = "\u{FEFF}".utf8
        let bytes = text.utf8.starts(with: mark) ? text.utf8.dropFirst(mark.count) : text.utf8[...]
        guard !bytes.contains(0) else { throw FileProblem(line: 0, message: "the file contains a NUL character") }
        let reading = IniReading(bytes, repeatable)
        let context = Unmanaged.passUnretained(reading).toOpaque()
        // SAFETY: the callbacks run within the call, which `reading` outlives. libinih's buffer holds a line of the
        // maximum length and its terminator.
        let wrongLine = ini_parse_stream(
            { buffer, _, context in
                guard let buffer, let line = IniReading.of(context)?.nextLine() else { return nil }
                for (index, byte) in line.enumerated() { buffer[index] = CChar(bitPattern: byte) }
                buffer[line.count] = 0
                return buffer
            }, context,
            { context, section, key, value in
                guard let section, let key else { return 0 }
                IniReading.of(context)?.add(
                    String(cString: key), value.map { String(cString: $0) } ?? "", in: String(cString: section))
                return 1
            }, context)
        if wrongLine > 0, Int(wrongLine) < reading.problem?.line ?? .max {
            throw FileProblem(line: Int(wrongLine), message: "this is neither [Section], Key=value nor a comment")
        }
        if let problem = reading.problem { throw problem }
        sections = reading.sections
    }
}

/// What libinih reads, line by line, and has found so far. It gets no line after the first error.
private final class IniReading {
    /// libinih's limit of a line (INI_MAX_LINE, terminator included). It would silently split longer lines.
    private static let maximumLine = 198
    /// libinih's limit of a section's name (MAX_SECTION, terminator included). It would silently truncate longer names.
    private static let maximumSection = 49

    private let repeatable: Set<String>
    private let lines: [Substring.UTF8View.SubSequence]
    private var number = 0
    private(set) var sections: [IniFile.Section] = []
    private(set) var problem: FileProblem?

    /// Splits by bytes: CR LF is one Character, and so is a bracket with a combining mark.
    init(_ bytes: Substring.UTF8View, _ repeatable: Set<String>) {
        self.repeatable = repeatable
        lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { line in
            line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        }
    }

    static func of(_ context: UnsafeMutableRawPointer?) -> IniReading? {
        context.map { Unmanaged<IniReading>.fromOpaque($0).takeUnretainedValue() }
    }

    private func fail(_ message: String) { problem = problem ?? FileProblem(line: number, message: message) }

    func nextLine() -> Substring.UTF8View.SubSequence? {
        guard problem == nil, number < lines.count else { return nil }
        let line = lines[number]
        number += 1
        if line.count > IniReading.maximumLine { fail("the line is longer than \(IniReading.maximumLine) bytes") }
        if let control = line.first(where: { $0 < 0x20 && $0 != UInt8(ascii: "\t") || $0 == 0x7F }) {
            fail("the line contains the control character \(control); lines end with LF or CR LF")
        }
        if line.first == UInt8(ascii: "[") { begin(line.dropFirst().prefix { $0 != UInt8(ascii: "]") }) }
        return problem == nil ? line : nil
    }

    private func begin(_ bytes: Substring.UTF8View.SubSequence) {
        let name = String(Substring(bytes))
        if bytes.count > IniReading.maximumSection {
            fail("the name of the section is longer than \(IniReading.maximumSection) bytes")
        }
        if sections.contains(where: { $0.name == name }) { fail("the section [\(name)] is given twice") }
        sections.append(IniFile.Section(name: name, line: number))
    }

    func add(_ key: String, _ value: String, in section: String) {
        guard let last = sections.indices.last, sections[last].name == section else {
            return fail("\(key) is given before any section")
        }
        if !repeatable.contains(key), sections[last].values.contains(where: { $0.key == key }) {
            fail("\(key) is given twice in [\(section)]")
        }
        if value.isEmpty { fail("\(key) has no value") }
        sections[last].values.append((key, value, number))
    }
}
