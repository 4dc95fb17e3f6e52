// Opens the store: creates folders, sets modes, and handles files that are damaged or have a newer schema.

import CLinux
import CSQLite
import Glibc
import PermissionCore
import PermissionModel
import System

struct OpenedFile {
    var database: Database?
    /// The open files; nil if they cannot be written.
    var identity: StoreIdentity?
    /// Writable exactly if `database` and `identity` are set.
    var state = StoreState.writable
    /// Problems to report, as sentences.
    var findings: [String] = []
}

/// The session that permd continues, and the folder in which earlier versions stored its decisions.
struct SessionOrigin {
    var folder: String?
    var scopes: DecisionScopes
    /// Receives the login sessions that an earlier version had stored.
    var logins: ([String]) -> Void = { _ in }
}

enum StoreOpening {
    /// Opens the file for reading on the loop and for the writer, and migrates an older one.
    static func open(_ path: String, _ origin: SessionOrigin, now: EpochSeconds) -> OpenedFile {
        if let problem = prepareFolder(of: path) { return OpenedFile(state: .readOnly(why: problem)) }
        var opened = OpenedFile()
        var findings = StoreFiles.lookAt(path)
        do throws(DatabaseError) {
            do throws(DatabaseError) { opened = try openOnce(path, origin) } catch {
                guard error.isDamage, let finding = setAside(path, now) else { throw error }
                findings.append(finding)
                opened = try openOnce(path, origin)
            }
        } catch {
            opened.state = .readOnly(
                why: "\(path) cannot be opened: \(StoreFiles.obstacle(path) ?? error.description)")
        }
        opened.findings = findings + opened.findings
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
            // The existing file can still be read.
            let (database, version) = try readable(path)
            if version > Schema.current.version { return newer(path, version) }
            guard version == Schema.current.version else { throw error }
            opened.database = database
            opened.state = .readOnly(
                why: "\(path) cannot be written: \(StoreFiles.obstacle(path) ?? error.description)")
        }
        // Damage in the first pages is detected here rather than during a request.
        _ = try opened.database?.integer("SELECT count(*) FROM sqlite_master")
        for suffix in StoreIdentity.suffixes { chmod(path + suffix, 0o600) }
        guard opened.state == .writable, let database = opened.database else { return opened }
        opened.identity = StoreIdentity(of: path)
        if opened.identity == nil || database.hasMoved { throw .loss(path) }
        return opened
    }

    /// Opens a file for reading, and returns the version of its schema.
    private static func readable(_ path: String) throws(DatabaseError) -> (Database, Int64) {
        func opened(_ mode: DatabaseMode) throws(DatabaseError) -> (Database, Int64) {
            let database = try Database(path: path, mode)
            return (database, try database.integer("PRAGMA user_version") ?? 0)
        }
        do throws(DatabaseError) { return try opened(.reading) } catch {
            // A file in WAL mode needs files beside it, which permd has removed if it exited cleanly. Never ignore a
            // log that has content: revoked decisions would hold again.
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

    /// Moves a damaged file aside. Returns the message to report, or nil if the file cannot be moved.
    static func setAside(_ path: String, _ now: EpochSeconds) -> String? {
        let target = freeName(path, "damaged", now)
        guard rename(path, target) == 0 else { return nil }
        for suffix in StoreIdentity.suffixes.dropFirst() { rename(path + suffix, target + suffix) }
        return "the store was damaged and is set aside as \(target); its content is unknown now, so apps ask again"
    }

    /// A name beside the file that is not in use.
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

    /// Creates the folder, with mode 0700 and owned by the user. Returns a sentence if that is impossible.
    static func prepareFolder(of path: String) -> String? {
        let folder = folder(of: path)
        if let problem = makeFolders(folder) { return problem }
        guard let status = stat(linkAt: folder) else { return "\(folder) cannot be accessed: \(errorText())" }
        guard status.kind == S_IFDIR else { return "\(folder) is not a folder" }
        guard status.st_uid == geteuid() else { return "\(folder) belongs to another user" }
        if status.st_mode & 0o077 != 0 { chmod(folder, 0o700) }
        return nil
    }

    private static func makeFolders(_ folder: String) -> String? {
        var path = ""
        for part in folder.split(separator: "/") {
            path += "/" + part
            if mkdir(path, 0o700) != 0, errno != EEXIST {
                // A parent folder that permd cannot write (read-only, or owned by another user) may exist nevertheless.
                let error = errno
                if access(path, F_OK) != 0 { return "\(path) cannot be created: \(errorText(error))" }
            }
        }
        return nil
    }
}

extension StorePaths {
    /// The locations of the XDG Base Directory specification.
    static func standard() -> StorePaths {
        func variable(_ name: String) -> String? {
            getenv(name).map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        let home = variable("HOME") ?? getpwuid(getuid()).map { String(cString: $0.pointee.pw_dir) } ?? "/"
        let state = variable("XDG_STATE_HOME") ?? home + "/.local/state"
        return StorePaths(state: state + "/permd", session: variable("XDG_RUNTIME_DIR").map { $0 + "/permd" })
    }
}

/// The kernel's ID of this boot.
enum BootID {
    static func current() -> String {
        let text = try? RegularFile.read("/proc/sys/kernel/random/boot_id", maximum: 64)
        return String(decoding: (text ?? []).prefix { $0 > UInt8(ascii: " ") }, as: UTF8.self)
    }
}
