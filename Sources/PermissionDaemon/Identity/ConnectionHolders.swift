// Whether a process holds as many sockets to the bus as the bus has connections of its number.
//
// The bus knows the number of the process that called connect(2), and learns of the connection at Hello. Whoever lets the
// first process end, and says Hello when another one has the number, looks older than the connection's process need be; but
// that other one does not hold the socket.

import DBus
import Logging
import PermissionModel
import ProcessIdentity

@LoopActor
final class ConnectionHolders {
    /// Milliseconds between two looks at one process. A connection that was closed, or one that was opened, is heard of a
    /// moment later; and until a child that the process forks executes another program, it holds what its parent has closed.
    private static let pauses: [Int64] = [0, 0, 20, 80, 300, 600]
    /// A program between connect(2) and Hello holds a socket more than the bus has names, and could lend it to a
    /// connection that says Hello in this moment. Logging in takes four turns of the bus; a socket counts that was held
    /// for twice as many.
    private static let roundTrips = 8

    let processes: ConnectionProcesses
    private let connection: Connection
    private let reader: ProcessReader
    private let log: Logger
    private var sockets: BusSockets?
    private var looks: [@LoopActor () -> Void] = []
    /// The kernel does not tell: everybody is believed.
    private(set) var isBlind = false
    private var checks: [Int32: [(name: String, completion: @LoopActor (UnknownProcess?) -> Void)]] = [:]

    init(connection: Connection, reader: ProcessReader, log: Logger) {
        self.connection = connection
        self.reader = reader
        self.log = log
        processes = ConnectionProcesses(connection: connection)
    }

    /// Calls `completion` with why the process is not believed to be the one of the connection, nil when it is. All
    /// connections of a process that are asked about meanwhile share one look.
    func check(_ pid: Int32, _ name: String, _ completion: @escaping @LoopActor (UnknownProcess?) -> Void) {
        checks[pid, default: []].append((name, completion))
        if checks[pid]?.count == 1 { look(pid, ConnectionHolders.pauses[...]) }
    }

    private func look(_ pid: Int32, _ pauses: ArraySlice<Int64>) {
        processes.whenKnown { [weak self] in
            guard let self else { return }
            search(BusSockets.Search(pid: pid, count: processes.count(pid)), pauses)
        }
    }

    private func search(_ begun: BusSockets.Search, _ pauses: ArraySlice<Int64>) {
        inTurn { [weak self] in
            guard let self else { return }
            let pid = begun.pid
            do throws(UnknownProcess) {
                guard let sockets = try busSockets() else { return finish(pid, nil) }
                var search = begun
                guard try sockets.go(on: &search, reader) else { return self.search(search, pauses) }
                guard search.found.count == search.count else { return again(pid, pauses, search.found.count) }
                roundTrips(ConnectionHolders.roundTrips) { [weak self] in
                    self?.confirm(pid, Array(search.found.values), pauses)
                }
            } catch {
                finish(pid, error)
            }
        }
    }

    private func confirm(_ pid: Int32, _ held: [BusSockets.Held], _ pauses: ArraySlice<Int64>) {
        processes.whenKnown { [weak self] in
            guard let self else { return }
            let count = held.count { self.reader.holds(pid, $0) }
            // Of those that came while this was under way all have to be among the counted.
            let isComplete = (checks[pid] ?? []).allSatisfy { !self.processes.isAsked($0.name) }
            guard isComplete, processes.count(pid) <= count else { return again(pid, pauses, count) }
            finish(pid, nil)
        }
    }

    /// A part of one look between two looks at our own sockets: callers that are known wait for no more than that, however
    /// many processes there are to look at.
    private func inTurn(_ look: @escaping @LoopActor () -> Void) {
        looks.append(look)
        if looks.count == 1 { Loop.shared.afterPoll { [weak self] in self?.nextLook() } }
    }

    private func nextLook() {
        looks[0]()
        looks.removeFirst()
        if !looks.isEmpty { Loop.shared.afterPoll { [weak self] in self?.nextLook() } }
    }

    private func again(_ pid: Int32, _ pauses: ArraySlice<Int64>, _ held: Int) {
        guard let pause = pauses.first else {
            let count = processes.count(pid)
            let reason = "the process \(pid) has \(count) connections and holds sockets for \(held)"
            return finish(pid, UnknownProcess(reason: reason))
        }
        Loop.shared.after(milliseconds: pause) { [weak self] in
            self?.roundTrips(1) { self?.look(pid, pauses.dropFirst()) }
        }
    }

    /// So many times to the bus and back: what happened before is heard of by then.
    private func roundTrips(_ count: Int, _ body: @escaping @LoopActor () -> Void) {
        guard count > 0 else { return body() }
        connection.call(.busCall("GetId")) { [weak self] _ in self?.roundTrips(count - 1, body) }
    }

    private func finish(_ pid: Int32, _ problem: UnknownProcess?) {
        for check in checks.removeValue(forKey: pid) ?? [] { check.completion(problem) }
    }

    /// Nil where the kernel does not tell.
    private func busSockets() throws(UnknownProcess) -> BusSockets? {
        if let sockets { return sockets }
        if isBlind { return nil }
        do throws(BusSockets.Refusal) {
            sockets = try BusSockets(of: connection.socket)
            return sockets
        } catch {
            switch error {
            case .failed(let reason): throw UnknownProcess(reason: "the kernel does not tell of sockets: \(reason)")
            case .unsupported:
                isBlind = true
                log.notice(
                    "The kernel does not tell who holds a socket to the bus (unix_diag), and the bus gives no pidfds: a program that says Hello late can be taken for the one that has its process number then"
                )
                return nil
            }
        }
    }
}
