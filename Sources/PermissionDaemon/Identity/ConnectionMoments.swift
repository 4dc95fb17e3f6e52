// Who comes and goes on the bus, by one match for all: a match for each caller would make the bus slow for everybody when
// there are thousands of them. And when connections appeared: a bus without pidfds tells the number of the process that
// connected; who has the number now is that process only if it was there before.

import DBus
import Glibc
import PermissionModel

@LoopActor
final class ConnectionMoments {
    /// More than session buses let in (100,000); of further ones nothing is known.
    private static let maximum = 131_072
    /// Nanoseconds in which a process number can be given out, on all processors together. They are given one after the
    /// other under one lock; a clone(2) that shares all memory takes about 20,000 on two processors. A number comes round
    /// after as many as there are (/proc/sys/kernel/pid_max): 0.1 s for the 32,768 of the kernel's default.
    private static let nanosecondsPerNumber: Int64 = 3000
    /// The kernel's default for small machines, and where /proc does not say.
    private static let leastNumbers: Int64 = 32_768

    /// The bus gives a pidfd with its credentials, so nothing has to be kept.
    private(set) var busGivesProcesses = false
    /// A connection is on the bus. Not called when the bus gives pidfds.
    var onAppeared: (@LoopActor (String) -> Void)?
    /// A connection has left the bus.
    var onVanished: (@LoopActor (String) -> Void)?
    /// Milliseconds of `Loop.uptimeMilliseconds()`.
    private struct Moment {
        /// When it was heard of.
        var heard: Int64
        /// Before which it cannot have appeared: when nothing had been heard for longer than a number takes to come round,
        /// the end of what was heard before.
        var earliest: Int64
    }

    private var moments: [String: Moment] = [:]
    /// Which bus that is.
    private var busID: String?
    /// What was known by an earlier connection, until it is known whether that was to the same bus.
    private var earlier: (busID: String?, moments: [String: Moment])
    private let connection: Connection
    /// Milliseconds that a signal may be late and no number have come round.
    let harmlessDelay: Int64

    /// - Parameter old: of a connection that was lost. Whoever can make the bus cut it must not seem new after it.
    init(connection: Connection, continuing old: ConnectionMoments? = nil) {
        self.connection = connection
        earlier = (
            old?.busID ?? old?.earlier.busID,
            old.map { $0.moments.merging($0.earlier.moments) { $1 } } ?? [:]
        )
        let numbers = max(ConnectionMoments.leastNumbers, ConnectionMoments.processNumbers())
        harmlessDelay = numbers * ConnectionMoments.nanosecondsPerNumber / 1_000_000
    }

    /// From now on. The bus answers in order: who asks it for credentials later gets them when this is settled.
    func start() {
        connection.keepArrivals(true)
        // Before the list, so that nobody is missed.
        connection.onSignal(
            sender: Message.busName, interface: Message.busName, member: "NameOwnerChanged"
        ) { [weak self] in self?.changed($0) }
        connection.call(.busCall("GetConnectionCredentials", [.string(connection.uniqueName)])) { [weak self] result in
            guard (try? result.get())?.body.first?.properties?["ProcessFD"] != nil else { return }
            self?.stop()
        }
        connection.call(.busCall("GetId")) { [weak self] in self?.identified($0) }
        connection.call(.busCall("ListNames")) { [weak self] in self?.listed($0) }
    }

    private func stop() {
        busGivesProcesses = true
        connection.keepArrivals(false)
        moments = [:]
    }

    /// Whether a process that started then (clock ticks after boot) was there when the connection appeared; one that is
    /// older than this daemon counts from when it was seen first.
    ///
    /// A program that starts while this daemon gets no processor is younger than what was heard before. Once it is known to
    /// hold its connections' sockets, `isHolder`, it counts from when its connection was heard of.
    func wasThere(_ startTime: UInt64, before name: String, isHolder: Bool) -> Bool {
        guard let moment = moments[name] else { return false }
        let latest = isHolder ? moment.heard : moment.earliest
        return startTime <= UInt64(max(0, latest)) * UInt64(max(1, sysconf(Int32(_SC_CLK_TCK)))) / 1000
    }

    private func changed(_ message: Message) {
        guard message.body.count == 3, let name = message.body[0].stringValue, name.hasPrefix(":") else { return }
        if message.body[2].stringValue == "" {
            moments[name] = nil
            onVanished?(name)
        } else if message.body[1].stringValue == "", !busGivesProcesses {
            let now = Loop.uptimeMilliseconds()
            let earliest = connection.arrivedAfter
            note(name, Moment(heard: now, earliest: now - earliest <= harmlessDelay ? now : earliest))
        }
    }

    private func identified(_ result: Result<Message, BusError>) {
        // A connection that is lost again before it knows keeps what it was given.
        guard case .success(let message) = result else { return }
        busID = message.body.first?.stringValue
        if busID == nil || busID != earlier.busID { earlier.moments = [:] }
    }

    private func listed(_ result: Result<Message, BusError>) {
        guard case .success(let message) = result, !busGivesProcesses else { return }
        for name in message.body.first?.strings ?? [] where name.hasPrefix(":") && moments[name] == nil {
            // A bus gives no unique name twice.
            let now = Loop.uptimeMilliseconds()
            note(name, earlier.moments[name] ?? Moment(heard: now, earliest: now))
        }
        earlier.moments = [:]
    }

    private func note(_ name: String, _ moment: Moment) {
        guard moments.count < ConnectionMoments.maximum else { return }
        moments[name] = moment
        onAppeared?(name)
    }

    private static func processNumbers() -> Int64 {
        guard let file = fopen("/proc/sys/kernel/pid_max", "re") else { return 0 }
        defer { fclose(file) }
        var text = [CChar](repeating: 0, count: 32)
        guard fgets(&text, Int32(text.count), file) != nil else { return 0 }
        return Int64(strtol(text, nil, 10))
    }
}
