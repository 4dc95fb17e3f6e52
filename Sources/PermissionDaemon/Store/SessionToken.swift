// The user's session, as decisions know it: a random token that is replaced when the last login session ends.
//
// It is kept in $XDG_RUNTIME_DIR/permd/session, so that a permd that is started again goes on with it, and compared in
// memory: a session is over the moment its token is replaced here, whether or not that can be written.

import CLinux
import Glibc
import PermissionCore
import PermissionModel

final class SessionToken {
    private static let firstLine = "permd session 1"
    /// Bytes of the file; a login session's ID has a few.
    private static let maximumSize = 64 << 10

    /// Nil keeps it in memory.
    private let path: String?
    private(set) var scopes: DecisionScopes
    /// The IDs of the user's login sessions, as logind has them.
    private(set) var logins: [String] = []
    /// The file that has the present token; nil when none has.
    private var saved: StoreIdentity.File?
    /// Sentences for a person.
    var onFinding: ((String) -> Void)?
    /// What reading the file found.
    private(set) var findings: [String] = []

    init(path: String?, boot: String) {
        self.path = path
        scopes = DecisionScopes(session: SessionToken.random(), boot: boot)
        guard let path else {
            findings = ["XDG_RUNTIME_DIR is not set; decisions for the session are forgotten when permd ends"]
            return
        }
        switch SessionToken.read(path) {
        case .success(let read) where read.scopes.boot == boot:
            (scopes, logins, saved) = (read.scopes, read.logins, StoreIdentity.File(path))
        case .success: break
        case .failure(let failure) where failure.isAbsent: break
        case .failure(let failure):
            findings = ["\(path) cannot be read: \(failure.reason); decisions for the session have ended"]
        }
    }

    /// The last login session has ended: what was decided for it holds no more.
    func replace() {
        scopes.session = SessionToken.random()
        saved = nil
        // A file that cannot be replaced must not bring the old session back.
        if !save(), let path { unlink(path) }
    }

    func keep(logins: [String]) {
        guard logins != self.logins || saved == nil else { return }
        self.logins = logins
        save()
    }

    /// Writes the file again if it is not there any more, or another one; false when that fails. Before a decision is
    /// acknowledged: one for the session holds in a permd that is started again only if that knows the session.
    @discardableResult
    func ensureSaved() -> Bool {
        guard let path else { return true }
        if let saved, StoreIdentity.File(path) == saved { return true }
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
        // With $XDG_RUNTIME_DIR itself the session is over.
        guard access(StoreOpening.folder(of: folder), F_OK) == 0 else { return failed("\(folder) is gone") }
        if let problem = StoreOpening.prepareFolder(of: path) { return failed(problem) }
        let temporary = path + ".new"
        let text = SessionToken.text(scopes, logins)
        unlink(temporary)
        let fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard fd >= 0 else { return failed(String(cString: strerror(errno))) }
        let written = text.withCString { write(fd, $0, strlen($0)) }
        let error = errno
        close(fd)
        guard written == text.utf8.count else { return failed(String(cString: strerror(error))) }
        // A directory cannot be replaced by a file.
        if StoreIdentity.File(path).map({ $0.kind == S_IFDIR }) == true {
            rename(path, StoreOpening.freeName(path, "replaced", EpochSeconds(time(nil))))
        }
        guard rename(temporary, path) == 0 else { return failed(String(cString: strerror(errno))) }
        saved = StoreIdentity.File(path)
        return true
    }

    private func failed(_ reason: String) -> Bool {
        onFinding?(
            "\(path ?? "") cannot be written: \(reason); decisions for the session are forgotten when permd ends")
        return false
    }

    private static func text(_ scopes: DecisionScopes, _ logins: [String]) -> String {
        let content = [firstLine, scopes.session, scopes.boot, logins.joined(separator: " ")].joined(separator: "\n")
        return content + "\n" + checksum(content) + "\n"
    }

    private static func checksum(_ content: String) -> String {
        var hash = FNV1a()
        hash.add(content.utf8)
        return String(hash.value, radix: 16)
    }

    private static func read(
        _ path: String
    ) -> Result<(scopes: DecisionScopes, logins: [String]), RegularFile.Failure> {
        let bytes: [UInt8]
        do throws(RegularFile.Failure) { bytes = try RegularFile.read(path, maximum: maximumSize) } catch {
            return .failure(error)
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init)
        guard lines.count == 6, lines[0] == firstLine, lines[5].isEmpty,
            checksum(lines[0...3].joined(separator: "\n")) == lines[4]
        else { return .failure(RegularFile.Failure("it is damaged")) }
        let logins = lines[3].split(separator: " ").map(String.init)
        return .success((DecisionScopes(session: lines[1], boot: lines[2]), logins))
    }

    /// 128 random bits (getrandom(2)).
    private static func random() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in String(generator.next() as UInt64, radix: 16) }.joined(separator: "-")
    }
}
