// Days of local time.

import Glibc
package import PermissionModel

package enum LocalDay {
    /// When that day begins or began (mktime(3)): 0 is the day of `time`, 1 the next one.
    package static func start(_ day: Int, from time: EpochSeconds) -> EpochSeconds {
        var (seconds, fields) = (time_t(time), tm())
        localtime_r(&seconds, &fields)
        (fields.tm_sec, fields.tm_min, fields.tm_hour, fields.tm_isdst) = (0, 0, 0, -1)
        fields.tm_mday += Int32(day)
        return EpochSeconds(mktime(&fields))
    }

    /// When each of the last days began, today included, the oldest first.
    package static func starts(of count: Int, before now: EpochSeconds) -> [EpochSeconds] {
        (0..<count).reversed().map { start(-$0, from: now) }
    }
}
