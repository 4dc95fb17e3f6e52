// Reads whole files, also from pipes.

import Glibc
import System

enum WholeFile {
    /// Reads a file of any kind to its end; `-` is the standard input.
    static func read(_ path: String) throws(RegularFile.Failure) -> [UInt8] {
        let fd = path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard fd >= 0, let file = fdopen(fd, "r") else { throw RegularFile.Failure(system: errno, at: path) }
        defer { fclose(file) }
        let content = read(file)
        guard ferror(file) == 0 else { throw RegularFile.Failure(system: errno, at: path) }
        return content
    }

    /// Reads until the end or an error.
    static func read(_ file: UnsafeMutablePointer<FILE>) -> [UInt8] {
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { content += buffer.prefix(count) }
        return content
    }
}
