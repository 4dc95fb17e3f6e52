// Holds up a thread until it is released.

import Glibc

/// What a thread waits for, as for a file system that hangs.
package final class Gate: Sendable {
    private let ends: (read: Int32, write: Int32)

    package init() {
        var pair: [Int32] = [0, 0]
        pipe(&pair)
        ends = (pair[0], pair[1])
    }

    deinit {
        close(ends.read)
        close(ends.write)
    }

    package func wait() {
        var byte: UInt8 = 0
        _ = read(ends.read, &byte, 1)
    }

    package func open() {
        var byte: UInt8 = 0
        _ = write(ends.write, &byte, 1)
    }
}
