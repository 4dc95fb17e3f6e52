// The permissions that a person has switched off for every app. A change is in force once it is on disk.

import DBus
import PermissionCore
import PermissionModel

@LoopActor
final class Switches {
    private let queue: StoreQueue
    private let history: StoreHistory
    private let now: @Sendable () -> EpochSeconds
    /// As decisions, they are unknown and have no effect while the file cannot be read.
    private var off: Set<Permission> = []

    init(_ queue: StoreQueue, _ history: StoreHistory, now: @escaping @Sendable () -> EpochSeconds) {
        self.queue = queue
        self.history = history
        self.now = now
    }

    func isOff(_ permission: Permission) -> Bool { off.contains(permission) }

    /// The permissions that are off in the file. Returns those whose switch is another than before.
    func read(_ new: Set<Permission>) -> Set<Permission> {
        defer { off = new }
        return off.symmetricDifference(new)
    }

    /// Calls `then` once the change is on disk and in force, with its row of history; nil if there was nothing to change.
    func set(
        _ permission: Permission, on: Bool, by author: Author,
        then: @escaping @LoopActor (Result<HistoryRow?, StoreError>) -> Void
    ) {
        let row = HistoryRow(
            time: now(), request: "", app: nil, item: .permission(permission), outcome: on ? .on : .off, by: author)
        // Rows that wait are older than this one.
        history.write()
        queue.add(writes: true) { (database) throws(DatabaseError) -> (off: Set<Permission>, isChanged: Bool) in
            let before = try SwitchRows.all(database)
            let off = on ? before.subtracting([permission]) : before.union([permission])
            try SwitchRows.replaceAll(off, database)
            if off != before { try HistoryRows.write(row, database) }
            return (off, off != before)
        } then: { [weak self] result in
            if let self, case .success(let (off, isChanged)) = result {
                self.off = off
                if isChanged { history.wrote(1) }
            }
            then(result.map { $0.isChanged ? row : nil })
        }
    }
}

enum SwitchRows {
    /// The permissions that are switched off. A damaged row may mean any of them, and so means all.
    static func all(_ database: Database) throws(DatabaseError) -> Set<Permission> {
        var isDamaged = false
        let off = try database.rows("SELECT permission FROM switched_off") { row in
            let permission = Permission(rawValue: row.text(0))
            isDamaged = isDamaged || permission == nil
            return permission
        }
        return isDamaged ? Set(Permission.allCases) : Set(off)
    }

    static func replaceAll(_ off: Set<Permission>, _ database: Database) throws(DatabaseError) {
        try database.run("DELETE FROM switched_off")
        for permission in off {
            try database.run("INSERT INTO switched_off VALUES (?)", [.text(permission.rawValue)])
        }
    }
}
