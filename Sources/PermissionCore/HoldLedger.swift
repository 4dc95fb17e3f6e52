// When each app's last hold began. An app gets at most one hold per `Limits.holdInterval`.

import PermissionModel

struct HoldLedger {
    private var began: [AppID: Int64] = [:]
    private static let interval = Limits.holdInterval * 1000

    /// Returns whether a new hold may begin now, and records it if so.
    mutating func begin(_ app: AppID, at uptime: Int64) -> Bool {
        if let last = began[app], uptime - last < HoldLedger.interval { return false }
        // Entries older than the interval have no effect; removing them bounds the ledger.
        began = began.filter { uptime - $0.value < HoldLedger.interval }
        began[app] = uptime
        return true
    }
}

/// A place in the queue that is reserved for the next request of a connection.
struct Hold {
    let connection: String
    /// Milliseconds for which it may stay unused, counted from `since`.
    let remaining: Int64
    let since: Int64

    func left(at uptime: Int64) -> Int64 { max(0, remaining - (uptime - since)) }
}
