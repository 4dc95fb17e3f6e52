// Reads what the kernel reports about a process from /proc, or in tests from a directory of the same structure.

import CLinux
import Glibc
package import PermissionModel
import System

/// The reason why a process cannot be identified.
package struct UnknownProcess: Error {
    package let reason: String

    package init(reason: String) { self.reason = reason }
}

package struct ProcessReader: Sendable {
    package let root: String

    /// - Parameter root: The directory to read from; other than /proc only in tests.
    package init(root: String = "/proc") { self.root = root }

    /// Control groups are far shorter, .flatpak-info is a few KiB, and the file that a runtime runs is named early in
    /// a command line.
    static let maximumRead = 64 << 10

    /// The process that has this ID now.
    package func key(_ pid: Int32) throws(UnknownProcess) -> ProcessKey {
        ProcessKey(pid: pid, startTime: try startTime(pid))
    }

    /// Whether the process has not exited yet.
    package func isThere(_ process: ProcessKey) -> Bool { (try? startTime(process.pid)) == process.startTime }

    /// Returns the start time in clock ticks after boot: field 22 of stat (proc(5)).
    package func startTime(_ pid: Int32) throws(UnknownProcess) -> UInt64 { try statField(22, of: pid) }

    func parent(_ pid: Int32) throws(UnknownProcess) -> Int32 { Int32(clamping: try statField(4, of: pid)) }

    private func statField(_ number: Int, of pid: Int32) throws(UnknownProcess) -> UInt64 {
        let stat = try read("\(root)/\(pid)/stat")
        // The second field is the command in parentheses, and may contain any character.
        guard let end = stat.lastIndex(of: UInt8(ascii: ")")) else {
            throw UnknownProcess(reason: "its stat file is malformed")
        }
        let fields = stat[stat.index(after: end)...].split(separator: UInt8(ascii: " "))
        guard fields.count > number - 3, let value = UInt64(String(decoding: fields[number - 3], as: UTF8.self)) else {
            throw UnknownProcess(reason: "its stat file lacks a number")
        }
        return value
    }

    /// More than PID namespaces can be nested, with some processes in each.
    private static let mostAncestors = 128

    /// Returns the ancestors of a process in another PID namespace, the parent first, up to the nearest one that is in
    /// this namespace. Which one that is was determined when the namespace was made, and nothing in it can change that.
    package func ancestors(of pid: Int32) throws(UnknownProcess) -> [ProcessKey] {
        func walk() throws(UnknownProcess) -> [ProcessKey] {
            var found: [ProcessKey] = []
            while found.count < ProcessReader.mostAncestors {
                let parent = try parent(found.last?.pid ?? pid)
                found.append(try key(parent))
                if try sharesPids(parent) { return found }
            }
            throw UnknownProcess(reason: "it has too many ancestors")
        }
        let found = try walk()
        // A parent that exits has another process take its place, or its ID.
        guard try walk() == found else { throw UnknownProcess(reason: "its parents are exiting") }
        return found
    }

    /// Returns .flatpak-info from the process's root directory; nil if it does not exist. Does not follow a symbolic
    /// link.
    ///
    /// - Parameter process: A process ID, or `self`.
    func flatpakInfo(_ process: String) throws(UnknownProcess) -> [UInt8]? {
        let base = open("\(root)/\(process)/root", CLINUX_O_PATH | O_DIRECTORY | O_CLOEXEC)
        guard base >= 0 else { throw UnknownProcess(reason: "its root directory cannot be opened: \(errorText())") }
        defer { close(base) }
        let fd = openat(base, ".flatpak-info", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard fd >= 0 else {
            if errno == ENOENT { return nil }
            throw UnknownProcess(reason: "its .flatpak-info cannot be read: \(errorText())")
        }
        defer { close(fd) }
        var status = stat()
        guard fstat(fd, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw UnknownProcess(reason: "its .flatpak-info is not a regular file")
        }
        return try read(descriptor: fd)
    }

    /// Returns the security label of the process, without the newline at its end; empty without a security module.
    func securityLabel(_ pid: Int32) -> [UInt8] {
        let label = (try? read("\(root)/\(pid)/attr/current")) ?? []
        return Array(label.prefix { $0 != 0 && $0 != UInt8(ascii: "\n") })
    }

    package func controlGroups(_ pid: Int32) throws(UnknownProcess) -> [UInt8] { try read("\(root)/\(pid)/cgroup") }

    /// Whether the process is in this PID namespace. A process in another PID namespace cannot leave it.
    package func sharesPids(_ pid: Int32) throws(UnknownProcess) -> Bool {
        try text(ofLink: "\(root)/\(pid)/ns/pid") == text(ofLink: "\(root)/self/ns/pid")
    }

    /// Returns the ID by which the process knows itself, in its own PID namespace: the last of NSpid in status (proc(5)).
    package func ownPid(_ pid: Int32) throws(UnknownProcess) -> Int32 {
        for line in try read("\(root)/\(pid)/status").split(separator: UInt8(ascii: "\n"))
        where line.starts(with: "NSpid:".utf8) {
            let last = line.split(whereSeparator: { $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: " ") }).last ?? []
            if let own = Int32(String(decoding: last, as: UTF8.self)) { return own }
        }
        throw UnknownProcess(reason: "its status file has no NSpid")
    }

    /// Returns the executable's path without the kernel's mark for a deleted or replaced file. May block.
    package func executable(_ pid: Int32) throws(UnknownProcess) -> [UInt8] {
        let path = try executableLink(pid)
        return ProcessReader.isMarkedDeleted(path) && !exists(path)
            ? Array(path.dropLast(ProcessReader.deletedMark.count)) : path
    }

    /// The link itself, which may have the kernel's mark.
    package func executableLink(_ pid: Int32) throws(UnknownProcess) -> [UInt8] { try link("\(root)/\(pid)/exe") }

    /// Whether the path ends with the kernel's mark, or is that of a file with such a name.
    static func isMarkedDeleted(_ path: [UInt8]) -> Bool {
        path.count > deletedMark.count && path.suffix(deletedMark.count).elementsEqual(deletedMark)
    }

    private static let deletedMark = Array(" (deleted)".utf8)

    /// The executable's path if it is the system's, so that no user can have made it: root owns the file, and it is on a
    /// file system with programs of the system. One that a user has mounted may say anything about its files. In another
    /// mount namespace, as that of a sandbox, the path may be another file's.
    package func systemExecutable(_ pid: Int32) -> [UInt8]? {
        // One of each file system that has programs of the system.
        let system = ["/", "/usr/bin", "/proc/self/exe"].compactMap(ProcessReader.status)
        guard let found = ProcessReader.status("\(root)/\(pid)/exe"), ProcessReader.isOfSystem(found, system),
            let path = try? executableLink(pid)
        else { return nil }
        // Of a file that an upgrade has replaced.
        if ProcessReader.isMarkedDeleted(path), hasSystemMounts(pid) {
            return Array(path.dropLast(ProcessReader.deletedMark.count))
        }
        let named = ProcessReader.systemFile(String(decoding: path, as: UTF8.self), system)
        return named?.isSame(as: found) == true ? path : nil
    }

    /// The file to which a path leads by the system's folders. A program chooses its own mounts, and so where its path leads
    /// for others: a folder that its user can change, or what is mounted there, may never answer.
    private static func systemFile(_ path: String, _ system: [statx]) -> statx? {
        let names = path.split(separator: "/")
        for count in names.indices {
            let folder = status("/" + names[..<count].joined(separator: "/"))
            guard let folder, isOfSystem(folder, system), folder.stx_mode & 0o002 == 0 else { return nil }
        }
        return status(path)
    }

    /// Whether a file is root's, and on the file system of one of those of the system.
    private static func isOfSystem(_ file: statx, _ system: [statx]) -> Bool {
        file.stx_uid == 0 && system.contains { $0.isOnSameDevice(as: file) }
    }

    /// Whether the process has the mounts of this one or, where these can be read, of the system.
    private func hasSystemMounts(_ pid: Int32) -> Bool {
        guard let mounts = try? text(ofLink: "\(root)/\(pid)/ns/mnt") else { return false }
        return ["self", "1"].contains { (try? text(ofLink: "\(root)/\($0)/ns/mnt")) == mounts }
    }

    /// A file system is not asked for what the kernel has (AT_STATX_DONT_SYNC), so this does not block.
    private static func status(_ path: String) -> statx? {
        var status = statx()
        return clinux_stat_unasked(AT_FDCWD, path, &status) == 0 ? status : nil
    }

    /// The users whose rights the process has or can take; that of a setuid program has several.
    package func userIDs(_ pid: Int32) throws(UnknownProcess) -> Set<UInt32> {
        for line in try read("\(root)/\(pid)/status").split(separator: UInt8(ascii: "\n"))
        where line.starts(with: "Uid:".utf8) {
            return Set(
                line.split(separator: UInt8(ascii: "\t")).compactMap { UInt32(String(decoding: $0, as: UTF8.self)) })
        }
        throw UnknownProcess(reason: "its status file has no Uid")
    }

    func workingDirectory(_ pid: Int32) throws(UnknownProcess) -> [UInt8] { try link("\(root)/\(pid)/cwd") }

    /// Returns the arguments of the command line; of a long one, the first ones.
    func arguments(_ pid: Int32) throws(UnknownProcess) -> [[UInt8]] {
        let bytes = try read("\(root)/\(pid)/cmdline", mayBeCut: true)
        let all = bytes.split(separator: 0, omittingEmptySubsequences: false).map(Array.init)
        return bytes.count < ProcessReader.maximumRead ? all : all.dropLast()
    }

    private func exists(_ path: [UInt8]) -> Bool {
        (path + [0]).withUnsafeBytes { access($0.bindMemory(to: CChar.self).baseAddress!, F_OK) == 0 }
    }

    private func link(_ path: String) throws(UnknownProcess) -> [UInt8] {
        let path = try text(ofLink: path)
        guard path.first == UInt8(ascii: "/") else {
            throw UnknownProcess(reason: "its executable or working directory has no path")
        }
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

    func read(
        _ path: String, maximum: Int = ProcessReader.maximumRead, mayBeCut: Bool = false
    ) throws(UnknownProcess) -> [UInt8] {
        let fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard fd >= 0 else { throw UnknownProcess(reason: "\(path) cannot be read: \(errorText())") }
        defer { close(fd) }
        return try read(descriptor: fd, maximum: maximum, mayBeCut: mayBeCut)
    }

    /// Fails on longer files unless `mayBeCut`, because truncated content could have a different meaning.
    private func read(
        descriptor fd: Int32, maximum: Int = ProcessReader.maximumRead, mayBeCut: Bool = false
    ) throws(UnknownProcess) -> [UInt8] {
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while content.count < maximum {
            let count = Glibc.read(fd, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw UnknownProcess(reason: "reading failed: \(errorText())") }
            if count == 0 { return content }
            content += buffer.prefix(count)
        }
        guard mayBeCut else {
            throw UnknownProcess(reason: "a file about the process is larger than \(maximum >> 10) KiB")
        }
        return content
    }
}

extension statx {
    fileprivate func isOnSameDevice(as other: statx) -> Bool {
        (stx_dev_major, stx_dev_minor) == (other.stx_dev_major, other.stx_dev_minor)
    }

    fileprivate func isSame(as other: statx) -> Bool { isOnSameDevice(as: other) && stx_ino == other.stx_ino }
}
