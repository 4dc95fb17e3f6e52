// Keeps an app that asks again and again for what is settled from pushing others out of the history.

import PermissionModel

struct RepeatFilter {
    private struct Key: Hashable {
        let app: AppID
        let permission: Permission
        let outcome: Outcome
        let by: Author
    }

    /// Seconds in which the same answer is written once.
    private static let interval: Int64 = 60
    /// Answers remembered: more apps than this asking within the interval is a flood, and is written.
    private static let capacity = 1024

    private var last: [Key: Int64] = [:]

    /// Whether the row says something new.
    mutating func isNew(_ row: HistoryRow, at now: Moment) -> Bool {
        let key = Key(app: row.app, permission: row.permission, outcome: row.outcome, by: row.by)
        let interval = RepeatFilter.interval * 1000
        if let time = last[key], now.uptime - time < interval { return false }
        if last.count >= RepeatFilter.capacity {
            last = last.filter { now.uptime - $0.value < interval }
            if last.count >= RepeatFilter.capacity { last.removeAll(keepingCapacity: true) }
        }
        last[key] = now.uptime
        return true
    }
}
