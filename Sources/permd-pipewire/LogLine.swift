// Lines for the journal: with fields if stderr is connected to it, otherwise plain.

import CSystemd
import DBus
import Glibc
import PermissionModel

@LoopActor
final class LogLine {
    /// A program that makes links past us again and again fills the journal no further than this.
    private static let bypassesPerMinute = 10

    private let toJournal = LogLine.isJournal(getenv("JOURNAL_STREAM").map { String(cString: $0) })
    private var bypasses = 0

    func notice(_ text: String) { say(5, text) }

    func error(_ text: String) { say(3, text) }

    /// A link that an app made for itself was cut.
    func bypassed(app: String, permission: String, node: String) {
        bypasses += 1
        if bypasses == 1 { Loop.shared.after(milliseconds: 60_000) { [weak self] in self?.bypasses = 0 } }
        guard bypasses <= LogLine.bypassesPerMinute else { return }
        let who = app.isEmpty ? "A program that cannot be identified" : app
        say(
            4, "\(who) linked \(node) to a \(permission) past permd; the link was cut",
            [("OUTCOME", "bypassed"), ("APP", app), ("PERMISSION", permission)])
    }

    private func say(_ priority: Int, _ text: String, _ fields: [(String, String)] = []) {
        let line = SafeText.line(text)
        guard toJournal else { return LogLine.write("permd-pipewire: \(line)\n") }
        var entries = ["MESSAGE=\(line)", "PRIORITY=\(priority)", "SYSLOG_IDENTIFIER=permd-pipewire"]
        entries += fields.filter { !$0.1.isEmpty }.map { "PERMD_\($0.0)=\($0.1)" }
        var bytes = Array(entries.joined().utf8)
        // SAFETY: the vectors point into `bytes`, which is not changed meanwhile.
        bytes.withUnsafeMutableBytes { bytes in
            var offset = 0
            let vectors = entries.map { entry in
                defer { offset += entry.utf8.count }
                return iovec(iov_base: bytes.baseAddress! + offset, iov_len: entry.utf8.count)
            }
            sd_journal_sendv(vectors, Int32(vectors.count))
        }
    }

    /// Writes to stderr in one call. A failure is ignored because it cannot be reported.
    nonisolated static func write(_ text: String) {
        var text = text
        text.withUTF8 { _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    /// `$JOURNAL_STREAM` names the device and inode of the journal's stream (systemd.exec(5)).
    private static func isJournal(_ stream: String?) -> Bool {
        var status = stat()
        return stream != nil && fstat(STDERR_FILENO, &status) == 0 && stream == "\(status.st_dev):\(status.st_ino)"
    }
}
