// Log lines that any caller can cause do not fill the journal.

import DBus
import Logging
import PermissionTestKit
import System
import TestSupport
import Testing

@testable import Journal
@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(1)))
@LoopActor
struct BoundedLogTests {
    @Test func aFloodBecomesAFewLinesAndACount() async throws {
        let lines = EventLog<String>()
        let logger = Logger(label: "test") { _ in LineRecorder(lines: lines) { "\($0.message)" } }
        let log = BoundedLog(logger, "connections were not identified", minute: 50)
        for round in 1...2 {
            for number in 0..<1000 { log.notice("\(round): \(number)") }
            let first = (0..<BoundedLog.linesPerMinute).map { "\(round): \($0)" }
            #expect(lines.all.suffix(BoundedLog.linesPerMinute) == first[...])
            let sum = "\(1000 - BoundedLog.linesPerMinute) more connections were not identified within a minute"
            try await lines.wait(for: round * (BoundedLog.linesPerMinute + 1))
            #expect(lines.all.last == sum)
        }
        // A single line is logged as it is.
        log.notice("one")
        #expect(lines.all.last == "one" && lines.all.count == 2 * (BoundedLog.linesPerMinute + 1) + 1)
    }
}
