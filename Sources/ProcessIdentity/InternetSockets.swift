// The TCP and UDP sockets that a process holds, from its network namespace's tables (proc(5), /proc/PID/net).

import Glibc

extension ProcessReader {
    /// The most bytes of one table, which is read as a whole: 27,000 sockets.
    static let maximumTable = 4 << 20

    /// Whether a client may be at the other end of one of these sockets: of a TCP connection that the process accepted,
    /// or of a socket that is in no table. The latter may be the connection of a client in another network namespace.
    /// UDP has no connections that are accepted, and TCP connections that the process opened have other local ports than
    /// those it listens on.
    ///
    /// - Parameter held: The inodes of sockets that the process holds.
    public func mayHaveClients(_ pid: Int32, _ held: Set<UInt32>) throws(UnknownProcess) -> Bool {
        var unexplained = held
        var listening: Set<[UInt8]> = []
        var connected: Set<[UInt8]> = []
        for name in ["tcp", "tcp6", "udp", "udp6"] {
            let path = "\(root)/\(pid)/net/\(name)"
            // Without IPv6, its tables are missing.
            if name.hasSuffix("6"), access(path, F_OK) != 0, errno == ENOENT { continue }
            let table = try read(path, maximum: ProcessReader.maximumTable)
            for line in table.split(separator: UInt8(ascii: "\n")).dropFirst() {
                guard let socket = InternetSocket(line) else {
                    throw UnknownProcess(reason: "\(path) has another format than proc(5) describes")
                }
                guard unexplained.remove(socket.inode) != nil, name.hasPrefix("tcp") else { continue }
                if socket.isListening { listening.insert(socket.port) } else { connected.insert(socket.port) }
            }
        }
        return !unexplained.isEmpty || !listening.isDisjoint(with: connected)
    }
}

/// A line of a table: slot, local and remote address, state, queues, timer, retransmissions, user, timeout, inode.
private struct InternetSocket {
    /// The local port as the table has it, in hexadecimal.
    let port: [UInt8]
    /// Of TCP only.
    let isListening: Bool
    let inode: UInt32

    /// TCP_LISTEN (linux/net/tcp_states.h).
    private static let listen = Array("0A".utf8)

    init?(_ line: ArraySlice<UInt8>) {
        let fields = line.split(separator: UInt8(ascii: " "))
        guard fields.count >= 10, let colon = fields[1].lastIndex(of: UInt8(ascii: ":")),
            let inode = UInt32(String(decoding: fields[9], as: UTF8.self))
        else { return nil }
        port = Array(fields[1][(colon + 1)...])
        isListening = fields[3].elementsEqual(InternetSocket.listen)
        self.inode = inode
    }
}
