// A real character device of its own for a test, which any process can open.

import DBus
package import Glibc
package import PermissionTestKit

/// A pseudo-terminal. Nothing but the test's processes opens it.
package final class PseudoTerminal: Sendable {
    /// The node, `/dev/pts/N`.
    package let path: String
    package let number: dev_t
    private let leader: UnixFD

    /// The ioctls behind unlockpt(3) and ptsname(3), which Swift's Glibc module lacks.
    private static let (unlock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)
    /// TIOCPKT and TIOCPKT_FLUSHREAD (tty_ioctl(4)).
    private static let (packets, flushed): (UInt, UInt8) = (0x5420, 1)

    package init() throws(TestKitError) {
        leader = UnixFD(owning: open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK))
        var (isLocked, number): (Int32, UInt32) = (0, 0)
        guard leader.raw >= 0, ioctl(leader.raw, PseudoTerminal.unlock, &isLocked) == 0,
            ioctl(leader.raw, PseudoTerminal.getNumber, &number) == 0
        else { throw .system("cannot create a pseudo-terminal", errno) }
        path = "/dev/pts/\(number)"
        var status = stat()
        guard stat(path, &status) == 0 else { throw .system("cannot stat \(path)", errno) }
        self.number = status.st_rdev
    }

    /// Types on it.
    package func type(_ keys: String) { write(leader.raw, keys, keys.utf8.count) }

    /// An element whenever keys that were typed are discarded.
    @LoopActor
    package func discarded() throws(TestKitError) -> AsyncStream<Void> {
        var isOn: Int32 = 1
        guard ioctl(leader.raw, PseudoTerminal.packets, &isOn) == 0 else { throw .system("cannot see packets", errno) }
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let watch = Loop.shared.watch(leader, .readable) { [leader] _ in
            var packet = [UInt8](repeating: 0, count: 4096)
            guard read(leader.raw, &packet, packet.count) == 1, packet[0] & PseudoTerminal.flushed != 0 else { return }
            continuation.yield(())
        }
        continuation.onTermination = { _ in Loop.shared.post { watch.cancel() } }
        return stream
    }

    fileprivate var device: String {
        let number = UInt64(number)
        return "\(number >> 8 & 0xFFF):\(number & 0xFF | number >> 12 & 0xFFF00)"
    }
}

extension MockDevices {
    /// Adds a device whose node leads to a pseudo-terminal, so that other processes can really open it, at the path of
    /// that. Returns the node.
    package func add(
        _ kind: Kind, _ number: Int, backedBy terminal: PseudoTerminal
    ) async throws(TestKitError) -> String {
        try await add(kind, number, linkedTo: terminal.device, at: terminal.path)
    }
}
