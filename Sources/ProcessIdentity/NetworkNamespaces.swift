// Which network namespace a process is in, and the AF_UNIX sockets there. The kernel reports those of other namespaces in
// /proc/PID/net/unix only, without their peers (sock_diag(7) reports those of this one).

import Glibc
package import PermissionModel

extension ProcessReader {
    /// The network namespace that a process is in, as its link in /proc/PID/ns has it (namespaces(7)).
    package func network(_ pid: Int32) throws(UnknownProcess) -> [UInt8] { try text(ofLink: "\(root)/\(pid)/ns/net") }

    /// The network namespace of this process.
    package func ownNetwork() throws(UnknownProcess) -> [UInt8] { try text(ofLink: "\(root)/self/ns/net") }

    /// Whether the process is in this network namespace, so that the kernel reports its sockets.
    package func sharesNetwork(_ pid: Int32) throws(UnknownProcess) -> Bool { try network(pid) == ownNetwork() }

    /// The inodes of the AF_UNIX sockets in the network namespace that the process is in. The table is readable for every
    /// process. A program there can add numbers, with a path that contains the text of a line, but not remove any.
    ///
    /// - Parameter budget: The most bytes to read, less those that were. A longer table is refused.
    package func unixSockets(inNetworkOf pid: Int32, budget: inout Int) throws(UnknownProcess) -> Set<UInt32> {
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

/// Connections that a process accepted from another network namespace, such as those of sandboxes without network. The
/// kernel does not say which process holds their other ends, only in which namespace they were made.
package struct OtherNetworks {
    /// Connections from one namespace.
    package struct Connections: Equatable {
        /// The inodes of the sockets on this side.
        package let sockets: Set<UInt32>
        /// The processes there that hold sockets of the namespace, or whose descriptors cannot be read. At least one.
        package let processes: [ProcessKey]
    }

    /// The most bytes of tables that one search reads, of 110,000 sockets, which takes about 0.1 s.
    static let maximumTables = 16 << 20
    /// The most descriptors that one search reads, which takes about 0.1 s. Any other process may hold the connections.
    static let maximumDescriptors = 64 << 10
    /// The most processes that are found: each of them has to be identified.
    static let maximumProcesses = 1024

    private let reader: ProcessReader

    package init(_ reader: ProcessReader) { self.reader = reader }

    /// The connections by their namespaces. Nil if the processes of one were not found.
    ///
    /// - Parameter sockets: The inodes of the sockets on this side.
    package func connections(_ sockets: Set<UInt32>) -> [Connections]? {
        if sockets.isEmpty { return [] }
        var bytes = OtherNetworks.maximumTables
        var descriptors = OtherNetworks.maximumDescriptors
        var found: [Set<UInt32>: [ProcessKey]] = [:]
        for processes in processes() {
            guard let all = self.sockets(processes, &bytes) else { continue }
            let here = all.intersection(sockets)
            if !here.isEmpty { found[here, default: []] += processes.filter { mayOwn(all, $0, &descriptors) } }
        }
        let all = found.keys.reduce(into: Set()) { $0.formUnion($1) }
        let counts = found.values.map(\.count)
        guard all == sockets, !counts.contains(0), counts.reduce(0, +) <= OtherNetworks.maximumProcesses else {
            return nil
        }
        return found.map { Connections(sockets: $0, processes: $1) }
    }

    /// All processes in other namespaces, by namespace. One of this user that does not let others read where it is counts
    /// as being in one of its own.
    private func processes() -> [[ProcessKey]] {
        guard let own = try? reader.ownNetwork() else { return [] }
        var byNetwork: [[UInt8]: [ProcessKey]] = [:]
        var unread: [[ProcessKey]] = []
        try? reader.forEachProcess { pid in
            guard let process = try? reader.key(pid) else { return true }
            if let network = try? reader.network(pid) {
                if network != own { byNetwork[network, default: []].append(process) }
            } else if reader.user(pid) == getuid() {
                unread.append([process])
            }
            return true
        }
        return byNetwork.values + unread
    }

    /// The sockets in the namespace of these processes, as one of them has it that has not exited meanwhile. A table
    /// that is too long ends the search.
    private func sockets(_ processes: [ProcessKey], _ budget: inout Int) -> Set<UInt32>? {
        for process in processes {
            let sockets = try? reader.unixSockets(inNetworkOf: process.pid, budget: &budget)
            guard reader.isThere(process) else { continue }
            if sockets == nil { budget = 0 }
            return sockets
        }
        return nil
    }

    private func mayOwn(_ sockets: Set<UInt32>, _ process: ProcessKey, _ budget: inout Int) -> Bool {
        var isOwner = false
        let isRead = try? reader.forEachSocket(of: process.pid, budget: &budget) { socket in
            isOwner = sockets.contains(socket)
            return !isOwner
        }
        return isOwner || isRead == nil
    }
}
