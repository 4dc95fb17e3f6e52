// The folders of the XDG Base Directory Specification, and files in them.

import Glibc

enum Folders {
    static var home: String { path("HOME") ?? "/" }
    static var config: String { path("XDG_CONFIG_HOME") ?? home + "/.config" }
    static var data: String { path("XDG_DATA_HOME") ?? home + "/.local/share" }
    static var configs: [String] { list("XDG_CONFIG_DIRS", "/etc/xdg") }
    static var datas: [String] { list("XDG_DATA_DIRS", "/usr/local/share:/usr/share") }

    /// The value of an environment variable; nil if it is unset or empty.
    static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The specification says that relative paths are ignored.
    private static func path(_ name: String) -> String? { variable(name).flatMap { $0.hasPrefix("/") ? $0 : nil } }

    private static func list(_ name: String, _ standard: String) -> [String] {
        (variable(name) ?? standard).split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
    }

    /// The sorted names of what a folder contains; none if it cannot be read.
    static func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// A regular file as text; nil if it cannot be read. FIFOs and devices are not opened for reading.
    static func text(_ path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size < 1 << 20,
            let content = try? WholeFile.read(path)
        else { return nil }
        return String(decoding: content, as: UTF8.self)
    }
}

/// A key file, such as a desktop entry: groups of keys with values. Of two lines with the same key, the last one counts.
struct KeyFile {
    private(set) var groups: [String: [String: String]] = [:]

    init(_ text: String) {
        var group = ""
        for line in text.split(whereSeparator: \.isNewline) {
            let line = KeyFile.trimmed(line)
            if line.hasPrefix("["), line.hasSuffix("]") {
                group = String(line.dropFirst().dropLast())
            } else if !line.hasPrefix("#"), let equals = line.firstIndex(of: "=") {
                let value = KeyFile.trimmed(line[line.index(after: equals)...])
                groups[group, default: [:]][String(KeyFile.trimmed(line[..<equals]))] = String(value)
            }
        }
    }

    static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop(while: \.isWhitespace)
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }

    /// The parts of a list value, which are separated by semicolons.
    static func list(_ value: String) -> [String] {
        value.split(separator: ";").map { String(trimmed($0)) }.filter { !$0.isEmpty }
    }
}
