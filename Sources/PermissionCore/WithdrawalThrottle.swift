// An app that withdraws its own prompts again and again is not shown for a while: prompts that come and go at once make
// the screen flicker, tempt to a click that hits the next one, and fill the history.

import PermissionModel

/// Counts what each app withdrew within the last minute, over all its processes and connections.
struct WithdrawalThrottle {
    private struct Record {
        /// When, the oldest first; uptime in milliseconds.
        var withdrawals: [Int64] = []
        var throttledUntil: Int64?

        /// Nothing happens before that moment any more.
        var end: Int64 { throttledUntil ?? (withdrawals.last ?? 0) + WithdrawalThrottle.window }
    }

    private static let window = Limits.withdrawalWindow * 1000
    private static let pause = Limits.withdrawalPause * 1000

    private var records: [AppID: Record] = [:]

    /// Counts one withdrawal; true when the app is throttled from now on.
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

    /// Milliseconds until the app may ask again; nil when it may.
    func remaining(_ app: AppID, at uptime: Int64) -> Int64? {
        guard !records.isEmpty, let end = records[app]?.throttledUntil, end > uptime else { return nil }
        return end - uptime
    }

    /// Forgets; nil means any.
    mutating func lift(_ app: AppID?) {
        if let app { records[app] = nil } else { records = [:] }
    }

    /// What is over is forgotten; of more apps than are remembered, the one that is over first.
    private mutating func makeRoom(at uptime: Int64) {
        guard records.count >= Limits.withdrawingApps else { return }
        records = records.filter { $0.value.end > uptime }
        guard records.count >= Limits.withdrawingApps, let first = records.min(by: { $0.value.end < $1.value.end })
        else { return }
        records[first.key] = nil
    }
}
