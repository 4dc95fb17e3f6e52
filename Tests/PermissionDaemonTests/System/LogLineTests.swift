// Log lines as written to stderr.

import Logging
import System
import Testing

@testable import Journal
@testable import PermissionDaemon

@Suite
struct LogLineTests {
    private let handler = JournalLogHandler(program: "permd")

    @Test func plainLines() {
        #expect(handler.line(.info, "text", []) == "permd: text\n")
        #expect(
            handler.line(.warning, "text", [("app", "a"), ("x", "")]) == "permd: warning: text (app=a)\n")
    }

    /// A name in a message cannot start a new line or send an escape sequence to a terminal.
    @Test func controlCharactersAreEscaped() {
        #expect(handler.line(.error, "a\nb\u{1B}[31m", []) == "permd: error: a\\u{a}b\\u{1b}[31m\n")
    }

    @Test func invisibleCharactersAreEscapedAndLinesAreBounded() {
        let line = handler.line(.info, "a\u{202E}\u{9B}\u{2028}" + String(repeating: "x", count: 1 << 20), [])
        #expect(line.hasPrefix("permd: a\\u{202e}\\u{9b}\\u{2028}x"))
        #expect(line.utf8.count < 16 << 10 && line.hasSuffix("…\n"))
    }

    @Test func otherStreamsAreNotTheJournal() {
        #expect(!JournalLogHandler.isJournal(nil))
        #expect(!JournalLogHandler.isJournal(""))
        #expect(!JournalLogHandler.isJournal("1:2"))
    }
}
