// The sockets that a process holds, from /proc, and their peers, from sock_diag(7).

import CLinux
import Glibc
import System

/// What the kernel reports about AF_UNIX sockets of this network namespace. For each query, it searches all of them,
/// which takes some 20 µs.
package final class UnixSockets: Sendable {
    /// Why a socket is not known.
    package enum Refusal: Error {
        /// The kernel cannot report it, or the namespace has no such socket. This is permanent.
        case unsupported
        /// The query may succeed next time. The reason is a text of strerror(3).
        case failed(String)
    }

    private let diag: Int32

    package init() throws(Refusal) {
        diag = clinux_open_sock_diag()
        if diag < 0 { throw UnixSockets.refusal(errno) }
    }

    deinit { if diag >= 0 { close(diag) } }

    /// Whether the kernel reports the peers of sockets: not without its module unix_diag (CONFIG_UNIX_DIAG).
    package func areReported() -> Bool {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            return true
        }
        defer { for end in ends { close(end) } }
        var status = stat()
        guard fstat(ends[0], &status) == 0, let inode = UInt32(exactly: status.st_ino) else { return true }
        do throws(Refusal) {
            return try find(inode).peer != 0
        } catch {
            if case .unsupported = error { return false }
            return true
        }
    }

    /// The inode of the socket that this one is connected to, or 0, and the address that this one is bound to, if any.
    package func find(_ inode: UInt32) throws(Refusal) -> (peer: UInt32, address: [UInt8]) {
        var found = clinux_unix_socket()
        let error = clinux_ask_unix_socket(diag, inode, &found)
        guard error == 0 else { throw UnixSockets.refusal(error) }
        return (found.peer, withUnsafeBytes(of: found.name) { Array($0.prefix(Int(found.name_length))) })
    }

    private static func refusal(_ error: Int32) -> Refusal {
        switch error {
        case ENOENT, EOPNOTSUPP, EPROTONOSUPPORT, EAFNOSUPPORT, EINVAL, EPERM, EACCES: .unsupported
        default: .failed(errorText(error))
        }
    }
}

extension ProcessReader {
    /// Calls `body` with the inode of each socket of a process, in the order of its descriptors, until `body` returns false. Returns
    /// whether all were visited. Throws if the process has more than `maximumDescriptors`.
    package func forEachSocket(
        of pid: Int32, _ body: (UInt32) -> Bool
    ) throws(UnknownProcess) -> Bool {
        var budget = Int.max
        return try forEachSocket(of: pid, budget: &budget, body)
    }

    /// The same for a search through many processes.
    ///
    /// - Parameter budget: The most descriptors to read, less those that were. Throws if the process has more.
    package func forEachSocket(
        of pid: Int32, budget: inout Int, _ body: (UInt32) -> Bool
    ) throws(UnknownProcess) -> Bool {
        let folder = try DescriptorFolder("\(root)/\(pid)/fd")
        let maximum = min(budget, ProcessReader.maximumDescriptors)
        var rest = maximum
        defer { budget -= maximum - max(rest, 0) }
        while let entry = folder.next() {
            rest -= 1
            guard rest >= 0 else { throw ProcessReader.tooManyDescriptors }
            guard let inode = ProcessReader.socket(in: folder.descriptor, entry.name) else { continue }
            if !body(inode) { return false }
        }
        return true
    }

    /// Returns the inode of a socket, whose link is `socket:[INODE]` (proc(5)); nil for other descriptors.
    private static func socket(in folder: Int32, _ path: UnsafePointer<CChar>) -> UInt32? {
        // Long enough for every such link; a link that does not fit is of another kind.
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 32) { link in
            let count = readlinkat(folder, path, link.baseAddress!, link.count)
            guard count > 9, count < link.count, strncmp(link.baseAddress!, "socket:[", 8) == 0 else { return nil }
            link[count] = 0
            return UInt32(exactly: strtoul(link.baseAddress! + 8, nil, 10))
        }
    }
}
