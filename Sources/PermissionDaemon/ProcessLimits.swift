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

    /// Raises the soft limit to the hard limit and returns it; no limit if it cannot be read. The low soft limit exists
    /// for select(2), which permd does not use.
    static func raiseDescriptors() -> Int {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return .max }
        var raised = rlimit(rlim_cur: limit.rlim_max, rlim_max: limit.rlim_max)
        return Int(clamping: setrlimit(resource, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur)
    }

    static func giveMemoryBack() {
        mallopt(M_MMAP_THRESHOLD, mappedFrom)
        mallopt(M_TRIM_THRESHOLD, mappedFrom)
    }
}
