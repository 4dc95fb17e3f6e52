// Records when each connection appeared on the bus: the process that has the ID of the one that connected is the same one
// only if it started earlier.

import DBus
import Glibc
import PermissionModel
import System

@LoopActor
final class ConnectionMoments {
    /// More connections than a session bus accepts (100,000). Further ones are not recorded.
    private static let maximum = 131_072
    /// The least time, in nanoseconds, in which all processors together assign one process ID. IDs are assigned in
    /// sequence, under one lock; a clone(2) that shares all memory takes about 20,000 on two processors. An ID is
    /// assigned again after all others (/proc/sys/kernel/pid_max): after 0.1 s with the kernel's default of 32,768.
    private static let nanosecondsPerNumber: Int64 = 3000
    /// The kernel's default for small machines, also used if /proc does not give the limit.
    private static let leastNumbers: Int64 = 32_768

    /// Whether the bus gives pidfds, so that nothing has to be recorded.
    private(set) var busGivesProcesses = false
    /// Called for each connection on the bus, unless the bus gives pidfds.
    var onAppeared: (@LoopActor (String) -> Void)?
    /// Times in milliseconds of `Loop.uptimeMilliseconds()`.
    private struct Moment {
        /// When permd learned of the connection.
        var heard: Int64
        /// The connection cannot have appeared before this time. Equal to `heard` if the signal was delayed for less
        /// time than the reuse of a process ID takes.
        var earliest: Int64
    }

    private var moments: [String: Moment] = [:]
    private var busID: String?
    /// The records of an earlier connection, kept until it is clear whether that was to the same bus.
    private var earlier: (busID: String?, moments: [String: Moment])
    private let connection: Connection
    private let now: @LoopActor () -> Int64
    /// A delay of a signal, in milliseconds, within which no process ID can be reused.
    private let harmlessDelay: Int64

    /// - Parameter old: The records of a lost connection. They are kept, so that losing it makes no caller look new.
    init(
        connection: Connection, continuing old: ConnectionMoments? = nil,
        now: @escaping @LoopActor () -> Int64 = { Loop.uptimeMilliseconds() }
    ) {
        self.connection = connection
        self.now = now
        earlier = (
            old?.busID ?? old?.earlier.busID,
            old.map { $0.moments.merging($0.earlier.moments) { $1 } } ?? [:]
        )
        let numbers = max(ConnectionMoments.leastNumbers, ConnectionMoments.processNumbers())
        harmlessDelay = numbers * ConnectionMoments.nanosecondsPerNumber / 1_000_000
    }

    /// `appeared` and `vanished` must be called from now on. The bus answers in order: `busGivesProcesses` is known
    /// before credentials that are requested later arrive.
    func start() {
        connection.askBus("GetConnectionCredentials", .string(connection.uniqueName)) { [weak self] credentials in
            self?.learned(busGivesProcesses: credentials?.properties?["ProcessFD"] != nil)
        }
        connection.askBus("GetId") { [weak self] in self?.identified($0?.stringValue) }
        connection.askBus("ListNames") { [weak self] in self?.listed($0?.strings) }
    }

    private func learned(busGivesProcesses: Bool) {
        self.busGivesProcesses = busGivesProcesses
        if busGivesProcesses { moments = [:] } else { connection.keepArrivals() }
    }

    /// Whether a process with that start time (clock ticks after boot) existed when the connection appeared. A
    /// connection that is older than this daemon counts from when it was first seen.
    ///
    /// A program that starts and connects while this daemon is not scheduled is younger than `earliest`. If it is known
    /// to hold its connections' sockets (`isHolder`), it is compared with `heard` instead.
    func wasThere(_ startTime: UInt64, before name: String, isHolder: Bool) -> Bool {
        guard let moment = moments[name] else { return false }
        let latest = isHolder ? moment.heard : moment.earliest
        return startTime <= UInt64(max(0, latest)) * UInt64(max(1, sysconf(Int32(_SC_CLK_TCK)))) / 1000
    }

    func appeared(_ name: String) {
        guard !busGivesProcesses else { return }
        let now = now()
        let earliest = connection.arrivedAfter
        record(name, Moment(heard: now, earliest: now - earliest <= harmlessDelay ? now : earliest))
    }

    func vanished(_ name: String) { moments[name] = nil }

    private func identified(_ id: String?) {
        // If this connection is lost as well, the earlier records are kept for the next one.
        guard let id else { return }
        busID = id
        if id != earlier.busID { earlier.moments = [:] }
    }

    private func listed(_ names: [String]?) {
        guard let names, !busGivesProcesses else { return }
        for name in names where name.hasPrefix(":") && moments[name] == nil {
            // The earlier record is about the same connection: a bus never reuses a unique name.
            let now = now()
            record(name, earlier.moments[name] ?? Moment(heard: now, earliest: now))
        }
        earlier.moments = [:]
    }

    private func record(_ name: String, _ moment: Moment) {
        guard moments.count < ConnectionMoments.maximum else { return }
        moments[name] = moment
        onAppeared?(name)
    }

    private static func processNumbers() -> Int64 {
        let text = (try? RegularFile.read("/proc/sys/kernel/pid_max", maximum: 32)) ?? []
        return Int64(strtol(String(decoding: text, as: UTF8.self), nil, 10))
    }
}
