// The TCP sockets that a process holds, from its network namespace's tables (proc(5), /proc/PID/net/tcp and tcp6).

import Glibc

extension ProcessReader {
    /// The most bytes of one table, which is read as a whole: 27,000 sockets.
    static let maximumTable = 4 << 20

    /// Whether one of these sockets is a TCP connection that the process accepted: its local port is one that the process
    /// listens on. Connections that it opened itself have other ports.
    ///
    /// - Parameter held: The inodes of sockets that the process holds. Those of other kinds are ignored.
    public func hasAccepted(_ pid: Int32, _ held: Set<UInt32>) throws(UnknownProcess) -> Bool {
        var listening: Set<[UInt8]> = []
        var connected: Set<[UInt8]> = []
        for name in ["tcp", "tcp6"] {
            let path = "\(root)/\(pid)/net/\(name)"
            // Without IPv6, there is no second table.
            if name == "tcp6", access(path, F_OK) != 0, errno == ENOENT { continue }
            let table = try read(path, maximum: ProcessReader.maximumTable)
            for line in table.split(separator: UInt8(ascii: "\n")).dropFirst() {
                guard let socket = TCPSocket(line) else {
                    throw UnknownProcess(reason: "\(path) has another format than proc(5) describes")
                }
                guard held.contains(socket.inode) else { continue }
                if socket.isListening { listening.insert(socket.port) } else { connected.insert(socket.port) }
            }
        }
        return !listening.isDisjoint(with: connected)
    }
}

/// A line of the table: slot, local and remote address, state, queues, timer, retransmissions, user, timeout, inode.
private struct TCPSocket {
    /// The local port as the table has it, in hexadecimal.
    let port: [UInt8]
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
        isListening = fields[3].elementsEqual(TCPSocket.listen)
        self.inode = inode
    }
}
