// Which sockets to the bus a process holds. A socket leads to the bus if its peer has the same address as the peer of
// permd's own socket.

import CLinux
import Glibc
import PermissionModel

/// Sockets of one bus, as seen from this network namespace.
struct BusSockets: Sendable {
    /// Programs have a few hundred sockets. A search that would need more than this is given up: for each, the kernel is
    /// asked twice, about the socket and about its peer, which takes some 40 µs.
    static let maximumSockets = 1024

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

    /// The sockets to the bus that a process holds, at most `count` of them. Throws if the process has more sockets or
    /// descriptors than are examined.
    ///
    /// Sockets of another network namespace cannot be queried. In a process there, all sockets unknown here count.
    func sockets(of pid: Int32, atMost count: Int, _ reader: ProcessReader) throws(UnknownProcess) -> [ProcessSocket] {
        guard count <= BusSockets.maximumSockets else { throw ProcessReader.tooManyDescriptors }
        guard count > 0 else { return [] }
        let isElsewhere = try !reader.sharesNetwork(pid)
        var found: [UInt32: ProcessSocket] = [:]
        var seen = 0
        let isWhole = try reader.forEachSocket(of: pid) { socket in
            seen += 1
            if leadsToBus(socket.inode) ?? isElsewhere { found[socket.inode] = socket }
            return found.count < count && seen < BusSockets.maximumSockets
        }
        guard isWhole || found.count == count else { throw ProcessReader.tooManyDescriptors }
        return Array(found.values)
    }

    /// Returns nil for a socket that this network namespace does not have.
    private func leadsToBus(_ inode: UInt32) -> Bool? {
        guard let peer = try? sockets.find(inode).peer else { return nil }
        return peer != 0 && (try? sockets.find(peer).address) == address
    }
}
