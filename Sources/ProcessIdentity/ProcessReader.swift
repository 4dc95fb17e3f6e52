// Reads what the kernel says about a process, from /proc; in tests, from a folder of the same form.

import CLinux
import Glibc
import PermissionModel

/// Why nobody can say which app a process is.
public struct UnknownProcess: Error {
    public let reason: String

    public init(reason: String) { self.reason = reason }
}

public struct ProcessReader: Sendable {
    /// Where it reads.
    public let root: String

    /// - Parameter root: where it reads; /proc but in tests.
    public init(root: String = "/proc") { self.root = root }

    /// Control groups are far shorter, .flatpak-info is a few KiB; of a command line two words count.
    static let maximumRead = 64 << 10

    /// Clock ticks after boot at which it started: field 22 of stat (proc(5)).
    public func startTime(_ pid: Int32) throws(UnknownProcess) -> UInt64 {
        let stat = try read("\(root)/\(pid)/stat")
        // The second field is the command in parentheses, and may contain any character.
        guard let end = stat.lastIndex(of: UInt8(ascii: ")")) else { throw UnknownProcess(reason: "no stat") }
        let fields = stat[stat.index(after: end)...].split(separator: UInt8(ascii: " "))
        guard fields.count > 19, let ticks = UInt64(String(decoding: fields[19], as: UTF8.self)) else {
            throw UnknownProcess(reason: "no start time")
        }
        return ticks
    }

    /// The file at the root the process sees; nil when it is not there. A link is not followed.
    func flatpakInfo(_ pid: Int32) throws(UnknownProcess) -> [UInt8]? {
        let base = open("\(root)/\(pid)/root", CLINUX_O_PATH | O_DIRECTORY | O_CLOEXEC)
        guard base >= 0 else { throw UnknownProcess(reason: "its root cannot be looked at: \(errorText())") }
        defer { close(base) }
        let fd = openat(base, ".flatpak-info", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard fd >= 0 else {
            if errno == ENOENT { return nil }
            throw UnknownProcess(reason: "its .flatpak-info cannot be read: \(errorText())")
        }
        defer { close(fd) }
        var status = stat()
        guard fstat(fd, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw UnknownProcess(reason: "its .flatpak-info is no file")
        }
        return try read(descriptor: fd)
    }

    func controlGroups(_ pid: Int32) throws(UnknownProcess) -> ControlGroups {
        ControlGroups(try read("\(root)/\(pid)/cgroup"))
    }

    /// Whether its network is ours, so that the kernel tells us of its sockets.
    public func sharesNetwork(_ pid: Int32) throws(UnknownProcess) -> Bool {
        try text(ofLink: "\(root)/\(pid)/ns/net") == text(ofLink: "\(root)/self/ns/net")
    }

    /// Whether its processes are numbered with ours. Who is in a pid namespace of its own never gets out of it.
    func sharesPids(_ pid: Int32) throws(UnknownProcess) -> Bool {
        try text(ofLink: "\(root)/\(pid)/ns/pid") == text(ofLink: "\(root)/self/ns/pid")
    }

    /// The executable as the kernel names it, without its mark of a file that was replaced meanwhile.
    func executable(_ pid: Int32) throws(UnknownProcess) -> [UInt8] {
        let path = try link("\(root)/\(pid)/exe")
        let mark = Array(" (deleted)".utf8)
        guard path.count > mark.count, path.suffix(mark.count).elementsEqual(mark), !exists(path) else { return path }
        return Array(path.dropLast(mark.count))
    }

    func workingDirectory(_ pid: Int32) throws(UnknownProcess) -> [UInt8] { try link("\(root)/\(pid)/cwd") }

    /// The words of the command line; the last ones of a long one are left out.
    func arguments(_ pid: Int32) throws(UnknownProcess) -> [[UInt8]] {
        try read("\(root)/\(pid)/cmdline", mayBeCut: true)
            .split(separator: 0, omittingEmptySubsequences: false).map(Array.init)
    }

    /// Whether the process sees a regular file there.
    func isFile(_ path: [UInt8], seenBy pid: Int32) -> Bool {
        var status = stat()
        let text = Array("\(root)/\(pid)/root".utf8) + path + [0]
        let found = text.withUnsafeBytes { stat($0.bindMemory(to: CChar.self).baseAddress!, &status) == 0 }
        return found && status.st_mode & S_IFMT == S_IFREG
    }

    private func exists(_ path: [UInt8]) -> Bool {
        (path + [0]).withUnsafeBytes { access($0.bindMemory(to: CChar.self).baseAddress!, F_OK) == 0 }
    }

    private func link(_ path: String) throws(UnknownProcess) -> [UInt8] {
        let path = try text(ofLink: path)
        guard path.first == UInt8(ascii: "/") else { throw UnknownProcess(reason: "a link leads nowhere") }
        return path
    }

    func text(ofLink path: String) throws(UnknownProcess) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX) + 1)
        let count = bytes.withUnsafeMutableBytes {
            readlink(path, $0.bindMemory(to: CChar.self).baseAddress!, Int(PATH_MAX))
        }
        guard count > 0 else {
            throw UnknownProcess(reason: "\(path) cannot be read: \(errorText())")
        }
        return Array(bytes.prefix(count))
    }

    private func read(_ path: String, mayBeCut: Bool = false) throws(UnknownProcess) -> [UInt8] {
        let fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard fd >= 0 else { throw UnknownProcess(reason: "\(path) cannot be read: \(errorText())") }
        defer { close(fd) }
        return try read(descriptor: fd, mayBeCut: mayBeCut)
    }

    /// What is cut may say something else than the whole does.
    private func read(descriptor fd: Int32, mayBeCut: Bool = false) throws(UnknownProcess) -> [UInt8] {
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while content.count < ProcessReader.maximumRead {
            let count = Glibc.read(fd, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw UnknownProcess(reason: "reading failed: \(errorText())") }
            if count == 0 { return content }
            content += buffer.prefix(count)
        }
        guard mayBeCut else { throw UnknownProcess(reason: "what is read about it is longer than it ever is") }
        return content
    }

    private func errorText() -> String { String(cString: strerror(errno)) }
}
