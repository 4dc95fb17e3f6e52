// Which network namespace a process is in, and the AF_UNIX sockets there. The kernel reports those of other namespaces in
// /proc/PID/net/unix only, without their peers (sock_diag(7) reports those of this one).

import Glibc

extension ProcessReader {
    /// The network namespace that a process is in, as its link in /proc/PID/ns has it (namespaces(7)).
    public func network(_ pid: Int32) throws(UnknownProcess) -> [UInt8] { try text(ofLink: "\(root)/\(pid)/ns/net") }

    /// The network namespace of this process.
    public func ownNetwork() throws(UnknownProcess) -> [UInt8] { try text(ofLink: "\(root)/self/ns/net") }

    /// Whether the process is in this network namespace, so that the kernel reports its sockets.
    public func sharesNetwork(_ pid: Int32) throws(UnknownProcess) -> Bool { try network(pid) == ownNetwork() }

    /// The inodes of the AF_UNIX sockets in the network namespace that the process is in. The table is readable for every
    /// process. A program there can add numbers, with a path that contains the text of a line, but not remove any.
    ///
    /// - Parameter budget: The most bytes to read, less those that were. A longer table is refused.
    public func unixSockets(inNetworkOf pid: Int32, budget: inout Int) throws(UnknownProcess) -> Set<UInt32> {
        let table = try read("\(root)/\(pid)/net/unix", maximum: budget)
        budget -= table.count
        var inodes: Set<UInt32> = []
        for line in table.split(separator: UInt8(ascii: "\n")) {
            // Address, references, protocol, flags, type, state, inode, and possibly a path, which may contain anything.
            let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 7)
            guard fields.count >= 7, let inode = UInt32(String(decoding: fields[6], as: UTF8.self)) else { continue }
            inodes.insert(inode)
        }
        return inodes
    }
}
