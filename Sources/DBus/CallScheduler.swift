// Decides which caller is served next, how much each may have waiting, and how long one turn of serving lasts.

import Glibc

/// Method calls that have been read but not handled. Callers are served round-robin, one call each, regardless of call
/// rate; those whose calls took longer than the calls of others are passed over until the others have had as much time.
/// The calls of one caller keep their order.
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
    /// Nanoseconds after which a turn ends, even if few calls were served.
    static var turnTime: Int64 { 2_000_000 }
    /// Nanoseconds that a caller gets in each round: less than a call takes, or cheap calls would have less time.
    static var share: Int64 { 10_000 }
    /// The most nanoseconds that a caller has to wait for what one call took, whatever held that call up.
    static var maximumDebt: Int64 { 100_000_000 }

    private final class Line {
        let caller: String
        var calls = FIFO<(call: Call, weight: Int)>()
        var weight = 0
        /// Nanoseconds that remain of its shares. It is passed over while there are none.
        var timeLeft: Int64 = 0

        init(_ caller: String) { self.caller = caller }
    }

    /// Callers with waiting calls, and those that are still passed over.
    private var lines: [String: Line] = [:]
    /// The same callers in serving order.
    private var turns = FIFO<Line>()
    private var count = 0
    private var total = 0
    /// A monotonic clock, in nanoseconds.
    private let uptime: () -> Int64
    private var turnEnd: Int64 = 0
    private var leftInTurn = 0
    /// Whose call was taken last, and when, until its time is charged.
    private var served: (line: Line, since: Int64)?

    public convenience init() { self.init { Loop.nanoseconds(of: CLOCK_MONOTONIC) } }

    init(uptime: @escaping () -> Int64) { self.uptime = uptime }

    public var isEmpty: Bool { count == 0 }

    /// Adds a call, unless its caller has too much waiting. `content` is the size of the call in bytes.
    public func add(_ call: Call, of caller: String, content: Int) -> Admission {
        let weight = content + Self.overhead
        let line = lines[caller] ?? Line(caller)
        let isFirst = line.weight == 0
        guard
            total + weight <= Self.maximumTotal && (isFirst || line.weight + weight <= Self.maximumWeight)
                || isFirst && weight <= Self.smallWeight
        else { return .refused }
        if lines.updateValue(line, forKey: caller) == nil { turns.append(line) }
        line.calls.append((call, weight))
        line.weight += weight
        total += weight
        count += 1
        return .waits
    }

    /// Begins a turn, in which calls are taken with `takeInTurn`.
    func beginTurn() {
        leftInTurn = Self.turnCalls
        turnEnd = uptime() + Self.turnTime
    }

    /// Returns the next call to serve in this turn, at least one per turn; nil when the turn is over or nothing waits.
    func takeInTurn() -> Call? {
        charge()
        guard leftInTurn > 0, leftInTurn == Self.turnCalls || uptime() <= turnEnd else { return nil }
        leftInTurn -= 1
        return take()
    }

    /// Returns the next call. The time until the next one is taken is charged to its caller.
    public func take() -> Call? {
        charge()
        while count > 0, let line = turns.popFirst() {
            line.timeLeft = min(line.timeLeft + Self.share, Self.share)
            guard line.timeLeft > 0 else {
                turns.append(line)
                continue
            }
            guard let (call, weight) = line.calls.popFirst() else {
                lines[line.caller] = nil
                continue
            }
            line.weight -= weight
            total -= weight
            count -= 1
            turns.append(line)
            served = (line, uptime())
            return call
        }
        // Nobody waits, so nobody is kept waiting by those who used more than their share.
        lines = [:]
        turns = FIFO()
        return nil
    }

    private func charge() {
        guard let (line, since) = served else { return }
        served = nil
        line.timeLeft = max(line.timeLeft - (uptime() - since), -Self.maximumDebt)
    }
}
