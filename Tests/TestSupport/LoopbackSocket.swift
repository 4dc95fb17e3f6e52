// Sockets of the internet protocols for a test, on this machine only.

package import DBus
import Glibc
package import PermissionTestKit

/// A TCP or UDP socket that is bound to a free port of 127.0.0.1. A TCP socket listens.
package struct LoopbackSocket: Sendable {
    package enum Kind: Sendable {
        case tcp, udp

        fileprivate func make() -> UnixFD {
            let type = self == .tcp ? SOCK_STREAM : SOCK_DGRAM
            return UnixFD(owning: socket(AF_INET, Int32(type.rawValue | SOCK_CLOEXEC.rawValue), 0))
        }
    }

    package let fd: UnixFD
    package let port: UInt16
    private let kind: Kind
    private let address: sockaddr_in

    package init(_ kind: Kind) throws(TestKitError) {
        self.kind = kind
        fd = kind.make()
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = LoopbackSocket.with(&address) { [fd] in
            bind(fd.raw, $0, size) == 0 && getsockname(fd.raw, $0, &size) == 0
        }
        guard isBound, kind == .udp || listen(fd.raw, 1) == 0 else {
            throw .system("cannot bind a socket to a port of 127.0.0.1", errno)
        }
        self.address = address
        port = UInt16(bigEndian: address.sin_port)
    }

    /// A new socket that is connected to this one.
    package func connected() throws(TestKitError) -> UnixFD {
        let client = kind.make()
        var address = address
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        guard LoopbackSocket.with(&address, { connect(client.raw, $0, size) == 0 }) else {
            throw .system("cannot connect to port \(port) of 127.0.0.1", errno)
        }
        return client
    }

    private static func with(_ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>) -> Bool) -> Bool {
        withUnsafeMutablePointer(to: &address) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body) }
    }
}
