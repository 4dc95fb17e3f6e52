// Opens the store: folders, modes, files that are damaged or of a newer schema.

import CLinux
import CSQLite
import Glibc
import PermissionCore
import PermissionModel

/// What opening a file came to.
struct OpenedFile {
    var database: Database?
    /// Which files are open; nil when they cannot be written.
    var identity: StoreIdentity?
    /// Writable exactly when both of the others are there.
    var state = StoreState.writable
    /// What a person should know, as sentences.
    var findings: [String] = []
}

/// The session that permd goes on with, and where earlier versions kept what belongs to it.
struct SessionOrigin {
    var folder: String?
    var scopes: DecisionScopes
    /// Gets the login sessions that an earlier version had noted.
    var logins: ([String]) -> Void = { _ in }
}

enum StoreOpening {
    /// Opens the file for reading on the loop and for the writer, and brings an older one to the present schema.
    static func open(_ path: String, _ origin: SessionOrigin, now: EpochSeconds) -> OpenedFile {
        var opened = OpenedFile()
        if let problem = prepareFolder(of: path) {
            opened.state = .readOnly(why: problem)
            return opened
        }
        opened.findings = StoreFiles.lookAt(path)
        // A second try after a damaged file was set aside.
        for attempt in 0...1 {
            do throws(DatabaseError) {
                let findings = opened.findings
                opened = try openOnce(path, origin)
                opened.findings = findings + opened.findings
                return opened
            } catch {
                if error.isDamage, attempt == 0, let finding = setAside(path, now) {
                    opened.findings.append(finding)
                    continue
                }
                opened.state = .readOnly(
                    why: "\(path) cannot be opened: \(StoreFiles.obstacle(path) ?? error.description)")
                return opened
            }
        }
        return opened
    }

    private static func openOnce(_ path: String, _ origin: SessionOrigin) throws(DatabaseError) -> OpenedFile {
        var opened = OpenedFile()
        do throws(DatabaseError) {
            let database = try configured(path)
            let older = OlderSession(folder: origin.folder, scopes: origin.scopes)
            let state = try Schema.current.migrate(database) { database throws(DatabaseError) in
                try older?.add(to: database)
            }
            if case .newer(let version) = state { return newer(path, version) }
            if let older {
                opened.findings += older.finding.map { [$0] } ?? []
                origin.logins(older.logins)
                OlderSession.remove(folder: origin.folder)
            }
            opened.database = database
            if database.isReadOnly { opened.state = .readOnly(why: "\(path) cannot be written: it is read-only") }
        } catch {
            guard [SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM].contains(error.code & 0xFF) else { throw error }
            // What is there can still be read.
            let (database, version) = try readable(path)
            if version > Schema.current.version { return newer(path, version) }
            guard version == Schema.current.version else { throw error }
            opened.database = database
            opened.state = .readOnly(
                why: "\(path) cannot be written: \(StoreFiles.obstacle(path) ?? error.description)")
        }
        // Damage in the first pages shows here rather than at somebody's request.
        _ = try opened.database?.integer("SELECT count(*) FROM sqlite_master")
        restrict(path)
        guard opened.state == .writable, let database = opened.database else { return opened }
        opened.identity = StoreIdentity(of: path)
        if opened.identity == nil || database.hasMoved { throw .loss(path) }
        return opened
    }

    /// A file that can be read, and its schema's version.
    private static func readable(_ path: String) throws(DatabaseError) -> (Database, Int64) {
        func opened(_ mode: DatabaseMode) throws(DatabaseError) -> (Database, Int64) {
            let database = try Database(path: path, mode)
            return (database, try database.integer("PRAGMA user_version") ?? 0)
        }
        do throws(DatabaseError) { return try opened(.reading) } catch {
            // A file in WAL mode takes files beside it, which a permd that ended well has removed. Never past a log that
            // says something: without it, what was taken back would hold again.
            guard [SQLITE_READONLY, SQLITE_CANTOPEN].contains(error.code & 0xFF), StoreFiles.isWhole(path) else {
                throw error
            }
            return try opened(.unchanging)
        }
    }

    static func configured(_ path: String) throws(DatabaseError) -> Database {
        let database = try Database(path: path)
        try database.run("PRAGMA journal_mode = WAL")
        try database.execute("PRAGMA synchronous = FULL")
        return database
    }

    private static func newer(_ path: String, _ version: Int64) -> OpenedFile {
        let why =
            "\(path) was written by a newer permd (schema \(version), this one knows \(Schema.current.version)); it is left untouched: install the newer permd again"
        return OpenedFile(state: .newer(why: why))
    }

    /// Moves a damaged file out of the way; what to tell, nil when it cannot be moved.
    static func setAside(_ path: String, _ now: EpochSeconds) -> String? {
        let target = freeName(path, "damaged", now)
        guard rename(path, target) == 0 else { return nil }
        for suffix in ["-wal", "-shm"] { rename(path + suffix, target + suffix) }
        return "the store was damaged and is set aside as \(target); what it held is unknown now, apps ask again"
    }

    /// A name beside the file that nothing has yet.
    static func freeName(_ path: String, _ why: String, _ now: EpochSeconds) -> String {
        var target = "\(path).\(why)-\(now)"
        var count = 0
        while StoreIdentity.File(target) != nil {
            count += 1
            target = "\(path).\(why)-\(now)-\(count)"
        }
        return target
    }

    static func folder(of path: String) -> String { String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]) }

    /// Makes the folder, 0700 and ours; a sentence when that is impossible.
    static func prepareFolder(of path: String) -> String? {
        let folder = folder(of: path)
        if let problem = makeFolders(folder) { return problem }
        var status = stat()
        guard lstat(folder, &status) == 0 else { return "\(folder) cannot be looked at: \(errorText())" }
        guard status.st_mode & S_IFMT == S_IFDIR else { return "\(folder) is no folder" }
        guard status.st_uid == geteuid() else { return "\(folder) belongs to somebody else" }
        if status.st_mode & 0o077 != 0 { chmod(folder, 0o700) }
        return nil
    }

    private static func makeFolders(_ folder: String) -> String? {
        var path = ""
        for part in folder.split(separator: "/") {
            path += "/" + part
            if mkdir(path, 0o700) != 0, errno != EEXIST {
                // A parent we may pass but not write (read-only, not ours) is there all the same.
                let error = errno
                if access(path, F_OK) != 0 { return "\(path) cannot be made: \(String(cString: strerror(error)))" }
            }
        }
        return nil
    }

    private static func restrict(_ path: String) {
        for suffix in ["", "-wal", "-shm"] { chmod(path + suffix, 0o600) }
    }

    private static func errorText() -> String { String(cString: strerror(errno)) }
}

extension StorePaths {
    /// Where the XDG Base Directory specification puts them.
    public static func standard() -> StorePaths {
        func variable(_ name: String) -> String? {
            getenv(name).map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        let home = variable("HOME") ?? getpwuid(getuid()).map { String(cString: $0.pointee.pw_dir) } ?? "/"
        let state = variable("XDG_STATE_HOME") ?? home + "/.local/state"
        return StorePaths(state: state + "/permd", session: variable("XDG_RUNTIME_DIR").map { $0 + "/permd" })
    }
}

/// The kernel's name for this boot.
public enum BootID {
    public static func current() -> String {
        guard let file = fopen("/proc/sys/kernel/random/boot_id", "re") else { return "" }
        defer { fclose(file) }
        var bytes = [CChar](repeating: 0, count: 64)
        guard fgets(&bytes, Int32(bytes.count), file) != nil else { return "" }
        return String(decoding: bytes.prefix { $0 > 32 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
