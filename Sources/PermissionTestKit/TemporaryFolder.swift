// A new folder for one test, removed with the last reference to it.

import Glibc
import System

package final class TemporaryFolder: Sendable {
    package let path: String

    /// In bytes: these folders contain sockets, whose paths are limited to 107 bytes.
    private static let longestParent = 40

    /// Creates the folder and its subfolders, accessible only to this user.
    package init(_ subfolders: [String] = []) throws(TestKitError) {
        let wanted = getenv("TMPDIR").map { String(cString: $0) } ?? ""
        let parent = wanted.isEmpty || wanted.utf8.count > TemporaryFolder.longestParent ? "/tmp" : wanted
        var template = Array("\(parent)/permd-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw .system("cannot create a folder in \(parent)", errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        for name in subfolders {
            guard mkdir("\(path)/\(name)", 0o700) == 0 else { throw .system("cannot create \(path)/\(name)", errno) }
        }
    }

    deinit { TemporaryFolder.remove(path) }

    package func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file and returns its path.
    @discardableResult
    package func write(_ text: String, to name: String) throws(TestKitError) -> String {
        let path = file(name)
        let fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard fd >= 0 else { throw .system("cannot write \(path)", errno) }
        defer { close(fd) }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(fd, $0.baseAddress, $0.count) }
            guard count > 0 else { throw .system("cannot write \(path)", errno) }
            rest = rest.dropFirst(count)
        }
        return path
    }

    /// Removes a file, or a folder with all its content. Links are not followed; what cannot be removed is left.
    package static func remove(_ path: String) {
        if unlink(path) == 0 { return }
        for name in Folders.names(in: path) { remove("\(path)/\(name)") }
        rmdir(path)
    }
}
