// The sockets of the kernel's network protocols that a process holds, from its network namespace's tables (proc(5),
// /proc/PID/net).

import Glibc

/// Which of a process's sockets are in the tables of TCP, UDP and netlink.
package struct InternetSockets: Sendable {
    /// Whether a TCP connection that the process accepted is among them. UDP and netlink have no connections that are
    /// accepted, and TCP connections that the process opened have other local ports than those it listens on.
    package let hasAccepted: Bool
    /// The inodes that are in no table. They may be AF_UNIX sockets of another network namespace.
    package let others: Set<UInt32>
}

extension ProcessReader {
    /// The most bytes of one table, which is read as a whole: 27,000 sockets.
    static let maximumTable = 4 << 20

    /// - Parameter held: The inodes of sockets that the process holds.
    package func internetSockets(_ pid: Int32, among held: Set<UInt32>) throws(UnknownProcess) -> InternetSockets {
        var others = held
        var listening: Set<[UInt8]> = []
        var connected: Set<[UInt8]> = []
        for name in ["tcp", "tcp6", "udp", "udp6", "netlink"] {
            let path = "\(root)/\(pid)/net/\(name)"
            // Without IPv6, its tables are missing.
            if name.hasSuffix("6"), access(path, F_OK) != 0, errno == ENOENT { continue }
            let table = try read(path, maximum: ProcessReader.maximumTable)
            for line in table.split(separator: UInt8(ascii: "\n")).dropFirst() {
                guard let socket = TableLine(line) else { throw ProcessReader.unknownFormat(path) }
                guard others.remove(socket.inode) != nil, name.hasPrefix("tcp") else { continue }
                guard let port = socket.port else { throw ProcessReader.unknownFormat(path) }
                if socket.isListening { listening.insert(port) } else { connected.insert(port) }
            }
        }
        return InternetSockets(hasAccepted: !listening.isDisjoint(with: connected), others: others)
    }

    static func unknownFormat(_ path: String) -> UnknownProcess {
        UnknownProcess(reason: "\(path) has another format than proc(5) describes")
    }
}

/// A line of a table, whose tenth field is the inode. Of TCP: slot, local and remote address, state, queues, timer,
/// retransmissions, user, timeout, inode.
private struct TableLine {
    /// The local port as the table has it, in hexadecimal; nil if the second field is no address.
    let port: [UInt8]?
    /// Of TCP only.
    let isListening: Bool
    let inode: UInt32

    /// TCP_LISTEN (linux/net/tcp_states.h).
    private static let listen = Array("0A".utf8)

    init?(_ line: ArraySlice<UInt8>) {
        let fields = line.split(separator: UInt8(ascii: " "))
        guard fields.count >= 10, let inode = UInt32(String(decoding: fields[9], as: UTF8.self)) else { return nil }
        port = fields[1].lastIndex(of: UInt8(ascii: ":")).map { Array(fields[1][($0 + 1)...]) }
        isListening = fields[3].elementsEqual(TableLine.listen)
        self.inode = inode
    }
}
