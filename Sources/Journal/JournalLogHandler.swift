// Logs to the journal with fields if stderr is connected to the journal, otherwise in plain lines.

import CLinux
import CSystemd
import Glibc
package import Logging
import PermissionModel
import System

package struct JournalLogHandler: LogHandler {
    /// The maximum length of a line in scalars: more than any message of permd with two paths in it.
    private static let maximumLine = 12 << 10

    package var metadata: Logger.Metadata = [:]
    package var logLevel = Logger.Level.info
    private let program: String
    private let toJournal = JournalLogHandler.isJournal(getenv("JOURNAL_STREAM").map { String(cString: $0) })

    /// - Parameter program: How lines name the program.
    package init(program: String) { self.program = program }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        let fields = all.sorted { $0.key < $1.key }.map { ($0.key, $0.value.description) }
        if toJournal {
            send(event.level, JournalLogHandler.shown("\(event.message)"), fields)
        } else {
            writeError(line(event.level, "\(event.message)", fields))
        }
    }

    /// `PROGRAM: warning: text (key=value …)`; characters that could break the line are shown as escapes.
    package func line(_ level: Logger.Level, _ message: String, _ fields: [(String, String)]) -> String {
        let kind = level == .info || level == .notice ? "" : "\(level.rawValue): "
        let values = fields.filter { !$0.1.isEmpty }.map { "\($0.0)=\($0.1)" }.joined(separator: " ")
        return JournalLogHandler.shown("\(program): \(kind)\(message)" + (values.isEmpty ? "" : " (\(values))")) + "\n"
    }

    /// Makes a message safe to show and limits its length.
    private static func shown(_ text: String) -> String {
        let isLong = text.utf8.count > maximumLine && !text.unicodeScalars.dropFirst(maximumLine).isEmpty
        return isLong ? SafeText.line(String(text.unicodeScalars.prefix(maximumLine))) + "…" : SafeText.line(text)
    }

    /// The message is made safe to show. The fields are sent unchanged, because programs match them: PERMD_REQUEST,
    /// PERMD_APP, PERMD_PERMISSION, PERMD_OUTCOME and others (sd_journal_sendv(3)).
    private func send(_ level: Logger.Level, _ message: String, _ fields: [(String, String)]) {
        var entries = [
            "MESSAGE=\(message)", "PRIORITY=\(JournalLogHandler.priority(level))", "SYSLOG_IDENTIFIER=\(program)",
        ]
        entries += fields.filter { !$0.1.isEmpty }.map { "PERMD_\($0.0.uppercased())=\($0.1)" }
        var text = Array(entries.joined().utf8)
        text.withUnsafeMutableBytes { text in
            var offset = 0
            let vectors = entries.map { entry in
                defer { offset += entry.utf8.count }
                return iovec(iov_base: text.baseAddress! + offset, iov_len: entry.utf8.count)
            }
            sd_journal_sendv(vectors, Int32(vectors.count))
        }
    }

    private static func priority(_ level: Logger.Level) -> Int {
        switch level {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }

    /// `$JOURNAL_STREAM` names the device and inode of the journal's stream (systemd.exec(5)).
    package static func isJournal(_ stream: String?) -> Bool {
        guard let stream else { return false }
        var status = stat()
        guard fstat(STDERR_FILENO, &status) == 0 else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }
}
