// Detects that the kernel has dropped messages because a socket's buffer was full.

import CLinux
import Glibc

/// For a netlink socket, this counts every event that did not fit into the buffer.
struct DropCounter {
    private let descriptor: Int32
    private var seen: UInt32

    /// - Parameter descriptor: a socket, which is not closed here. For other descriptors no drops are reported.
    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        seen = DropCounter.count(descriptor)
    }

    /// Whether messages were dropped since the last call.
    mutating func hasGrown() -> Bool {
        let now = DropCounter.count(descriptor)
        defer { seen = now }
        return now != seen
    }

    /// Reads SO_MEMINFO (socket(7)), available since Linux 4.12.
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
