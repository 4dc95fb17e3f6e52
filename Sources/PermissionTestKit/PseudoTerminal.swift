// A real character device of its own for a test, which any process can open.

public import Glibc

/// A pseudo-terminal. Nothing but the test's processes opens it.
public final class PseudoTerminal: Sendable {
    /// The node, `/dev/pts/N`.
    public let path: String
    public let number: dev_t
    private let leader: Int32

    /// The ioctls behind unlockpt(3) and ptsname(3), which Swift's Glibc module lacks.
    private static let (unlock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)

    public init() throws(TestKitError) {
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

    var major: UInt64 { UInt64(number) >> 8 & 0xFFF }
    var minor: UInt64 { UInt64(number) & 0xFF | UInt64(number) >> 12 & 0xFFF00 }
}
