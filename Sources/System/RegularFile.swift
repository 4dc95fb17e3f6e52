// Reads files that others control: only regular files, up to a maximum size, and without blocking.

import CLinux
import Glibc

package enum RegularFile {
    package struct Failure: Error, Hashable {
        /// errno, or 0 if the reason is the file itself.
        package let code: Int32
        package let reason: String
        /// Whether no file has that name. A broken link is not absent.
        package let isAbsent: Bool

        package init(_ reason: String, code: Int32 = 0) {
            (self.code, self.reason, isAbsent) = (code, reason, false)
        }

        package init(system code: Int32, at path: String) {
            self.code = code
            isAbsent = code == ENOENT && RegularFile.isAbsent(path)
            reason = code == ENOENT && !isAbsent ? "the link leads to nothing" : errorText(code)
        }

        /// Whether the error may pass by itself: no descriptors or memory left, or a disk that does not respond.
        package var isPassing: Bool { [EMFILE, ENFILE, ENOMEM, EIO, ESTALE, ETIMEDOUT].contains(code) }

        /// Of what the worker could not read in time.
        package static let unanswered = Failure("the file system does not answer", code: ETIMEDOUT)
    }

    /// Whether certainly no file has that name. A broken link is not absent.
    package static func isAbsent(_ path: String) -> Bool { FileStatus(path) == nil && errno == ENOENT }

    /// Follows links. As in systemd, a link to /dev/null is an empty file, which masks lower files of its name.
    package static func read(_ path: String, maximum: Int) throws(Failure) -> [UInt8] {
        var status = stat()
        guard stat(path, &status) == 0 else { throw Failure(system: errno, at: path) }
        if isNull(status) { return [] }
        // Checked before opening, because opening a device may start it.
        guard status.st_mode & S_IFMT == S_IFREG else { throw irregular(status) }
        let fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard fd >= 0 else { throw Failure(system: errno, at: path) }
        defer { close(fd) }
        guard fstat(fd, &status) == 0 else { throw Failure(system: errno, at: path) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw irregular(status) }
        let content = try content(fd, path, maximum)
        var after = stat()
        guard fstat(fd, &after) == 0, after.st_size == status.st_size,
            after.st_mtim.tv_sec == status.st_mtim.tv_sec, after.st_mtim.tv_nsec == status.st_mtim.tv_nsec
        else { throw Failure("the file is being written") }
        return content
    }

    /// The first bytes of a file, links followed; nil if it cannot be read, or is not a regular one. May block.
    package static func start(of path: UnsafePointer<CChar>, _ count: Int) -> [UInt8]? {
        var status = stat()
        // Checked before opening, because opening a device may start it.
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        let fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard fd >= 0 else { return nil }
        defer { close(fd) }
        guard fstat(fd, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        var bytes = [UInt8](repeating: 0, count: count)
        let read = Glibc.read(fd, &bytes, count)
        return read < 0 ? nil : Array(bytes.prefix(read))
    }

    private static func content(_ fd: Int32, _ path: String, _ maximum: Int) throws(Failure) -> [UInt8] {
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = Glibc.read(fd, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Failure(system: errno, at: path) }
            if count == 0 { return content }
            content += buffer.prefix(count)
            guard content.count <= maximum else { throw Failure("the file is larger than \(maximum >> 10) KiB") }
        }
    }

    private static func irregular(_ status: stat) -> Failure {
        Failure("this is \(FileStatus(status).kindName), not a regular file")
    }

    private static func isNull(_ status: stat) -> Bool {
        status.st_mode & S_IFMT == S_IFCHR && major(status.st_rdev) == 1 && minor(status.st_rdev) == 3
    }

    private static func major(_ number: dev_t) -> UInt64 { UInt64(number) >> 8 & 0xFFF }
    private static func minor(_ number: dev_t) -> UInt64 { UInt64(number) & 0xFF }
}
