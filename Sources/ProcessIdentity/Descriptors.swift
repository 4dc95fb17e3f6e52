// The descriptors of processes, from /proc/PID/fd, and which processes have a device open.

import CLinux
import Glibc
package import PermissionModel
import System

extension ProcessReader {
    /// The most descriptors that are read. Reading one blocks the caller for up to 3 µs. Compositors and browsers have
    /// some thousands, with those that they opened first among the first.
    static let maximumDescriptors = 4096
    package static let tooManyDescriptors = UnknownProcess(reason: "it has more descriptors than permd examines")

    /// Calls `body` with the ID of each process until it returns false.
    package func forEachProcess(_ body: (Int32) -> Bool) throws(UnknownProcess) {
        let folder = try DescriptorFolder(root)
        while let entry = folder.next(), body(entry.number) {}
    }
}

/// A folder of /proc that is read one entry at a time.
final class DescriptorFolder {
    // SAFETY: a stream of opendir(3), used by this object only and closed with it.
    private let stream: OpaquePointer

    init(_ path: String) throws(UnknownProcess) {
        guard let stream = opendir(path) else {
            throw UnknownProcess(reason: "its descriptors cannot be read: \(errorText())")
        }
        self.stream = stream
    }

    deinit { closedir(stream) }

    /// For the *at(2) calls.
    var descriptor: Int32 { dirfd(stream) }

    /// The next entry whose name is a number, with that name, which is valid until the next call.
    func next() -> (number: Int32, name: UnsafePointer<CChar>)? {
        while let entry = readdir(stream) {
            // SAFETY: the entry is valid until the next readdir(3), and its name ends with a NUL.
            let name = UnsafeRawPointer(entry).advanced(by: MemoryLayout<dirent>.offset(of: \.d_name)!)
                .assumingMemoryBound(to: CChar.self)
            if (CChar(UInt8(ascii: "0"))...CChar(UInt8(ascii: "9"))).contains(name.pointee) {
                return (atoi(name), name)
            }
        }
        return nil
    }
}

/// A process that has a device open.
package struct OpenDescriptors: Sendable, Hashable {
    package let process: ProcessKey
    /// The device number.
    package let device: UInt64
    /// Descriptors with which frames or samples can be read. A program that feeds a loopback camera may only write.
    package var descriptors: Int
}

extension ProcessReader {
    /// The most processes that are found: an app may have any number of children that inherit a device.
    static let maximumOpeners = 1024

    /// Finds the processes that have one of these devices open, but for this one: permd opens devices for apps, and
    /// hands them over. A process that may not be inspected is not found. Takes 16 ms for 20,000 descriptors.
    package func openers(of devices: Set<UInt64>) -> [OpenDescriptors] {
        let own = getpid()
        var found: [OpenDescriptors] = []
        try? forEachProcess { pid in
            if pid != own { found += openers(of: devices, in: pid) }
            return found.count < ProcessReader.maximumOpeners
        }
        return found
    }

    private func openers(of devices: Set<UInt64>, in pid: Int32) -> [OpenDescriptors] {
        guard let folder = try? DescriptorFolder("\(root)/\(pid)/fd") else { return [] }
        var found: [UInt64: Int] = [:]
        var count = 0
        while count < ProcessReader.maximumDescriptors, let entry = folder.next() {
            count += 1
            guard let device = folder.device(entry.name), devices.contains(device), mayRead(pid, entry.number) else {
                continue
            }
            found[device, default: 0] += 1
        }
        guard !found.isEmpty, let process = try? key(pid) else { return [] }
        return found.map { OpenDescriptors(process: process, device: $0.key, descriptors: $0.value) }
    }
}

extension DescriptorFolder {
    /// The number of a character device, at whatever path; nil for other files.
    fileprivate func device(_ name: UnsafePointer<CChar>) -> UInt64? {
        var status = statx()
        guard clinux_stat_unasked(descriptor, name, &status) == 0, UInt32(status.stx_mode) & S_IFMT == S_IFCHR else {
            return nil
        }
        return DescriptorFolder.number(UInt64(status.stx_rdev_major), UInt64(status.stx_rdev_minor))
    }

    /// A dev_t, as makedev(3) builds it.
    static func number(_ major: UInt64, _ minor: UInt64) -> UInt64 {
        (major & 0xFFF) << 8 | (major & ~0xFFF) << 32 | minor & 0xFF | (minor & ~0xFF) << 12
    }
}

extension ProcessReader {
    /// Whether the descriptor was not opened for writing only; true if that cannot be read.
    fileprivate func mayRead(_ pid: Int32, _ descriptor: Int32) -> Bool {
        guard let flags = field("flags:", of: "\(root)/\(pid)/fdinfo/\(descriptor)", radix: 8) else { return true }
        return Int32(truncatingIfNeeded: flags) & O_ACCMODE != O_WRONLY
    }

    /// The process that a thread belongs to: the kernel names the threads that opened a sound device.
    package func process(ofThread thread: Int32) -> Int32? {
        field("Tgid:", of: "\(root)/\(thread)/status", radix: 10).flatMap { Int32(exactly: $0) }
    }

    /// The user that the process runs as: its real user ID.
    package func user(_ pid: Int32) -> UInt32? {
        field("Uid:", of: "\(root)/\(pid)/status", radix: 10).flatMap { UInt32(exactly: $0) }
    }

    /// The first number in the line that begins with that key.
    private func field(_ key: String, of path: String, radix: Int) -> UInt64? {
        guard let content = try? read(path, mayBeCut: true) else { return nil }
        for line in content.split(separator: UInt8(ascii: "\n")) where line.starts(with: key.utf8) {
            let text = String(decoding: line.dropFirst(key.utf8.count), as: UTF8.self)
            return UInt64(text.drop { $0 == " " || $0 == "\t" }.prefix { $0.isHexDigit }, radix: radix)
        }
        return nil
    }
}
