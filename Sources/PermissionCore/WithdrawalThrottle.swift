// An app that repeatedly withdraws its own prompts gets none for a while: prompts that appear and vanish at once
// flicker, provoke clicks that hit the next prompt, and fill the history.

import PermissionModel

/// Counts the withdrawals of each app within the last minute, over all its processes and connections.
struct WithdrawalThrottle {
    private struct Record {
        /// The times of withdrawals, oldest first, as uptime in milliseconds.
        var withdrawals: [Int64] = []
        var throttledUntil: Int64?

        /// The uptime from which the record has no effect.
        var end: Int64 { throttledUntil ?? (withdrawals.last ?? 0) + WithdrawalThrottle.window }
    }

    private static let window = Limits.withdrawalWindow * 1000
    private static let pause = Limits.withdrawalPause * 1000

    private var records: [AppID: Record] = [:]

    /// Counts one withdrawal. Returns true if the app is throttled from now on.
    mutating func withdrew(_ app: AppID, at uptime: Int64) -> Bool {
        var record = records[app] ?? Record()
        guard record.throttledUntil.map({ $0 <= uptime }) ?? true else { return false }
        record.throttledUntil = nil
        record.withdrawals.removeAll { uptime - $0 >= WithdrawalThrottle.window }
        record.withdrawals.append(uptime)
        let isThrottled = record.withdrawals.count >= Limits.withdrawals
        if isThrottled {
            record.withdrawals = []
            record.throttledUntil = uptime + WithdrawalThrottle.pause
        }
        if records[app] == nil { makeRoom(at: uptime) }
        records[app] = record
        return isThrottled
    }

    /// Milliseconds until the app may ask again; nil if it may ask now.
    func remaining(_ app: AppID, at uptime: Int64) -> Int64? {
        guard !records.isEmpty, let end = records[app]?.throttledUntil, end > uptime else { return nil }
        return end - uptime
    }

    /// Forgets the records of an app; nil means all apps.
    mutating func lift(_ app: AppID?) {
        if let app { records[app] = nil } else { records = [:] }
    }

    /// Makes room for another app: removes expired records, or else the one that expires first.
    private mutating func makeRoom(at uptime: Int64) {
        guard records.count >= Limits.withdrawingApps else { return }
        records = records.filter { $0.value.end > uptime }
        guard records.count >= Limits.withdrawingApps, let first = records.min(by: { $0.value.end < $1.value.end })
        else { return }
        records[first.key] = nil
    }
}
