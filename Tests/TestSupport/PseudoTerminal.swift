// A real character device of its own for a test, which any process can open.

package import Glibc
package import PermissionTestKit

/// A pseudo-terminal. Nothing but the test's processes opens it.
package final class PseudoTerminal: Sendable {
    /// The node, `/dev/pts/N`.
    package let path: String
    package let number: dev_t
    private let leader: Int32

    /// The ioctls behind unlockpt(3) and ptsname(3), which Swift's Glibc module lacks.
    private static let (unlock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)

    package init() throws(TestKitError) {
        leader = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var (isLocked, number): (Int32, UInt32) = (0, 0)
        guard leader >= 0, ioctl(leader, PseudoTerminal.unlock, &isLocked) == 0,
            ioctl(leader, PseudoTerminal.getNumber, &number) == 0
        else { throw .system("cannot create a pseudo-terminal", errno) }
        path = "/dev/pts/\(number)"
        var status = stat()
        guard stat(path, &status) == 0 else { throw .system("cannot stat \(path)", errno) }
        self.number = status.st_rdev
    }

    deinit { close(leader) }

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
