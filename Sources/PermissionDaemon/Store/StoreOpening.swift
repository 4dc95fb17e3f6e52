// Opens the store's file: creates folders, sets modes, and sets a damaged file aside.

import CLinux
import CSQLite
import DBus
import Glibc
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

enum StoreOpening {
    static func open(_ path: String) -> OpenedFile {
        if let problem = prepareFolder(of: path) { return OpenedFile(state: .readOnly(why: problem)) }
        var opened = OpenedFile()
        var findings: [String] = []
        if FileStatus(path)?.size == 0 {
            findings.append("\(path) was empty; its former content is unknown now, so apps ask again")
        }
        do throws(DatabaseError) {
            do throws(DatabaseError) { opened = try openOnce(path) } catch {
                guard error.isDamage, let finding = setAside(path) else { throw error }
                findings.append(finding)
                opened = try openOnce(path)
            }
        } catch {
            opened.state = .readOnly(why: "\(path) cannot be opened: \(obstacle(path) ?? error.description)")
        }
        opened.findings = findings
        return opened
    }

    private static func openOnce(_ path: String) throws(DatabaseError) -> OpenedFile {
        var opened = OpenedFile()
        do throws(DatabaseError) {
            let database = try configured(path)
            let version = try Schema.current.migrate(database)
            if version > Schema.current.version { return newer(path, version) }
            opened.database = database
            if database.isReadOnly { opened.state = .readOnly(why: "\(path) cannot be written: it is read-only") }
        } catch {
            guard [SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM].contains(error.code & 0xFF) else { throw error }
            // The existing file can still be read.
            let database = try Database(path: path, isReadOnly: true)
            let version = try Schema.version(of: database)
            if version > Schema.current.version { return newer(path, version) }
            guard version == Schema.current.version else { throw error }
            opened.database = database
            opened.state = .readOnly(why: "\(path) cannot be written: \(obstacle(path) ?? error.description)")
        }
        // Damage in the first pages is detected here rather than during a request.
        _ = try opened.database?.integer("SELECT count(*) FROM sqlite_master")
        for suffix in StoreIdentity.suffixes { chmod(path + suffix, 0o600) }
        guard opened.state == .writable, let database = opened.database else { return opened }
        opened.identity = StoreIdentity(of: path)
        if opened.identity == nil || database.hasMoved { throw .loss(path) }
        return opened
    }

    private static func configured(_ path: String) throws(DatabaseError) -> Database {
        let database = try Database(path: path)
        try database.run("PRAGMA journal_mode = WAL")
        try database.execute("PRAGMA synchronous = FULL")
        database.keepFilesBeside()
        return database
    }

    private static func newer(_ path: String, _ version: Int64) -> OpenedFile {
        let why =
            "\(path) was written by a newer permd (schema \(version), this one knows \(Schema.current.version)); it is left untouched: install the newer permd again"
        return OpenedFile(state: .readOnly(why: why))
    }

    /// Describes what is in the place of a file: a link, a FIFO, a folder. SQLite's own message is less specific.
    private static func obstacle(_ path: String) -> String? {
        for name in [path, path + "-wal", path + "-shm", path + "-journal"] {
            guard let status = FileStatus(name), status.kind != S_IFREG else { continue }
            return "\(name) is \(status.kindName) instead of a regular file; move it away"
        }
        return nil
    }

    /// Moves a damaged file aside. Returns the message to report, or nil if the file cannot be moved.
    static func setAside(_ path: String) -> String? {
        let target = "\(path).damaged-\(Loop.nanoseconds(of: CLOCK_REALTIME))"
        guard rename(path, target) == 0 else { return nil }
        for suffix in StoreIdentity.suffixes.dropFirst() { rename(path + suffix, target + suffix) }
        return "the store was damaged and is set aside as \(target); its content is unknown now, so apps ask again"
    }

    // MARK: Folders

    static func folder(of path: String) -> String { String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]) }

    /// Creates the folder, with mode 0700 and owned by the user. Returns a sentence if that is impossible.
    static func prepareFolder(of path: String) -> String? {
        let folder = folder(of: path)
        if let problem = makeFolders(folder) { return problem }
        guard let status = FileStatus(folder) else { return "\(folder) cannot be accessed: \(errorText())" }
        guard status.kind == S_IFDIR else { return "\(folder) is not a folder" }
        guard status.owner == geteuid() else { return "\(folder) belongs to another user" }
        if status.mode & 0o077 != 0 { chmod(folder, 0o700) }
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
