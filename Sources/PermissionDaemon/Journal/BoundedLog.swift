// Lines of the journal that anybody can cause: a few a minute as they are, the rest as a number.

import DBus
import Logging

@LoopActor
final class BoundedLog {
    /// Enough to see what goes wrong; the journal keeps some 10,000 lines of a service in 30 seconds and drops what comes
    /// then, and older ones of everybody have to go for them (journald.conf(5)).
    static let linesPerMinute = 10

    private let log: Logger
    /// After the number: what they say in one word.
    private let summary: String
    private let minute: Int64
    private var count = 0

    /// - Parameter minute: in milliseconds.
    init(_ log: Logger, _ summary: String, minute: Int64 = 60_000) {
        self.log = log
        self.summary = summary
        self.minute = minute
    }

    func notice(_ line: @autoclosure () -> String) {
        count += 1
        if count <= BoundedLog.linesPerMinute { log.notice("\(line())") }
        guard count == 1 else { return }
        // Nothing wakes up while nothing is said.
        Loop.shared.after(milliseconds: minute) { [self] in
            let more = count - BoundedLog.linesPerMinute
            count = 0
            if more > 0 { log.notice("\(more) more \(summary) within a minute") }
        }
    }
}
