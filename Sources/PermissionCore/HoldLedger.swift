// One hold a minute for an app: when each app's last hold began.

import PermissionModel

struct HoldLedger {
    private var began: [AppID: Int64] = [:]
    private static let interval = Limits.holdInterval * 1000

    /// Whether a new hold may begin now; notes it if so.
    mutating func begin(_ app: AppID, at uptime: Int64) -> Bool {
        if let last = began[app], uptime - last < HoldLedger.interval { return false }
        // What is older than the interval says nothing any more; dropping it here bounds the ledger.
        began = began.filter { uptime - $0.value < HoldLedger.interval }
        began[app] = uptime
        return true
    }
}

/// A place in the queue that waits for its connection's next request.
struct Hold {
    let connection: String
    let app: AppID
    /// Milliseconds it may stay idle, counted from `since`.
    let remaining: Int64
    let since: Int64

    func left(at uptime: Int64) -> Int64 { max(0, remaining - (uptime - since)) }
}
