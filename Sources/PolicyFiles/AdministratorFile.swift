// What administrators' files must be beyond key files: text without control characters, and nothing given twice, so that a
// mistake is never silently ignored.

import PermissionModel
package import System

extension KeyFile {
    /// In bytes, so that an error can quote a line. The longest path has as many.
    private static let maximumLine = 4096

    /// Reads the text of an administrator's file. A byte order mark is skipped; `;` begins a comment as `#` does.
    ///
    /// - Parameter repeatable: The keys that a section may have several times.
    package init(administrators text: String, repeatable: Set<String> = []) throws(FileProblem) {
        let bytes = Array(text.utf8)
        let mark = "\u{FEFF}".utf8
        try KeyFile.checkLines(bytes)
        try self.init(bytes.starts(with: mark) ? Array(bytes.dropFirst(mark.count)) : bytes, comments: "#;")
        try checkNames(repeatable)
    }

    private static func checkLines(_ bytes: [UInt8]) throws(FileProblem) {
        for (index, line) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            let text = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            if text.count > maximumLine {
                throw FileProblem(line: index + 1, message: "the line is longer than \(maximumLine) bytes")
            }
            if let control = text.first(where: { $0 < 0x20 && $0 != UInt8(ascii: "\t") || $0 == 0x7F }) {
                throw FileProblem(
                    line: index + 1,
                    message: "the line contains the control character \(control); lines end with LF or CR LF")
            }
        }
    }

    private func checkNames(_ repeatable: Set<String>) throws(FileProblem) {
        var names: Set<ExactText> = []
        for section in sections {
            guard names.insert(ExactText(section.name)).inserted else {
                throw FileProblem(line: section.line, message: "the section [\(section.name)] is given twice")
            }
            var keys: Set<ExactText> = []
            for pair in section.pairs {
                guard keys.insert(ExactText(pair.key)).inserted || repeatable.contains(pair.key) else {
                    throw FileProblem(line: pair.line, message: "\(pair.key) is given twice in [\(section.name)]")
                }
                if pair.words.isEmpty { throw FileProblem(line: pair.line, message: "\(pair.key) has no value") }
            }
        }
    }
}

extension KeyFile.Pair {
    /// The value without spaces around it.
    var text: String {
        String(decoding: value.utf8.reversed().drop(while: KeyFile.Pair.isBlank).reversed(), as: UTF8.self)
    }

    /// The words of the value. Split by bytes: a space with a combining mark is one Character.
    var words: [String] {
        value.utf8.split(whereSeparator: KeyFile.Pair.isBlank).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}
