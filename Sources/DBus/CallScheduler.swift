// Which caller is served next, how much of one caller's may wait, and how long a turn of serving lasts.

/// Method calls that were read and not yet handled. Callers take turns, one call each, whatever the rate of any of them; the
/// calls of one caller keep their order.
public final class CallScheduler<Call> {
    /// What becomes of a call that arrives.
    public enum Admission {
        case waits
        /// Its caller has too much waiting: it is answered at once.
        case refused
    }

    /// Bytes of one caller's waiting calls: as many as the largest call may have. A program that waits for answers has far
    /// less under way.
    static var maximumWeight: Int { 4 << 20 }
    /// Bytes of all waiting calls, however many callers there are.
    static var maximumTotal: Int { 16 << 20 }
    /// Beyond the total a caller may still have one call waiting, of at most this many bytes, so that no number of busy
    /// callers shuts others out.
    static var smallWeight: Int { 64 << 10 }
    /// Bytes a call takes beside its content; bounds the number of a caller's calls to 4096.
    static var overhead: Int { 1024 }

    /// Calls of a turn: half of what is read between two of them, so that reading goes ahead of serving and who calls next is
    /// found behind the calls of others.
    static var turnCalls: Int { 32 }
    /// Milliseconds after which a turn ends, however few calls that were.
    static var turnTime: Int64 { 2 }

    private final class Line {
        let caller: String
        /// The waiting calls are those from `first` on.
        var calls: [(call: Call, weight: Int)] = []
        var first = 0
        var weight = 0

        init(_ caller: String) { self.caller = caller }
    }

    private var lines: [String: Line] = [:]
    /// The order of turns, from `next` on.
    private var turns: [Line] = []
    private var next = 0
    private var total = 0
    /// In milliseconds; never set, never back.
    private let uptime: () -> Int64
    private var turnEnd: Int64 = 0
    private var leftInTurn = 0

    public init(uptime: @escaping () -> Int64 = { Loop.uptimeMilliseconds() }) { self.uptime = uptime }

    public var isEmpty: Bool { lines.isEmpty }

    /// Adds a call unless its caller has too much waiting. `content` is its size in bytes.
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

    /// Begins a turn: what is taken by `takeInTurn` until it is over.
    func beginTurn() {
        leftInTurn = Self.turnCalls
        turnEnd = uptime() + Self.turnTime
    }

    /// The next call to serve in this turn, at least one; nil when the turn is over, or nothing waits.
    func takeInTurn() -> Call? {
        guard leftInTurn > 0, leftInTurn == Self.turnCalls || uptime() <= turnEnd else { return nil }
        leftInTurn -= 1
        return take()
    }

    /// The next call to serve.
    public func take() -> Call? {
        guard next < turns.count else { return nil }
        let line = turns[next]
        next += 1
        let (call, weight) = line.calls[line.first]
        line.first += 1
        line.weight -= weight
        total -= weight
        if line.first == line.calls.count {
            lines[line.caller] = nil
        } else {
            turns.append(line)
            compact(line)
        }
        compactTurns()
        return call
    }

    private func append(_ call: Call, _ weight: Int, to line: Line) {
        line.calls.append((call, weight))
        line.weight += weight
        total += weight
    }

    /// Releases what was taken, when it is the larger part.
    private func compact(_ line: Line) {
        guard line.first > 16, line.first > line.calls.count / 2 else { return }
        line.calls.removeFirst(line.first)
        line.first = 0
    }

    private func compactTurns() {
        guard next == turns.count || next > 16 && next > turns.count / 2 else { return }
        turns.removeFirst(next)
        next = 0
    }
}
