// Remembers the statuses last sent to each connection, so that StatusChanged is sent only for changes.

import DBus
import PermissionModel

@LoopActor
final class StatusPublisher {
    private struct Entry {
        let caller: Caller
        var sent: [Permission: Status]
    }

    private var entries: [String: Entry] = [:]
    private let connection: Connection
    private let status: @LoopActor (Permission, Caller) -> Status

    init(connection: Connection, status: @escaping @LoopActor (Permission, Caller) -> Status) {
        self.connection = connection
        self.status = status
    }

    /// Adds a connection that has called Access1; it is notified of changes from now on.
    func add(_ caller: Caller) {
        guard entries[caller.connection] == nil else { return }
        entries[caller.connection] = Entry(caller: caller, sent: statuses(of: caller))
    }

    func departed(_ name: String) { entries[name] = nil }

    /// Re-evaluates the statuses for the connections of these apps; nil means all apps.
    func refresh(_ apps: Set<AppID>?) {
        for (name, entry) in entries where apps?.contains(entry.caller.app) ?? true { refresh(name) }
    }

    private func refresh(_ name: String) {
        guard var entry = entries[name] else { return }
        let current = statuses(of: entry.caller)
        for permission in Permission.allCases {
            guard let status = current[permission], status != entry.sent[permission] else { continue }
            connection.send(
                .signal(
                    path: BusNames.root, interface: BusNames.access, member: "StatusChanged",
                    [.string(permission.rawValue), .string(status.rawValue)], destination: name))
        }
        entry.sent = current
        entries[name] = entry
    }

    private func statuses(of caller: Caller) -> [Permission: Status] {
        Dictionary(uniqueKeysWithValues: Permission.allCases.map { ($0, status($0, caller)) })
    }
}
