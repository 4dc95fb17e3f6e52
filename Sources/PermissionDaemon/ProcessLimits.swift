// The limits of the process: its file descriptors, and the memory that it keeps.

import CLinux
import Glibc

enum ProcessLimits {
    /// The minimum that permd needs to start. About 25 are open when idle; opening devices, files and connections to
    /// the buses needs more for a moment, and so does each message with descriptors.
    static let fewestDescriptors = 64
    /// Blocks of at least this size are separate mappings that return to the system when freed. By default, glibc
    /// raises its threshold to the size of a freed block, up to 32 MiB, and keeps twice that after large messages.
    private static let mappedFrom: Int32 = 256 << 10

    static func giveMemoryBack() {
        mallopt(M_MMAP_THRESHOLD, mappedFrom)
        mallopt(M_TRIM_THRESHOLD, mappedFrom)
    }
}
