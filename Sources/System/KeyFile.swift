// Key files, parsed byte for byte like GLib's GKeyFile, so that permd reads a file the same way as flatpak and the
// portals. Sections and keys keep their lines.

/// A parsed key file. Initialization fails wherever GKeyFile reports an error.
package struct KeyFile {
    package struct Pair {
        fileprivate let name: [UInt8]
        fileprivate let raw: [UInt8]
        package let line: Int

        package var key: String { String(decoding: name, as: UTF8.self) }
        /// The text after the equals sign, in which nothing is an escape. Trailing spaces belong to it.
        package var value: String { String(decoding: raw, as: UTF8.self) }
    }

    package struct Section {
        fileprivate let title: [UInt8]
        package let line: Int
        package fileprivate(set) var pairs: [Pair] = []

        package var name: String { String(decoding: title, as: UTF8.self) }
    }

    /// In bytes. Desktop entries have a few KiB, or somewhat more with many translations.
    private static let maximumRead = 256 << 10

    /// In the order of the file. Names and keys may be repeated.
    package private(set) var sections: [Section] = []
    private let comments: [UInt8]

    /// Parses like g_key_file_load_from_data: lines end with LF or CR LF.
    ///
    /// - Parameter comments: The characters with which a comment may begin. GLib knows only `#`.
    package init(_ data: [UInt8], comments: String = "#") throws(FileProblem) {
        self.comments = Array(comments.utf8)
        var rest = data[...]
        var number = 1
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = rest[..<end]
            try read(line.last == UInt8(ascii: "\r") ? line.dropLast() : line, number)
            rest = rest[(end + 1)...]
            number += 1
        }
        try read(rest, number)
    }

    /// Returns the value like g_key_file_get_string; nil where that reports an error.
    package func string(_ key: String, in group: String) -> String? {
        guard let raw = pair(key, in: group)?.raw, String(validating: raw, as: UTF8.self) != nil else { return nil }
        var text: [UInt8] = []
        var rest = raw[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                text.append(byte)
                continue
            }
            guard let mark = rest.popFirst(), let meant = KeyFile.escapes[mark] else { return nil }
            text.append(meant)
        }
        return String(validating: text, as: UTF8.self)
    }

    /// Repeated groups count as one. If a key occurs twice in it, the last value counts.
    private func pair(_ key: String, in group: String) -> Pair? {
        sections.lazy.reversed().filter { $0.title.elementsEqual(group.utf8) }
            .compactMap { $0.pairs.last { $0.name.elementsEqual(key.utf8) } }.first
    }

    /// Whether a group has this name, even without a key.
    package func hasGroup(_ name: String) -> Bool { sections.contains { $0.title.elementsEqual(name.utf8) } }

    private static let escapes: [UInt8: UInt8] = [
        UInt8(ascii: "s"): UInt8(ascii: " "), UInt8(ascii: "n"): UInt8(ascii: "\n"),
        UInt8(ascii: "t"): UInt8(ascii: "\t"), UInt8(ascii: "r"): UInt8(ascii: "\r"),
        UInt8(ascii: "\\"): UInt8(ascii: "\\"),
    ]

    /// Reads a regular file; nil if there is none, or if it is not a key file.
    package init?(path: String) {
        guard let data = try? RegularFile.read(path, maximum: KeyFile.maximumRead), let file = try? KeyFile(data) else {
            return nil
        }
        self = file
    }

    // MARK: Lines

    private mutating func read(_ line: ArraySlice<UInt8>, _ number: Int) throws(FileProblem) {
        // GLib treats lines as C strings, so most of its checks stop at a NUL.
        let text = line.prefix { $0 != 0 }.drop(while: KeyFile.isSpace)
        guard let first = text.first, !comments.contains(first) else { return }
        if KeyFile.isGroup(text) {
            try readGroup(line[text.startIndex...], number)
        } else if first != UInt8(ascii: "="), let equals = text.firstIndex(of: UInt8(ascii: "=")) {
            try readPair(text[..<equals], text[(equals + 1)...], number)
        } else {
            throw FileProblem(line: number, message: "this is neither [Section], Key=value nor a comment")
        }
    }

    /// A name in brackets, optionally followed by spaces and tabs.
    private static func isGroup(_ text: ArraySlice<UInt8>) -> Bool {
        guard text.first == UInt8(ascii: "["), let end = text.firstIndex(of: UInt8(ascii: "]")) else { return false }
        // GLib advances by whole UTF-8 characters and therefore skips continuation bytes.
        return text[(end + 1)...].allSatisfy {
            $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 & 0xC0 == 0x80
        }
    }

    /// The name ends at the last bracket of the line, even if that follows a NUL.
    private mutating func readGroup(_ line: ArraySlice<UInt8>, _ number: Int) throws(FileProblem) {
        let end = line.lastIndex(of: UInt8(ascii: "]")) ?? line.endIndex
        let name = Array(line[..<end].dropFirst().prefix { $0 != 0 })
        let brackets = [UInt8(ascii: "["), UInt8(ascii: "]")]
        guard !name.isEmpty, !name.contains(where: { brackets.contains($0) || $0 < 0x20 || $0 == 0x7F }) else {
            throw FileProblem(line: number, message: "the name of the section is invalid")
        }
        sections.append(Section(title: name, line: number))
    }

    /// Spaces around the equals sign are ignored; trailing spaces belong to the value.
    private mutating func readPair(
        _ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>, _ number: Int
    ) throws(FileProblem) {
        guard !sections.isEmpty else { throw FileProblem(line: number, message: "a key is given before any section") }
        var key = left
        while let last = key.last, KeyFile.isSpace(last) { key.removeLast() }
        guard KeyFile.isKey(key) else { throw FileProblem(line: number, message: "the name of the key is invalid") }
        let value = Array(right.drop(while: KeyFile.isSpace))
        if sections[sections.endIndex - 1].title == sections[0].title, key.elementsEqual("Encoding".utf8) {
            let isUTF8 = String(decoding: value, as: UTF8.self).lowercased() == "utf-8"
            guard isUTF8, value.count == "utf-8".utf8.count else {
                throw FileProblem(line: number, message: "the encoding is not UTF-8")
            }
        }
        sections[sections.endIndex - 1].pairs.append(Pair(name: Array(key), raw: value, line: number))
    }

    /// Brackets are allowed only around a locale at the end, with no space before them.
    private static func isKey(_ key: ArraySlice<UInt8>) -> Bool {
        let name = key.prefix { $0 != UInt8(ascii: "[") && $0 != UInt8(ascii: "]") }
        guard !name.isEmpty, name.first != UInt8(ascii: " "), name.last != UInt8(ascii: " ") else { return false }
        let suffix = key[name.endIndex...]
        guard !suffix.isEmpty else { return true }
        return suffix.first == UInt8(ascii: "[") && suffix.count >= 2 && suffix.last == UInt8(ascii: "]")
            && isLocale(suffix.dropFirst().dropLast())
    }

    /// Letters, digits, `-`, `_`, `.` and `@`. Like GLib, this skips stray continuation bytes.
    private static func isLocale(_ text: ArraySlice<UInt8>) -> Bool {
        var rest = text
        while let lead = rest.popFirst() {
            let tail = rest.prefix { $0 & 0xC0 == 0x80 }
            rest = rest.dropFirst(tail.count)
            let own = tail.prefix(lead < 0x80 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3)
            guard let scalar = String(validating: [lead] + own, as: UTF8.self)?.unicodeScalars.first,
                isAlphanumeric(scalar) || "-_.@".unicodeScalars.contains(scalar)
            else { return false }
        }
        return true
    }

    /// Equivalent to g_unichar_isalnum.
    private static func isAlphanumeric(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .lowercaseLetter, .uppercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
            .letterNumber, .otherNumber:
            true
        default: false
        }
    }

    /// Equivalent to g_ascii_isspace, which excludes the vertical tab.
    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\n") || byte == 0x0C
            || byte == UInt8(ascii: "\r")
    }
}
