// What the process may use of the machine: its file descriptors, and memory it does not keep.

import CLinux
import Glibc

enum ProcessLimits {
    /// Below this it does not start. It has about 25 open when idle; opening devices, files and connections to the buses takes
    /// some more for a moment, and so does each message with descriptors.
    static let fewestDescriptors = 64
    /// Blocks of this size and more are mappings of their own, and go back to the system when they are freed. glibc raises its
    /// threshold to the size of what was freed, up to 32 MiB, and would keep twice that for good after large messages.
    private static let mappedFrom: Int32 = 256 << 10

    /// Raises the soft limit to the hard one, and returns it. permd uses no select(2), for which the soft limit is low. What
    /// cannot be asked is no limit.
    static func raiseDescriptors() -> Int {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return .max }
        if limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = limit.rlim_max
            if setrlimit(resource, &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }

    static func giveMemoryBack() {
        mallopt(M_MMAP_THRESHOLD, mappedFrom)
        mallopt(M_TRIM_THRESHOLD, mappedFrom)
    }
}
