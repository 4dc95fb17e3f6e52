// Records when each connection appeared on a bus that gives no pidfds, such as dbus-daemon before 1.16: the process that has
// the ID of the one that connected is the same one only if it started earlier.

package import DBus
import Glibc
import PermissionModel

@LoopActor
package final class ConnectionTimes {
    /// More connections than a session bus accepts (100,000). Further ones are not recorded.
    private static let maximum = 131_072

    /// Whether the bus gives pidfds, so that nothing has to be recorded.
    private(set) var busGivesProcesses = false
    /// When each connection was first heard of, in milliseconds of `Loop.uptimeMilliseconds()`.
    private var times: [String: Int64] = [:]
    private var busID: String?
    /// The records of an earlier connection, kept until it is clear whether that was to the same bus.
    private var earlier: (busID: String?, times: [String: Int64])
    private let connection: Connection
    private let now: @LoopActor () -> Int64

    /// - Parameter old: The records of a lost connection. They are kept, so that losing it makes no caller look new.
    package init(
        connection: Connection, continuing old: ConnectionTimes? = nil,
        now: @escaping @LoopActor () -> Int64 = { Loop.uptimeMilliseconds() }
    ) {
        self.connection = connection
        self.now = now
        earlier = (
            old?.busID ?? old?.earlier.busID,
            old.map { $0.times.merging($0.earlier.times) { $1 } } ?? [:]
        )
    }

    /// Must be called after the match rule for NameOwnerChanged was added, so that no connection is missed. `appeared` and
    /// `vanished` must be called from then on. The bus answers in order: `busGivesProcesses` is known before credentials
    /// that are requested later arrive.
    package func start() {
        connection.askBus("GetConnectionCredentials", .string(connection.uniqueName)) { [weak self] credentials in
            guard credentials?.properties?["ProcessFD"] != nil else { return }
            self?.busGivesProcesses = true
            self?.times = [:]
        }
        connection.askBus("GetId") { [weak self] in self?.identified($0?.stringValue) }
        connection.askBus("ListNames") { [weak self] in self?.listed($0?.strings) }
    }

    /// Why the process that has the ID of a connection's process is not taken for it; nil if it is.
    func objection(to process: ProcessKey, of name: String) -> UnknownProcess? {
        if busGivesProcesses { return UnknownProcess(reason: "the bus does not know its process") }
        if wasThere(process.startTime, before: name) { return nil }
        return UnknownProcess(
            reason: "the process \(process.pid) is younger than the connection: its ID was reused")
    }

    /// Whether a process with that start time (clock ticks after boot) existed when the connection appeared. A
    /// connection that is older than this daemon counts from when it was first seen.
    func wasThere(_ startTime: UInt64, before name: String) -> Bool {
        guard let time = times[name] else { return false }
        return startTime <= UInt64(max(0, time)) * UInt64(max(1, sysconf(Int32(_SC_CLK_TCK)))) / 1000
    }

    package func appeared(_ name: String) { if !busGivesProcesses { record(name, now()) } }

    package func vanished(_ name: String) { times[name] = nil }

    private func identified(_ id: String?) {
        // If this connection is lost as well, the earlier records are kept for the next one.
        guard let id else { return }
        busID = id
        if id != earlier.busID { earlier.times = [:] }
    }

    private func listed(_ names: [String]?) {
        guard let names, !busGivesProcesses else { return }
        for name in names where name.hasPrefix(":") && times[name] == nil {
            // The earlier record is about the same connection: a bus never reuses a unique name.
            record(name, earlier.times[name] ?? now())
        }
        earlier.times = [:]
    }

    private func record(_ name: String, _ time: Int64) {
        guard times.count < ConnectionTimes.maximum else { return }
        times[name] = time
    }
}
