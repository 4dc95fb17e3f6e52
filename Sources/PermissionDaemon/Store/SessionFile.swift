// The file that identifies the user's session: a random token, replaced when the last login session ends.
//
// It is $XDG_RUNTIME_DIR/permd/session, so that the session ends with that folder and goes on when permd restarts. Its
// token is compared in memory: a session ends when its token is replaced there, even if the file cannot be written.

import CLinux
import Glibc
import PermissionCore
import System

struct UserSession: Sendable, Equatable {
    var scopes: DecisionScopes
    /// The IDs of the user's login sessions in logind.
    var logins: [String] = []

    /// A session that no decision belongs to yet.
    init(boot: String) { scopes = DecisionScopes(session: UserSession.token(), boot: boot) }

    /// The session that a file identifies; a new one if there is no such file, or it is of another boot.
    init(path: String?, boot: String) {
        self.init(boot: boot)
        guard let path, let bytes = try? RegularFile.read(path, maximum: SessionFile.maximumSize) else { return }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count == 4, !lines[0].isEmpty, lines[1] == boot else { return }
        scopes.session = String(lines[0])
        logins = lines[2].split(separator: " ").map(String.init)
    }

    /// The content of the file.
    var text: String { "\(scopes.session)\n\(scopes.boot)\n\(logins.joined(separator: " "))\n" }

    /// Whether all earlier login sessions, of which there was one, have ended.
    static func hasEnded(with earlier: [String], now: [String]) -> Bool {
        !earlier.isEmpty && Set(earlier).isDisjoint(with: now)
    }

    /// The session after the last login session has ended.
    mutating func replace() { scopes.session = UserSession.token() }

    /// A token of 128 random bits (getrandom(2)).
    private static func token() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in String(generator.next() as UInt64, radix: 16) }.joined(separator: "-")
    }
}

// SAFETY: only jobs of the store's worker use it, which run one at a time.
final class SessionFile: @unchecked Sendable {
    /// The maximum size of the file in bytes; the ID of a login session has a few.
    static let maximumSize = 64 << 10

    private let path: String?
    /// What the file was when it was written, and with which session.
    private var saved: (session: UserSession, file: FileStatus?)?

    /// - Parameter path: nil if the session ends with permd.
    init(path: String?) { self.path = path }

    /// Writes the file, unless it is there with this session. Returns a sentence if that fails: a decision for the
    /// session would not hold after a restart of permd.
    func save(_ session: UserSession) -> String? {
        guard let path else { return nil }
        if let saved, saved.session == session, FileStatus(path) == saved.file { return nil }
        if let problem = write(session.text, path) {
            // The session before this one must not return.
            unlink(path)
            return "\(path) cannot be written: \(problem); decisions for the session are forgotten when permd exits"
        }
        saved = (session, FileStatus(path))
        return nil
    }

    private func write(_ text: String, _ path: String) -> String? {
        let folder = StoreOpening.folder(of: path)
        // If $XDG_RUNTIME_DIR itself does not exist, the session has ended.
        guard access(StoreOpening.folder(of: folder), F_OK) == 0 else { return "\(folder) no longer exists" }
        if let problem = StoreOpening.prepareFolder(of: path) { return problem }
        let temporary = path + ".new"
        unlink(temporary)
        let fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard fd >= 0 else { return errorText() }
        let written = Glibc.write(fd, text, text.utf8.count)
        close(fd)
        guard written == text.utf8.count, rename(temporary, path) == 0 else { return errorText() }
        return nil
    }
}
