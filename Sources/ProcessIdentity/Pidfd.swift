// Operations on pidfds.

import CLinux
import Glibc

package enum Pidfd {
    /// Opens a pidfd for the process that currently has that PID. Returns -1 and sets errno on failure; the caller must
    /// close it.
    package static func open(_ pid: Int32) -> Int32 { clinux_pidfd_open(pid, 0) }

    /// Returns the PID behind a pidfd; nil if the process has exited or is not in this PID namespace.
    package static func pid(of pidfd: Int32) -> Int32? { number(of: pidfd).flatMap { $0 > 0 ? $0 : nil } }

    /// What the kernel reports as the PID behind a pidfd (pidfd_open(2), proc(5)): -1 if the process has exited, 0 if it
    /// is not in this PID namespace. Returns nil if the descriptor is not a pidfd.
    package static func number(of pidfd: Int32) -> Int32? {
        guard let file = fopen("/proc/self/fdinfo/\(pidfd)", "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = fread(&bytes, 1, bytes.count, file)
        for line in bytes.prefix(count).split(separator: UInt8(ascii: "\n")) where line.starts(with: "Pid:\t".utf8) {
            return Int32(String(decoding: line.dropFirst("Pid:\t".utf8.count), as: UTF8.self))
        }
        return nil
    }

    /// A pidfd is readable once its process has exited (pidfd_open(2)).
    package static func isAlive(_ pidfd: Int32) -> Bool {
        var entry = pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) == 0
    }
}
