// Which sockets to the bus a process holds: its descriptors come from /proc, and the peers of its sockets from
// sock_diag(7). A socket leads to the bus if its peer has the same address as the peer of permd's own socket.

import CLinux
import DBus
import Glibc
import PermissionModel
import ProcessIdentity

/// Sockets of one bus, as seen from this network namespace.
struct BusSockets {
    /// The most descriptors that are read. Reading one blocks the loop for up to 3 µs. Compositors and browsers have
    /// some thousands, with their sockets to the bus among the first.
    static let maximumDescriptors = 4096
    /// Programs have a few hundred sockets. A search that would need more than this is given up.
    static let maximumSockets = 1024
    /// For each socket, and again for its peer, the kernel searches all its AF_UNIX sockets, which takes some 20 µs.
    static let socketsPerTurn = 64

    /// Why a socket's peer is not known.
    enum Refusal: Error {
        /// The kernel cannot report it, or the bus has no address. This is permanent.
        case unsupported
        /// The query may succeed next time.
        case failed(String)
    }

    private let diag: UnixFD
    private let address: [UInt8]

    /// - Parameter socket: permd's own socket to that bus.
    init(of socket: Int32) throws(Refusal) {
        let opened = clinux_open_sock_diag()
        guard opened >= 0 else { throw BusSockets.refusal(errno) }
        diag = UnixFD(owning: opened)
        var status = stat()
        guard fstat(socket, &status) == 0 else { throw .failed("permd cannot inspect its own socket to the bus") }
        let own = try BusSockets.ask(diag, UInt32(truncatingIfNeeded: status.st_ino))
        let other = try BusSockets.ask(diag, own.peer)
        address = BusSockets.name(of: other)
        guard !address.isEmpty else { throw .unsupported }
    }

    /// A socket that a process holds.
    struct Held: Hashable {
        let inode: UInt32
        let descriptor: Int32
    }

    /// The state of a search for a process's sockets to the bus.
    struct Search {
        let pid: Int32
        /// The number of sockets after which the search ends.
        let count: Int
        fileprivate(set) var found: [UInt32: Held] = [:]
        fileprivate(set) var seen = 0
        fileprivate(set) var next: Int32 = 0
    }

    /// Continues a search with the next `socketsPerTurn` sockets; returns true when it is over. Throws if the process
    /// has more sockets or descriptors than are examined.
    ///
    /// Sockets of another network namespace cannot be queried. In a process there, all sockets unknown here count.
    func go(on search: inout Search, _ reader: ProcessReader) throws(UnknownProcess) -> Bool {
        guard search.count <= BusSockets.maximumSockets else { throw BusSockets.tooMany }
        guard search.found.count < search.count else { return true }
        let isElsewhere = try !reader.sharesNetwork(search.pid)
        let end = search.seen + BusSockets.socketsPerTurn
        let isWhole = try reader.forEachSocket(of: search.pid, from: search.next) { socket in
            search.next = socket.descriptor + 1
            search.seen += 1
            if leadsToBus(socket.inode) ?? isElsewhere { search.found[socket.inode] = socket }
            return search.found.count < search.count && search.seen < end
        }
        if isWhole || search.found.count == search.count { return true }
        guard search.seen < BusSockets.maximumSockets else { throw BusSockets.tooMany }
        return false
    }

    static let tooMany = UnknownProcess(reason: "it has more descriptors than permd examines")

    /// Returns nil for a socket that this network namespace does not have.
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
    /// Calls `body` with each socket of a process, in the order of its descriptors, until `body` returns false. Returns
    /// whether all were visited. Throws if the process has more than `maximumDescriptors`.
    func forEachSocket(
        of pid: Int32, from first: Int32, _ body: (BusSockets.Held) -> Bool
    ) throws(UnknownProcess) -> Bool {
        guard let folder = opendir("\(root)/\(pid)/fd") else {
            throw UnknownProcess(reason: "its descriptors cannot be read: \(String(cString: strerror(errno)))")
        }
        defer { closedir(folder) }
        var rest = BusSockets.maximumDescriptors
        while let entry = readdir(folder) {
            rest -= 1
            guard rest >= 0 else { throw BusSockets.tooMany }
            // SAFETY: the entry is valid until the next readdir(3), and its name ends with a NUL.
            let socket = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { name -> BusSockets.Held? in
                    let descriptor = Int32(atoi(name))
                    guard descriptor >= first else { return nil }
                    return ProcessReader.socket(in: dirfd(folder), name).map {
                        BusSockets.Held(inode: $0, descriptor: descriptor)
                    }
                }
            }
            if let socket, !body(socket) { return false }
        }
        return true
    }

    /// Whether the process still has the socket at the same descriptor.
    func holds(_ pid: Int32, _ socket: BusSockets.Held) -> Bool {
        ProcessReader.socket(in: AT_FDCWD, "\(root)/\(pid)/fd/\(socket.descriptor)") == socket.inode
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
