// Which sockets to the bus a process holds: its descriptors from /proc, and what they are connected with from sock_diag(7).
// A socket to the bus is one whose other end has the address that the other end of our own has.

import CLinux
import DBus
import Glibc
import PermissionModel

/// Sockets of one bus, as seen from this network namespace.
struct BusSockets {
    /// Others wait during a look, and one descriptor takes up to 3 µs. Compositors and browsers have some thousands, their
    /// sockets to the bus among the first.
    static let maximumDescriptors = 4096
    /// The kernel goes through all its AF_UNIX sockets for each that is asked about, and again for its peer: some 20 µs.
    static let maximumAsked = 256

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

    /// A socket that a process holds.
    struct Held: Hashable {
        let inode: UInt32
        /// The process's number for it.
        let descriptor: Int32
    }

    /// The sockets to the bus that the process holds, at most `count`, each once. Throws when there is more to look at than
    /// is looked at.
    ///
    /// Of a process in another network namespace, whose sockets cannot be looked at, all that are unknown here count.
    func held(by pid: Int32, atMost count: Int, _ reader: ProcessReader) throws(UnknownProcess) -> [Held] {
        var found: [UInt32: Held] = [:]
        let tooMany = UnknownProcess(reason: "it holds more descriptors than are looked at")
        guard count <= BusSockets.maximumAsked else { throw tooMany }
        var asked = 0
        let isElsewhere = try !reader.sharesNetwork(pid)
        let isWhole = try reader.forEachSocket(of: pid, atMost: BusSockets.maximumDescriptors) { socket in
            asked += 1
            guard found.count < count, asked <= BusSockets.maximumAsked else { return false }
            if leadsToBus(socket.inode) ?? isElsewhere { found[socket.inode] = socket }
            return found.count < count
        }
        guard found.count == count || isWhole else { throw tooMany }
        return Array(found.values)
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

    /// Calls `body` with the sockets it holds, in the order of its descriptors, until that says false. Whether it went
    /// through all.
    func forEachSocket(
        of pid: Int32, atMost count: Int, _ body: (BusSockets.Held) -> Bool
    ) throws(UnknownProcess) -> Bool {
        guard let folder = opendir("\(root)/\(pid)/fd") else {
            throw UnknownProcess(reason: "its descriptors cannot be looked at: \(String(cString: strerror(errno)))")
        }
        defer { closedir(folder) }
        var rest = count
        while let entry = readdir(folder) {
            guard rest > 0 else { return false }
            // SAFETY: the entry is valid until the next readdir(3), and its name ends with a NUL.
            let socket = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { name in
                    ProcessReader.socket(in: dirfd(folder), name).map {
                        BusSockets.Held(inode: $0, descriptor: Int32(atoi(name)))
                    }
                }
            }
            rest -= 1
            if let socket, !body(socket) { return false }
        }
        return true
    }

    /// Whether the process still holds it.
    func holds(_ pid: Int32, _ socket: BusSockets.Held) -> Bool {
        ProcessReader.socket(in: AT_FDCWD, "\(root)/\(pid)/fd/\(socket.descriptor)") == socket.inode
    }

    /// The inode of a socket, whose link is `socket:[INODE]` (proc(5)).
    private static func socket(in folder: Int32, _ path: UnsafePointer<CChar>) -> UInt32? {
        // As long as the longest of these; what is cut is none.
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 32) { link in
            let count = readlinkat(folder, path, link.baseAddress!, link.count)
            guard count > 9, count < link.count, strncmp(link.baseAddress!, "socket:[", 8) == 0 else { return nil }
            link[count] = 0
            return UInt32(exactly: strtoul(link.baseAddress! + 8, nil, 10))
        }
    }
}
