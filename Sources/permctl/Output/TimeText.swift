// Reads and prints times and durations in the forms that people use.

import CLinux
import Glibc
import PermissionClient
import PermissionTexts

enum TimeText {
    static func now() -> EpochSeconds { EpochSeconds(time(nil)) }

    /// `2026-11-21 14:05` in local time; if that is today only `14:05`, or `14:05:10`.
    static func short(_ seconds: EpochSeconds, withSeconds: Bool = false) -> String {
        guard Texts.time(seconds, "%F") == Texts.time(now(), "%F") else { return Texts.time(seconds, "%F %H:%M") }
        return Texts.time(seconds, withSeconds ? "%T" : "%H:%M")
    }

    static func full(_ seconds: EpochSeconds) -> String { Texts.time(seconds, "%F %H:%M:%S") }

    /// `12s`, `3m05s`, `2h10m`.
    static func span(_ seconds: Int64) -> String {
        func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : String(number) }
        switch seconds {
        case ..<60: return "\(max(0, seconds))s"
        case ..<3600: return "\(seconds / 60)m\(two(seconds % 60))s"
        default: return "\(seconds / 3600)h\(two(seconds / 60 % 60))m"
        }
    }

    /// `1 second`, `2 seconds`, `0.5 seconds`.
    static func seconds(_ count: Double) -> String {
        count == count.rounded() && count < 1e9 ? counted(Int(count), "second") : "\(count) seconds"
    }

    // MARK: Reading

    private static let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]

    /// Reads `30m`, `2h`, `1h30m`, `90` (seconds) or `2d`. Returns nil if the text is not a duration above zero.
    static func duration(_ text: String) -> Int64? {
        if let seconds = Int64(text) { return seconds > 0 ? seconds : nil }
        var total: Int64 = 0
        var digits = ""
        for character in text {
            if character.isASCII, character.isNumber {
                digits.append(character)
                continue
            }
            guard let unit = units[character], let count = Int64(digits) else { return nil }
            let (seconds, overflows) = count.multipliedReportingOverflow(by: unit)
            let (sum, overflowsToo) = total.addingReportingOverflow(seconds)
            guard !overflows, !overflowsToo else { return nil }
            total = sum
            digits = ""
        }
        return digits.isEmpty && total > 0 ? total : nil
    }

    private static let patterns = [
        "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d",
    ]

    /// Reads a time of day (`18:00`, its next occurrence), a date with or without a time, or `@SECONDS` since the
    /// epoch.
    static func instant(_ text: String, now: EpochSeconds = now()) -> EpochSeconds? {
        if text.hasPrefix("@") { return EpochSeconds(text.dropFirst()) }
        for pattern in patterns {
            var fields = tm()
            fields.tm_isdst = -1
            if matches(text, pattern, &fields) { return EpochSeconds(mktime(&fields)) }
        }
        return timeOfDay(text, now: now, isPast: false)
    }

    /// The last occurrence of a time of day, now included, or the next one.
    private static func timeOfDay(_ text: String, now: EpochSeconds, isPast: Bool) -> EpochSeconds? {
        for pattern in ["%H:%M:%S", "%H:%M"] {
            var current = time_t(now)
            var fields = tm()
            localtime_r(&current, &fields)
            fields.tm_sec = 0
            guard matches(text, pattern, &fields) else { continue }
            fields.tm_isdst = -1
            let today = EpochSeconds(mktime(&fields))
            if (today <= now) == isPast { return today }
            fields.tm_mday += isPast ? -1 : 1
            fields.tm_isdst = -1
            return EpochSeconds(mktime(&fields))
        }
        return nil
    }

    private static func matches(_ text: String, _ pattern: String, _ fields: inout tm) -> Bool {
        text.withCString { start in
            guard let end = strptime(start, pattern, &fields) else { return false }
            return end.pointee == 0
        }
    }

    /// Reads a duration as that long ago (`2d`), a time of day as its last occurrence, and anything else like
    /// ``instant(_:now:)``.
    static func past(_ text: String, now: EpochSeconds = now()) -> EpochSeconds? {
        if let ago = duration(text) { return max(0, now - ago) }
        return timeOfDay(text, now: now, isPast: true) ?? instant(text, now: now)
    }
}
