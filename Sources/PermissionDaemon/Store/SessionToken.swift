// Identifies the user's session: a random token that is replaced when the last login session ends.
//
// It is stored in $XDG_RUNTIME_DIR/permd/session, so that a restarted permd continues with it, and compared in memory:
// a session ends when its token is replaced here, even if the file cannot be written.

import CLinux
import Glibc
import PermissionCore
import PermissionModel
import System

final class SessionToken {
    private static let firstLine = "permd session 1"
    /// The maximum size of the file in bytes; the ID of a login session has a few.
    private static let maximumSize = 64 << 10

    /// Nil if the token is kept in memory only.
    private let path: String?
    private(set) var scopes: DecisionScopes
    /// The IDs of the user's login sessions in logind.
    private(set) var logins: [String] = []
    /// The file with the current token; nil if there is none.
    private var saved: FileStatus?
    /// Called with each problem, as a sentence.
    var onFinding: ((String) -> Void)?
    /// Problems found while reading the file.
    private(set) var findings: [String] = []

    init(path: String?, boot: String) {
        self.path = path
        scopes = DecisionScopes(session: SessionToken.random(), boot: boot)
        guard let path else {
            findings = ["XDG_RUNTIME_DIR is not set; decisions for the session are forgotten when permd exits"]
            return
        }
        do throws(RegularFile.Failure) {
            let read = try SessionToken.read(path)
            if read.scopes.boot == boot {
                (scopes, logins, saved) = (read.scopes, read.logins, FileStatus(path))
            }
        } catch {
            guard !error.isAbsent else { return }
            findings = ["\(path) cannot be read: \(error.reason); decisions for the session have ended"]
        }
    }

    /// Ends the session because the last login session has ended; its decisions no longer hold.
    func replace() {
        scopes.session = SessionToken.random()
        saved = nil
        // The old session must not return from a file that cannot be replaced.
        if !save(), let path { unlink(path) }
    }

    func keep(logins: [String]) {
        guard logins != self.logins || saved == nil else { return }
        self.logins = logins
        save()
    }

    /// Writes the file again if it was deleted or replaced. Returns false if that fails. Called before a decision is
    /// acknowledged: one for the session holds after a restart of permd only if the token was saved.
    @discardableResult
    func ensureSaved() -> Bool {
        guard let path else { return true }
        if let saved, FileStatus(path) == saved { return true }
        let wasSaved = saved != nil
        guard save() else { return false }
        if wasSaved { onFinding?("\(path) was deleted or replaced while permd ran; it was written again") }
        return true
    }

    // MARK: The file

    @discardableResult
    private func save() -> Bool {
        guard let path else { return true }
        saved = nil
        let folder = StoreOpening.folder(of: path)
        // If $XDG_RUNTIME_DIR itself does not exist, the session has ended.
        guard access(StoreOpening.folder(of: folder), F_OK) == 0 else { return failed("\(folder) no longer exists") }
        if let problem = StoreOpening.prepareFolder(of: path) { return failed(problem) }
        let temporary = path + ".new"
        unlink(temporary)
        let fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard fd >= 0 else { return failed(errorText()) }
        let written = text.withCString { write(fd, $0, strlen($0)) }
        let reason = written < 0 ? errorText() : "only \(written) bytes were written"
        close(fd)
        guard written == text.utf8.count else { return failed(reason) }
        // A file cannot be renamed over a directory.
        if FileStatus(path)?.kind == S_IFDIR {
            rename(path, "\(path).replaced-\(time(nil))")
        }
        guard rename(temporary, path) == 0 else { return failed(errorText()) }
        saved = FileStatus(path)
        return true
    }

    private func failed(_ reason: String) -> Bool {
        onFinding?(
            "\(path ?? "") cannot be written: \(reason); decisions for the session are forgotten when permd exits")
        return false
    }

    private var text: String {
        let content = [SessionToken.firstLine, scopes.session, scopes.boot, logins.joined(separator: " ")]
            .joined(separator: "\n")
        return content + "\n" + SessionToken.checksum(content) + "\n"
    }

    private static func checksum(_ content: String) -> String {
        var hash = FNV1a()
        hash.add(content.utf8)
        return String(hash.value, radix: 16)
    }

    private static func read(
        _ path: String
    ) throws(RegularFile.Failure) -> (scopes: DecisionScopes, logins: [String]) {
        let bytes = try RegularFile.read(path, maximum: maximumSize)
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init)
        guard lines.count == 6, lines[0] == firstLine, lines[5].isEmpty,
            checksum(lines[0...3].joined(separator: "\n")) == lines[4]
        else { throw RegularFile.Failure("it is damaged") }
        let logins = lines[3].split(separator: " ").map(String.init)
        return (DecisionScopes(session: lines[1], boot: lines[2]), logins)
    }

    /// A token of 128 random bits (getrandom(2)).
    private static func random() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in String(generator.next() as UInt64, radix: 16) }.joined(separator: "-")
    }
}
