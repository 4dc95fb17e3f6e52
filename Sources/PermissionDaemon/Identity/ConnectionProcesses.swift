// How many connections each process has on the bus, as the bus says: it is asked once for each, when it appears.

import DBus
import PermissionModel

@LoopActor
final class ConnectionProcesses {
    /// Asked at a time: however fast connections come, what the bus and we hold for it is bounded, and the answers keep
    /// up with them, as letting one in costs the bus far more than such a question.
    static let maximumAsked = 256

    private let connection: Connection
    /// By unique name, in the order of appearance; 0 until the bus has answered, and for what it does not know.
    private var processes: [String: Int32] = [:]
    private var counts: [Int32: Int] = [:]
    /// To be asked, oldest last.
    private var waiting: [(name: String, order: UInt64)] = []
    /// Appeared since; turned around into `waiting`.
    private var arrived: [(name: String, order: UInt64)] = []
    private(set) var asked = 0
    private var lastOrder: UInt64 = 0
    /// All up to that one are answered.
    private var answered: UInt64 = 0
    private var listeners: [(order: UInt64, body: @LoopActor () -> Void)] = []

    init(connection: Connection) { self.connection = connection }

    /// Connections of that process whose process is known by now.
    func count(_ pid: Int32) -> Int { counts[pid] ?? 0 }

    /// Whether it is on the bus and the bus has not said whose it is.
    func isAsked(_ name: String) -> Bool { processes[name] == 0 }

    /// Calls `body` once the bus has answered for all that have appeared so far; at once if it has.
    func whenKnown(_ body: @escaping @LoopActor () -> Void) {
        if answered == lastOrder { return body() }
        listeners.append((lastOrder, body))
    }

    func appeared(_ name: String) {
        guard processes[name] == nil else { return }
        processes[name] = 0
        lastOrder += 1
        arrived.append((name, lastOrder))
        ask()
    }

    func vanished(_ name: String) {
        guard let pid = processes.removeValue(forKey: name), pid != 0, let count = counts[pid] else { return }
        counts[pid] = count > 1 ? count - 1 : nil
    }

    private func ask() {
        while asked < ConnectionProcesses.maximumAsked, let (name, order) = next() {
            // It has left: nothing is asked, and it counts as answered with the next one.
            guard processes[name] != nil else { continue }
            asked += 1
            connection.call(.busCall("GetConnectionUnixProcessID", [.string(name)]), timeoutMilliseconds: nil) {
                [weak self] in self?.answer(name, order, $0)
            }
        }
        if asked == 0 { settle(lastOrder) }
    }

    private func next() -> (name: String, order: UInt64)? {
        if waiting.isEmpty {
            waiting = arrived.reversed()
            arrived = []
        }
        return waiting.popLast()
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
