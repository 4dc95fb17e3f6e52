// Times and durations in the person's language.

import Glibc
import PermissionClient
import PermissionTexts

enum TimeText {
    static func now() -> EpochSeconds { EpochSeconds(time(nil)) }

    /// `14:05` if that is today, else the date and the time.
    static func short(_ seconds: EpochSeconds, now: EpochSeconds = now()) -> String {
        let isToday = Texts.time(seconds, "%F") == Texts.time(now, "%F")
        return Texts.time(seconds, isToday ? "%H:%M" : "%x %H:%M")
    }

    /// The next midnight.
    static func tomorrow(_ now: EpochSeconds) -> EpochSeconds {
        var current = time_t(now)
        var fields = tm()
        localtime_r(&current, &fields)
        fields.tm_mday += 1
        (fields.tm_hour, fields.tm_min, fields.tm_sec) = (0, 0, 0)
        fields.tm_isdst = -1
        return EpochSeconds(mktime(&fields))
    }

    /// How long something lasted.
    static func span(_ seconds: Int64) -> String {
        switch seconds {
        case ..<60: Texts.text("%@ s", "\(max(0, seconds))")
        case ..<3600: Texts.text("%@ min", "\((seconds + 30) / 60)")
        default: Texts.text("%@ h %@ min", "\(seconds / 3600)", "\(seconds / 60 % 60)")
        }
    }
}
