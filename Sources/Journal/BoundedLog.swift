// Limits log lines that any program can cause: a few per minute are logged, the rest are only counted.

package import DBus
package import Logging

@LoopActor
package final class BoundedLog {
    /// Enough to see what goes wrong. The journal keeps about 10,000 lines of a service in 30 seconds and drops the
    /// rest, and older lines of all services are removed to make room (journald.conf(5)).
    package static let linesPerMinute = 10

    private let log: Logger
    /// Describes the lines after their number: "12 more … within a minute".
    private let summary: String
    private let minute: Int64
    private var count = 0

    /// - Parameter minute: in milliseconds.
    package init(_ log: Logger, _ summary: String, minute: Int64 = 60_000) {
        self.log = log
        self.summary = summary
        self.minute = minute
    }

    package func notice(_ line: @autoclosure () -> String, metadata: @autoclosure () -> Logger.Metadata? = nil) {
        count += 1
        if count <= BoundedLog.linesPerMinute { log.notice("\(line())", metadata: metadata()) }
        guard count == 1 else { return }
        // The timer runs only after a line was logged.
        Loop.shared.after(milliseconds: minute) { [self] in
            let more = count - BoundedLog.linesPerMinute
            count = 0
            if more > 0 { log.notice("\(more) more \(summary) within a minute") }
        }
    }
}
