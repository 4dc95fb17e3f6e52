// Decides which caller is served next, how much each may have waiting, and how long one turn of serving lasts.

/// Method calls that have been read but not handled. Callers are served round-robin, one call each, regardless of call
/// rate; the calls of one caller keep their order.
public final class CallScheduler<Call> {
    public enum Admission {
        case waits
        /// Its caller has too much waiting: the call is to be answered with an error at once.
        case refused
    }

    /// Bytes of one caller's waiting calls: as many as the largest call may have, and far more than a program that
    /// waits for replies has.
    static var maximumWeight: Int { 4 << 20 }
    /// Bytes of all waiting calls, regardless of the number of callers.
    static var maximumTotal: Int { 16 << 20 }
    /// When the total is reached, a caller may still have one waiting call of at most this many bytes, so that no
    /// number of busy callers can shut others out.
    static var smallWeight: Int { 64 << 10 }
    /// Bytes charged per call in addition to its content; limits one caller to 4096 calls.
    static var overhead: Int { 1024 }

    /// Calls per turn: half of what is read between two turns. Reading thus stays ahead of serving, and a new caller's
    /// call is discovered behind the backlog of others.
    static var turnCalls: Int { 32 }
    /// Milliseconds after which a turn ends, even if few calls were served.
    static var turnTime: Int64 { 2 }

    private final class Line {
        let caller: String
        var calls = FIFO<(call: Call, weight: Int)>()
        var weight = 0

        init(_ caller: String) { self.caller = caller }
    }

    private var lines: [String: Line] = [:]
    /// The callers in serving order.
    private var turns = FIFO<Line>()
    private var total = 0
    /// A monotonic clock, in milliseconds.
    private let uptime: () -> Int64
    private var turnEnd: Int64 = 0
    private var leftInTurn = 0

    public init(uptime: @escaping () -> Int64 = { Loop.uptimeMilliseconds() }) { self.uptime = uptime }

    public var isEmpty: Bool { lines.isEmpty }

    /// Adds a call, unless its caller has too much waiting. `content` is the size of the call in bytes.
    public func add(_ call: Call, of caller: String, content: Int) -> Admission {
        let weight = content + Self.overhead
        guard let line = lines[caller] else {
            guard total + weight <= Self.maximumTotal || weight <= Self.smallWeight else { return .refused }
            let line = Line(caller)
            lines[caller] = line
            turns.append(line)
            append(call, weight, to: line)
            return .waits
        }
        guard line.weight + weight <= Self.maximumWeight, total + weight <= Self.maximumTotal else {
            return .refused
        }
        append(call, weight, to: line)
        return .waits
    }

    /// Begins a turn, in which calls are taken with `takeInTurn`.
    func beginTurn() {
        leftInTurn = Self.turnCalls
        turnEnd = uptime() + Self.turnTime
    }

    /// Returns the next call to serve in this turn, at least one per turn; nil when the turn is over or nothing waits.
    func takeInTurn() -> Call? {
        guard leftInTurn > 0, leftInTurn == Self.turnCalls || uptime() <= turnEnd else { return nil }
        leftInTurn -= 1
        return take()
    }

    public func take() -> Call? {
        guard let line = turns.popFirst(), let (call, weight) = line.calls.popFirst() else { return nil }
        line.weight -= weight
        total -= weight
        if line.calls.isEmpty { lines[line.caller] = nil } else { turns.append(line) }
        return call
    }

    private func append(_ call: Call, _ weight: Int, to line: Line) {
        line.calls.append((call, weight))
        line.weight += weight
        total += weight
    }
}
