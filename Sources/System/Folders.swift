// The folders of the XDG Base Directory Specification, and what is in them.

import Glibc

package enum Folders {
    package static var home: String { path("HOME") ?? "/" }
    package static var config: String { path("XDG_CONFIG_HOME") ?? home + "/.config" }
    package static var data: String { path("XDG_DATA_HOME") ?? home + "/.local/share" }
    package static var configs: [String] { list("XDG_CONFIG_DIRS", "/etc/xdg") }
    package static var datas: [String] { list("XDG_DATA_DIRS", "/usr/local/share:/usr/share") }

    /// The value of an environment variable; nil if it is unset or empty.
    package static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// A path in an environment variable; nil if it is relative, as the specification says.
    package static func path(_ name: String) -> String? { variable(name).flatMap { $0.hasPrefix("/") ? $0 : nil } }

    private static func list(_ name: String, _ standard: String) -> [String] {
        (variable(name) ?? standard).split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
    }

    /// The last part of a path.
    package static func fileName(of path: [UInt8]) -> String {
        String(decoding: path.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self)
    }

    /// Where a path leads, links followed (realpath(3)); nil if there is nothing. May block.
    package static func realPath(_ path: UnsafePointer<CChar>) -> [UInt8]? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return UnsafeBufferPointer(start: real, count: strlen(real)).map { UInt8(bitPattern: $0) }
    }

    /// The sorted names of what a folder contains; none if it cannot be read.
    package static func names(in folder: String) -> [String] {
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
}
