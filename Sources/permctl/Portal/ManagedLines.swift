// Lines that permctl adds to a configuration file, marked so that exactly they can be removed again.

/// The lines are at the beginning of the file, in a group of their own; groups may occur several times, in key files as in
/// units. Lines that they replace become comments. Everything else stays as it is, byte by byte.
enum ManagedLines {
    private static let begin = "# permctl portal: begin"
    private static let end = "# permctl portal: end"
    private static let replaced = "# permctl portal: was "
    private static let created = " (new file)"
    private static let newline = UInt8(ascii: "\n")

    /// - Parameters:
    ///   - content: the file; nil if there is none.
    ///   - lines: the lines to add, with the header of their group.
    ///   - group: the group in which lines of the file are replaced.
    ///   - key: the key whose lines are replaced.
    static func add(_ lines: [String], to content: [UInt8]?, replacing key: String, in group: String) -> [UInt8] {
        let mark = begin + (content == nil ? created : "")
        let block = ["\(mark). permctl portal disable removes these lines, and restores others."] + lines + [end]
        var isInGroup = false
        let rest = split(content ?? []).map { line -> [UInt8] in
            let text = trimmed(line)
            if text.hasPrefix("[") { isInGroup = text == "[\(group)]" }
            guard isInGroup, let equals = text.firstIndex(of: "="),
                KeyFile.trimmed(text[..<equals]) == key
            else { return line }
            return Array(replaced.utf8) + line
        }
        return Array(block.map { $0 + "\n" }.joined().utf8) + join(rest)
    }

    /// Whether permctl has added lines.
    static func areIn(_ content: [UInt8]) -> Bool { split(content).contains { trimmed($0).hasPrefix(begin) } }

    /// The file as it was before permctl added lines; nil if there was none.
    static func removed(from content: [UInt8]) -> [UInt8]? {
        var rest: [[UInt8]] = []
        var (isInside, wasCreated) = (false, false)
        for line in split(content) {
            let text = trimmed(line)
            if text.hasPrefix(begin) {
                isInside = true
                wasCreated = text.hasPrefix(begin + created)
            } else if isInside {
                isInside = text != end
            } else {
                let isReplaced = line.starts(with: replaced.utf8)
                rest.append(isReplaced ? Array(line.dropFirst(replaced.utf8.count)) : line)
            }
        }
        let bytes = join(rest)
        return bytes.isEmpty && wasCreated ? nil : bytes
    }

    /// Bytes rather than characters: CR and LF together are one character.
    private static func split(_ content: [UInt8]) -> [[UInt8]] {
        content.split(separator: newline, omittingEmptySubsequences: false).map(Array.init)
    }

    private static func join(_ lines: [[UInt8]]) -> [UInt8] { Array(lines.joined(separator: [newline])) }

    private static func trimmed(_ line: [UInt8]) -> Substring {
        KeyFile.trimmed(Substring(String(decoding: line, as: UTF8.self)))
    }
}
