// When permissions that are granted for ever were used last: a grant that nobody uses ends.

import DBus
import PermissionCore
import PermissionModel

@LoopActor
final class LastUses {
    /// Seconds within which a later use is not noted: a grant in daily use costs one write a day.
    private static let grain: EpochSeconds = 86_400

    private let queue: StoreQueue
    private let now: @Sendable () -> EpochSeconds
    private var times: [AppPermission: EpochSeconds] = [:]

    init(_ queue: StoreQueue, now: @escaping @Sendable () -> EpochSeconds) {
        self.queue = queue
        self.now = now
    }

    /// The uses in the file.
    func read(_ uses: [LastUse]) { times = Dictionary(uses.map { ($0.key, $0.time) }) { max($0, $1) } }

    /// When the grant was used, or else made. What the clock says is still to come was now.
    func time(of grant: Decision) -> EpochSeconds {
        min(max(grant.decided, times[AppPermission(app: grant.app, permission: grant.permission)] ?? 0), now())
    }

    /// The grant is used now.
    func note(_ grant: Decision) {
        let use = LastUse(key: AppPermission(app: grant.app, permission: grant.permission), time: now())
        guard use.time - time(of: grant) >= LastUses.grain else { return }
        times[use.key] = use.time
        queue.add(writes: true, inBackground: true) { (database) throws(DatabaseError) in
            try LastUseRows.save(use, database)
        } then: { _ in
            // Of a use that is not on disk, the next permd does not know.
        }
    }
}

struct LastUse: Sendable {
    let key: AppPermission
    let time: EpochSeconds
}

/// An invalid row is left out.
enum LastUseRows {
    static func all(_ database: Database) throws(DatabaseError) -> [LastUse] {
        try database.rows("SELECT app, permission, time FROM last_use") { row in
            guard let app = AppID(row.text(0)), let permission = Permission(rawValue: row.text(1)) else { return nil }
            return LastUse(key: AppPermission(app: app, permission: permission), time: row.integer(2))
        }
    }

    static func save(_ use: LastUse, _ database: Database) throws(DatabaseError) {
        try database.run(
            "INSERT OR REPLACE INTO last_use VALUES (?, ?, ?)",
            [.text(use.key.app.description), .text(use.key.permission.rawValue), .integer(use.time)])
    }

    /// Deletes those without a decision.
    static func trim(_ database: Database) throws(DatabaseError) {
        try database.run("DELETE FROM last_use WHERE (app, permission) NOT IN (SELECT app, permission FROM decision)")
    }
}
