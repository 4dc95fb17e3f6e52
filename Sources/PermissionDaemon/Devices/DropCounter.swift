// Whether the kernel dropped messages that a socket had no room for.

import CLinux
import Glibc

/// Of a netlink socket every event that did not fit into its buffer.
struct DropCounter {
    private let descriptor: Int32
    private var seen: UInt32

    /// - Parameter descriptor: of a socket, which stays its owner's; of anything else nothing is ever dropped.
    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        seen = DropCounter.count(descriptor)
    }

    /// Since the last look.
    mutating func hasGrown() -> Bool {
        let now = DropCounter.count(descriptor)
        defer { seen = now }
        return now != seen
    }

    /// By socket(7)'s SO_MEMINFO, since Linux 4.12.
    private static func count(_ descriptor: Int32) -> UInt32 {
        let place = Int(SK_MEMINFO_DROPS)
        var numbers = [UInt32](repeating: 0, count: place + 1)
        var size = socklen_t(numbers.count * MemoryLayout<UInt32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_MEMINFO, &numbers, &size) == 0,
            Int(size) == numbers.count * MemoryLayout<UInt32>.size
        else { return 0 }
        return numbers[place]
    }
}
