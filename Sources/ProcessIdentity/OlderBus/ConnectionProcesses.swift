// Counts the connections of each process. The bus is asked once for the process of each connection, when it appears.

import DBus
import PermissionModel

@LoopActor
final class ConnectionProcesses {
    /// The most questions at a time, which bounds memory in permd and in the bus regardless of how fast connections
    /// appear. The answers keep up, because accepting a connection costs the bus far more than such a question.
    static let maximumAsked = 256

    private let connection: Connection
    /// Process IDs by unique name; 0 until the bus has answered, and if it does not know the process.
    private var processes: [String: Int32] = [:]
    private var counts: [Int32: Int] = [:]
    /// Connections to ask about.
    private var waiting = FIFO<(name: String, order: UInt64)>()
    private(set) var asked = 0
    private var lastOrder: UInt64 = 0
    /// The order up to which all questions are answered.
    private var answered: UInt64 = 0
    private var listeners: [(order: UInt64, body: @LoopActor () -> Void)] = []

    init(connection: Connection) { self.connection = connection }

    /// The number of connections that are known to belong to a process.
    func count(_ pid: Int32) -> Int { counts[pid] ?? 0 }

    /// Whether the connection is on the bus and its process is not known.
    func isAsked(_ name: String) -> Bool { processes[name] == 0 }

    /// Calls `body` once the bus has answered for all connections that have appeared so far.
    func whenKnown(_ body: @escaping @LoopActor () -> Void) {
        if answered == lastOrder { return body() }
        listeners.append((lastOrder, body))
    }

    func appeared(_ name: String) {
        guard processes[name] == nil else { return }
        processes[name] = 0
        lastOrder += 1
        waiting.append((name, lastOrder))
        ask()
    }

    func vanished(_ name: String) {
        guard let pid = processes.removeValue(forKey: name), pid != 0, let count = counts[pid] else { return }
        counts[pid] = count > 1 ? count - 1 : nil
    }

    private func ask() {
        while asked < ConnectionProcesses.maximumAsked, let (name, order) = waiting.popFirst() {
            // The connection has left: it counts as answered together with the next one.
            guard processes[name] != nil else { continue }
            asked += 1
            connection.call(.busCall("GetConnectionUnixProcessID", [.string(name)]), timeoutMilliseconds: nil) {
                [weak self] in self?.answer(name, order, $0)
            }
        }
        if asked == 0 { settle(lastOrder) }
    }

    /// The bus answers in order.
    private func answer(_ name: String, _ order: UInt64, _ result: Result<Message, BusError>) {
        asked -= 1
        if processes[name] == 0, let pid = (try? result.get())?.body.first?.uint32Value.flatMap(Int32.init(exactly:)),
            pid > 0
        {
            processes[name] = pid
            counts[pid, default: 0] += 1
        }
        settle(order)
        ask()
    }

    private func settle(_ order: UInt64) {
        answered = max(answered, order)
        let settled = listeners.prefix { $0.order <= answered }
        listeners.removeFirst(settled.count)
        for listener in settled { listener.body() }
    }
}
