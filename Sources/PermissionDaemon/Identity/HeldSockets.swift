// Which sockets to the bus a process holds: its descriptors from /proc, and what they are connected with from sock_diag(7).
// A socket to the bus is one whose other end has the address that the other end of our own has.

import CLinux
import DBus
import Glibc
import PermissionModel

/// Sockets of one bus, as seen from this network namespace.
struct BusSockets {
    /// A look at more would take the loop too long: a descriptor takes about a microsecond. Browsers and compositors have
    /// some thousands; sockets to the bus are mostly among the first.
    static let maximumDescriptors = 8192
    /// Of sockets that lead elsewhere, for each of which the kernel goes through its AF_UNIX sockets: some 10 µs.
    static let maximumStrangers = 512

    /// Why it cannot be told.
    enum Refusal: Error {
        /// The kernel does not tell, or the bus has no address: so it will stay.
        case unsupported
        /// It may be otherwise next time.
        case failed(String)
    }

    private let diag: UnixFD
    private let address: [UInt8]

    /// - Parameter socket: our own to that bus.
    init(of socket: Int32) throws(Refusal) {
        let opened = clinux_open_sock_diag()
        guard opened >= 0 else { throw BusSockets.refusal(errno) }
        diag = UnixFD(owning: opened)
        var status = stat()
        guard fstat(socket, &status) == 0 else { throw .failed("our own socket cannot be looked at") }
        let own = try BusSockets.ask(diag, UInt32(truncatingIfNeeded: status.st_ino))
        let other = try BusSockets.ask(diag, own.peer)
        address = BusSockets.name(of: other)
        guard !address.isEmpty else { throw .unsupported }
    }

    /// The inodes of sockets to the bus that the process holds, in the order of its descriptors, at most `count`.
    ///
    /// Of a process in another network namespace, whose sockets cannot be looked at, all that are unknown here count.
    func held(by pid: Int32, atMost count: Int, _ reader: ProcessReader) throws(UnknownProcess) -> Set<UInt32> {
        var found: Set<UInt32> = []
        var strangers = 0
        let isElsewhere = try !reader.sharesNetwork(pid)
        try reader.forEachSocket(of: pid, atMost: BusSockets.maximumDescriptors) { inode in
            guard found.count < count, strangers < BusSockets.maximumStrangers else { return false }
            if leadsToBus(inode) ?? isElsewhere { found.insert(inode) } else { strangers += 1 }
            return found.count < count
        }
        return found
    }

    /// Nil for a socket that is not known here.
    private func leadsToBus(_ inode: UInt32) -> Bool? {
        guard let own = try? BusSockets.ask(diag, inode) else { return nil }
        guard own.peer != 0, let other = try? BusSockets.ask(diag, own.peer) else { return false }
        return BusSockets.name(of: other) == address
    }

    private static func ask(_ diag: UnixFD, _ inode: UInt32) throws(Refusal) -> clinux_unix_socket {
        var found = clinux_unix_socket()
        let error = clinux_ask_unix_socket(diag.raw, inode, &found)
        guard error == 0 else { throw refusal(error) }
        return found
    }

    private static func refusal(_ error: Int32) -> Refusal {
        switch error {
        case ENOENT, EOPNOTSUPP, EPROTONOSUPPORT, EAFNOSUPPORT, EINVAL, EPERM, EACCES: .unsupported
        default: .failed(String(cString: strerror(error)))
        }
    }

    private static func name(of socket: clinux_unix_socket) -> [UInt8] {
        withUnsafeBytes(of: socket.name) { Array($0.prefix(Int(socket.name_length))) }
    }
}

extension ProcessReader {
    /// Whether its network is ours, so that the kernel tells us of its sockets.
    func sharesNetwork(_ pid: Int32) throws(UnknownProcess) -> Bool {
        try text(ofLink: "\(root)/\(pid)/ns/net") == text(ofLink: "\(root)/self/ns/net")
    }

    /// Calls `body` with the inodes of the sockets it holds, in the order of its descriptors, until that says false.
    func forEachSocket(
        of pid: Int32, atMost count: Int, _ body: (UInt32) -> Bool
    ) throws(UnknownProcess) {
        guard let folder = opendir("\(root)/\(pid)/fd") else {
            throw UnknownProcess(reason: "its descriptors cannot be looked at: \(String(cString: strerror(errno)))")
        }
        defer { closedir(folder) }
        var rest = count
        while rest > 0, let entry = readdir(folder) {
            rest -= 1
            guard let inode = ProcessReader.socket(entry, in: dirfd(folder)) else { continue }
            guard body(inode) else { return }
        }
    }

    /// A socket's link is `socket:[INODE]` (proc(5)).
    private static func socket(_ entry: UnsafeMutablePointer<dirent>, in folder: Int32) -> UInt32? {
        let mark = Array("socket:[".utf8)
        var bytes = [UInt8](repeating: 0, count: 32)
        // SAFETY: the entry is valid until the next readdir(3), and its name ends with a NUL.
        let count = withUnsafePointer(to: &entry.pointee.d_name) { name in
            name.withMemoryRebound(to: CChar.self, capacity: 256) { name in
                bytes.withUnsafeMutableBytes {
                    readlinkat(folder, name, $0.bindMemory(to: CChar.self).baseAddress!, $0.count)
                }
            }
        }
        guard count > mark.count + 1, bytes.starts(with: mark), bytes[count - 1] == UInt8(ascii: "]") else { return nil }
        return UInt32(String(decoding: bytes[mark.count..<count - 1], as: UTF8.self))
    }
}
