// Whether a process holds as many sockets to the bus as the bus has connections with its process ID.
//
// The bus records the ID of the process that called connect(2), but announces the connection only at Hello. If the
// first process exits and Hello is sent when another process has its ID, that process passes the check of age, but does
// not hold the socket.

import DBus
import PermissionModel
import System

@LoopActor
final class ConnectionSockets {
    /// Milliseconds between two checks of one process. permd learns of closed and opened connections a moment later,
    /// and between fork(2) and execve(2) a child of the process holds sockets that its parent has closed.
    private static let pauses: [Int64] = [0, 0, 20, 80, 300, 600]
    /// Between connect(2) and Hello, a program holds a socket without a name on the bus, which could be counted for
    /// another connection that sends Hello at that moment. Logging in takes four round trips to the bus, so a socket
    /// counts only if it was held for twice as many.
    private static let roundTrips = 8

    let processes: ConnectionProcesses
    private let connection: Connection
    private let reader: ProcessReader
    private let warn: @LoopActor (String) -> Void
    private var sockets: BusSockets?
    /// Searches never hang, as they ask the kernel alone: nothing that hangs elsewhere delays them.
    private let worker = Worker(threads: 1)
    /// Whether the kernel cannot report sockets. Every process then passes this check.
    private var isBlind = false
    private var checks: [Int32: [(name: String, completion: @LoopActor (UnknownProcess?) -> Void)]] = [:]

    init(connection: Connection, reader: ProcessReader, warn: @escaping @LoopActor (String) -> Void) {
        self.connection = connection
        self.reader = reader
        self.warn = warn
        processes = ConnectionProcesses(connection: connection)
    }

    /// Passes nil if the process holds enough sockets, otherwise the reason why it is not accepted as the connection's
    /// process. Concurrent checks of one process share one search.
    func check(_ pid: Int32, _ name: String, _ completion: @escaping @LoopActor (UnknownProcess?) -> Void) {
        checks[pid, default: []].append((name, completion))
        if checks[pid]?.count == 1 { search(pid, ConnectionSockets.pauses[...]) }
    }

    private func search(_ pid: Int32, _ pauses: ArraySlice<Int64>) {
        processes.whenKnown { [weak self] in
            guard let self else { return }
            do throws(UnknownProcess) {
                guard let sockets = try busSockets() else { return finish(pid, nil) }
                search(pid, sockets, pauses)
            } catch {
                finish(pid, error)
            }
        }
    }

    private func search(_ pid: Int32, _ sockets: BusSockets, _ pauses: ArraySlice<Int64>) {
        let count = processes.count(pid)
        worker.run(about: "\(pid)") { [reader] in
            Result { () throws(UnknownProcess) in try sockets.sockets(of: pid, atMost: count, reader) }
        } then: { [weak self] found in
            guard let self else { return }
            switch found {
            case .success(let found) where found.count == count:
                roundTrips(ConnectionSockets.roundTrips) { [weak self] in self?.confirm(pid, found, pauses) }
            case .success(let found): again(pid, pauses, found.count)
            case .failure(let problem): finish(pid, problem)
            case nil: finish(pid, UnknownProcess(reason: "its sockets were not found in time"))
            }
        }
    }

    private func confirm(_ pid: Int32, _ found: [ProcessSocket], _ pauses: ArraySlice<Int64>) {
        processes.whenKnown { [weak self] in
            guard let self else { return }
            let count = found.count { self.reader.has(pid, $0) }
            // Connections whose check began during the search must be included in the count.
            let isComplete = (checks[pid] ?? []).allSatisfy { !self.processes.isAsked($0.name) }
            guard isComplete, processes.count(pid) <= count else { return again(pid, pauses, count) }
            finish(pid, nil)
        }
    }

    private func again(_ pid: Int32, _ pauses: ArraySlice<Int64>, _ found: Int) {
        guard let pause = pauses.first else {
            let count = processes.count(pid)
            let reason = "the process \(pid) has \(count) connections, but holds \(found) sockets to the bus"
            return finish(pid, UnknownProcess(reason: reason))
        }
        Loop.shared.after(milliseconds: pause) { [weak self] in
            self?.roundTrips(1) { self?.search(pid, pauses.dropFirst()) }
        }
    }

    /// Calls `body` after that many round trips to the bus. Signals about earlier events have arrived by then.
    private func roundTrips(_ count: Int, _ body: @escaping @LoopActor () -> Void) {
        guard count > 0 else { return body() }
        connection.askBus("GetId") { [weak self] _ in self?.roundTrips(count - 1, body) }
    }

    private func finish(_ pid: Int32, _ problem: UnknownProcess?) {
        for check in checks.removeValue(forKey: pid) ?? [] { check.completion(problem) }
    }

    /// Returns nil if the kernel cannot report sockets.
    private func busSockets() throws(UnknownProcess) -> BusSockets? {
        if let sockets { return sockets }
        if isBlind { return nil }
        do throws(UnixSockets.Refusal) {
            sockets = try BusSockets(of: connection.socket)
            return sockets
        } catch {
            switch error {
            case .failed(let reason): throw UnknownProcess(reason: "the kernel did not report its sockets: \(reason)")
            case .unsupported:
                isBlind = true
                warn(
                    "The kernel does not report which process holds a socket to the bus (unix_diag), and the bus gives no pidfds: a program that delays its Hello can be mistaken for the process that has its process ID by then"
                )
                return nil
            }
        }
    }
}
