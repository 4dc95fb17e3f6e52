// The descendants of a process, from /proc.

import Glibc

enum ProcessTree {
    /// The running children of `pid` and their descendants.
    static func descendants(of pid: Int32) -> [Int32] {
        children(of: pid).flatMap { [$0] + descendants(of: $0) }
    }

    static func children(of pid: Int32) -> [Int32] {
        let file = open("/proc/\(pid)/task/\(pid)/children", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        // Large enough for far more children than a test program has.
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = max(0, read(file, &buffer, buffer.count))
        return String(decoding: buffer[..<count], as: UTF8.self).split(separator: " ").compactMap { Int32($0) }
    }
}
