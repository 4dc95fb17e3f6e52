// Reads whole files, also from pipes, with errors that say why.

import FoundationEssentials
import Glibc

enum WholeFile {
    /// Why a file could not be read or written.
    struct Problem: Error {
        let text: String

        /// - Parameter number: A value of errno.
        init(_ number: Int32) { text = String(cString: strerror(number)) }
        init(_ text: String) { self.text = text }
    }

    /// Reads a file of any kind to its end.
    static func read(_ path: String) throws(Problem) -> Data {
        let fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard fd >= 0 else { throw Problem(errno) }
        defer { close(fd) }
        return try read(fd)
    }

    /// Reads an open file, pipe or terminal to its end.
    static func read(_ fd: Int32) throws(Problem) -> Data {
        var content = Data()
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = Glibc.read(fd, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Problem(errno) }
            guard count > 0 else { return content }
            content.append(contentsOf: buffer[..<count])
        }
    }
}
