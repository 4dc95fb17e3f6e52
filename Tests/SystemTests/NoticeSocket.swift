// A datagram socket that records what it receives.

import DBus
import Glibc
import PermissionTestKit

/// Stands in for systemd's socket of sd_notify(3), and for the journal's socket.
@LoopActor
final class NoticeSocket {
    let log = EventLog<String>()
    private let socket: UnixFD
    private var watch: WatchToken?

    init(_ path: String) throws {
        socket = UnixFD(owning: Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let fd = socket.raw
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(fd, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw TestKitError("cannot bind \(path)") }
        watch = Loop.shared.watch(socket, .readable) { [log, socket] _ in
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = recv(socket.raw, &buffer, buffer.count, 0)
            if count > 0 { log.add(String(decoding: buffer[..<count], as: UTF8.self)) }
        }
    }
}
