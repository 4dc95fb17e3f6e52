// The limit of open file descriptors of the process.

import CLinux
import Glibc

package enum DescriptorLimit {
    /// Raises the soft limit to the hard limit and returns it; no limit if it cannot be read. The low soft limit exists
    /// for select(2), which no program here uses.
    @discardableResult
    package static func raise() -> Int {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return .max }
        var raised = rlimit(rlim_cur: limit.rlim_max, rlim_max: limit.rlim_max)
        return Int(clamping: setrlimit(resource, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur)
    }
}
