// When each app's last reservation began. An app gets at most one per `Limits.reservationInterval`.

import PermissionModel

struct ReservationLedger {
    private var began: [AppID: Int64] = [:]
    private static let interval = Limits.reservationInterval * 1000

    /// Returns whether a new one may begin now, and records it if so.
    mutating func begin(_ app: AppID, at uptime: Int64) -> Bool {
        if let last = began[app], uptime - last < ReservationLedger.interval { return false }
        // Entries older than the interval have no effect; removing them bounds the ledger.
        began = began.filter { uptime - $0.value < ReservationLedger.interval }
        began[app] = uptime
        return true
    }
}

/// A place in the queue that is reserved for the next request of a connection.
struct Reservation {
    let connection: String
    /// Milliseconds for which it may stay unused, counted from `since`.
    let remaining: Int64
    let since: Int64

    func remaining(at uptime: Int64) -> Int64 { max(0, remaining - (uptime - since)) }
}
