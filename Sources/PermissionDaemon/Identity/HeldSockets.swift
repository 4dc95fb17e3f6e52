// Which sockets to the bus a process holds. A socket leads to the bus if its peer has the same address as the peer of
// permd's own socket.

import CLinux
import Glibc
import PermissionModel
import ProcessIdentity

/// Sockets of one bus, as seen from this network namespace.
struct BusSockets {
    /// Programs have a few hundred sockets. A search that would need more than this is given up.
    static let maximumSockets = 1024
    /// For each socket, the kernel is asked twice: about the socket and about its peer.
    static let socketsPerTurn = 64

    private let sockets: UnixSockets
    private let address: [UInt8]

    /// - Parameter socket: permd's own socket to that bus.
    init(of socket: Int32) throws(UnixSockets.Refusal) {
        sockets = try UnixSockets()
        var status = stat()
        guard fstat(socket, &status) == 0 else { throw .failed("permd cannot inspect its own socket to the bus") }
        let peer = try sockets.find(UInt32(truncatingIfNeeded: status.st_ino)).peer
        address = try sockets.find(peer).address
        guard !address.isEmpty else { throw .unsupported }
    }

    /// The state of a search for a process's sockets to the bus.
    struct Search {
        let pid: Int32
        /// The number of sockets after which the search ends.
        let count: Int
        fileprivate(set) var found: [UInt32: HeldSocket] = [:]
        fileprivate(set) var seen = 0
        fileprivate(set) var next: Int32 = 0
    }

    /// Continues a search with the next `socketsPerTurn` sockets; returns true when it is over. Throws if the process
    /// has more sockets or descriptors than are examined.
    ///
    /// Sockets of another network namespace cannot be queried. In a process there, all sockets unknown here count.
    func go(on search: inout Search, _ reader: ProcessReader) throws(UnknownProcess) -> Bool {
        guard search.count <= BusSockets.maximumSockets else { throw ProcessReader.tooManyDescriptors }
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
        guard search.seen < BusSockets.maximumSockets else { throw ProcessReader.tooManyDescriptors }
        return false
    }

    /// Returns nil for a socket that this network namespace does not have.
    private func leadsToBus(_ inode: UInt32) -> Bool? {
        guard let peer = try? sockets.find(inode).peer else { return nil }
        return peer != 0 && (try? sockets.find(peer).address) == address
    }
}
