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

    /// How long something lasted.
    static func span(_ seconds: Int64) -> String {
        switch seconds {
        case ..<60: Texts.text("%@ s", "\(max(0, seconds))")
        case ..<3600: Texts.text("%@ min", "\((seconds + 30) / 60)")
        default: Texts.text("%@ h %@ min", "\(seconds / 3600)", "\(seconds / 60 % 60)")
        }
    }
}
