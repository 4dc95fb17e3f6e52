// What a process's environment and the files that it sees say about it. Whoever made them may have chosen what, so this is
// for programs outside sandboxes only; reading it may block.

import Glibc
import System

extension ProcessReader {
    /// Environments are far smaller, and the kernel allows 6 MiB with the arguments.
    private static let maximumEnvironment = 512 << 10
    /// Each mount is a line of some hundred bytes.
    private static let maximumMounts = 1 << 20

    /// Returns the values that variables of the environment had when the process was started.
    func variables(_ names: [String], of pid: Int32) -> [String: [UInt8]] {
        let all = try? read("\(root)/\(pid)/environ", maximum: ProcessReader.maximumEnvironment, mayBeCut: true)
        let lines = all?.split(separator: 0) ?? []
        return names.reduce(into: [:]) { values, name in
            let start = Array("\(name)=".utf8)
            values[name] = lines.first { $0.starts(with: start) }.map { Array($0.dropFirst(start.count)) }
        }
    }

    /// Returns one of `S_IFREG`, `S_IFDIR` and so on for a path in the process's root directory, links followed; nil if there
    /// is nothing.
    func kind(of path: [UInt8], seenBy pid: Int32) -> UInt32? {
        var status = stat()
        let found = whole(path, pid).withUnsafeBytes { stat($0.bindMemory(to: CChar.self).baseAddress!, &status) == 0 }
        return found ? status.st_mode & S_IFMT : nil
    }

    /// Returns where an absolute path leads, links followed, if the process has the root directory that this one has; the
    /// path itself otherwise.
    func realPath(_ path: [UInt8], seenBy pid: Int32) -> [UInt8] {
        let plain = AppIdentity.absolute(path, from: [])
        var (own, other) = (stat(), stat())
        guard stat("/", &own) == 0, stat("\(root)/\(pid)/root", &other) == 0,
            (own.st_dev, own.st_ino) == (other.st_dev, other.st_ino), !path.contains(0)
        else { return plain }
        return (path + [0]).withUnsafeBytes { Folders.realPath($0.bindMemory(to: CChar.self).baseAddress!) } ?? plain
    }

    /// Whether a file that is not there may have been deleted by the user: the nearest folder that is there is the user's, or
    /// everybody's.
    func isOfUser(_ path: [UInt8], seenBy pid: Int32) -> Bool {
        var parts = path.split(separator: UInt8(ascii: "/"))
        while !parts.isEmpty {
            parts.removeLast()
            let folder = whole(parts.flatMap { [UInt8(ascii: "/")] + $0 }, pid)
            var status = stat()
            guard folder.withUnsafeBytes({ stat($0.bindMemory(to: CChar.self).baseAddress!, &status) }) != 0 else {
                return status.st_uid == geteuid() || status.st_mode & S_IWOTH != 0
            }
        }
        return false
    }

    /// Whether a program has mounted a file system of its own at that path (`/proc/PID/mountinfo`, proc(5)).
    func isFuse(_ path: [UInt8], seenBy pid: Int32) -> Bool {
        let all = try? read("\(root)/\(pid)/mountinfo", maximum: ProcessReader.maximumMounts, mayBeCut: true)
        return all?.split(separator: UInt8(ascii: "\n")).contains { line in
            let fields = line.split(separator: UInt8(ascii: " "))
            guard fields.count > 6, fields[4].elementsEqual(path),
                let end = fields.firstIndex(where: { $0.elementsEqual("-".utf8) }), end + 1 < fields.count
            else { return false }
            return fields[end + 1].elementsEqual("fuse".utf8) || fields[end + 1].starts(with: "fuse.".utf8)
        } ?? false
    }

    /// Whether the path is a regular file in the process's root directory that says it is an AppImage.
    func isAppImage(_ path: [UInt8], seenBy pid: Int32) -> Bool {
        let start = whole(path, pid).withUnsafeBytes {
            RegularFile.start(of: $0.bindMemory(to: CChar.self).baseAddress!, 10)
        }
        guard let start, start.count == 10 else { return false }
        return start.starts(with: [0x7F] + Array("ELF".utf8)) && start[8...] == Array("AI".utf8)[...]
    }

    private func whole(_ path: [UInt8], _ pid: Int32) -> [UInt8] { Array("\(root)/\(pid)/root".utf8) + path + [0] }
}
