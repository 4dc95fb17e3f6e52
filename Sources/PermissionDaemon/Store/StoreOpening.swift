// Opens the store's file: creates folders and tables, and sets modes.

import CLinux
import CSQLite
import Glibc
import System

struct OpenedFile {
    let database: Database
    /// The open files; nil if they cannot be written, for this reason.
    let identity: StoreIdentity?
    let problem: String?
}

enum StoreOpening {
    static func open(_ path: String) throws(DatabaseError) -> OpenedFile {
        if let problem = prepareFolder(of: path) ?? obstacle(path) { throw .noFile(problem) }
        let (database, problem) = try openDatabase(resolved(path))
        // Damage in the first pages is detected here rather than during a request.
        _ = try database.integer("SELECT count(*) FROM sqlite_master")
        try checkVersion(of: database, path)
        for suffix in StoreIdentity.suffixes { chmod(path + suffix, 0o600) }
        if let problem { return OpenedFile(database: database, identity: nil, problem: problem) }
        let count = StoreIdentity.suffixes.count - (database.isExclusive ? 1 : 0)
        guard let identity = StoreIdentity(of: path, count: count), !database.hasMoved else { throw .loss(path) }
        return OpenedFile(database: database, identity: identity, problem: nil)
    }

    /// The path without links: SQLite refuses one in any part of it (SQLITE_OPEN_NOFOLLOW), such as that of a home on
    /// another disk.
    private static func resolved(_ path: String) throws(DatabaseError) -> String {
        guard let folder = realpath(folder(of: path), nil) else {
            throw .noFile("\(path) cannot be opened: \(errorText())")
        }
        defer { free(folder) }
        return String(cString: folder) + path.dropFirst(StoreOpening.folder(of: path).count)
    }

    /// Also returns why the file cannot be written, if it can only be read.
    private static func openDatabase(_ path: String) throws(DatabaseError) -> (Database, problem: String?) {
        do throws(DatabaseError) {
            let database = try configured(path)
            try Schema.current.migrate(database)
            return (database, database.isReadOnly ? "\(path) cannot be written: it is read-only" : nil)
        } catch {
            guard [SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM].contains(error.code & 0xFF) else { throw error }
            return (
                try Database(path: path, isReadOnly: true), "\(path) cannot be written: \(error.description)"
            )
        }
    }

    /// On a file system where processes cannot share memory, only one connection can use the log.
    private static func configured(_ path: String) throws(DatabaseError) -> Database {
        do throws(DatabaseError) { return try configured(path, isExclusive: false) } catch {
            guard error.lacksSharedMemory else { throw error }
            return try configured(path, isExclusive: true)
        }
    }

    private static func configured(_ path: String, isExclusive: Bool) throws(DatabaseError) -> Database {
        let database = try Database(path: path, isExclusive: isExclusive)
        let mode = try database.rows("PRAGMA journal_mode = WAL") { $0.text(0) }.first
        guard mode == "wal" else { throw .noLog(path) }
        try database.execute("PRAGMA synchronous = FULL; SELECT count(*) FROM sqlite_master")
        database.keepFilesBeside()
        return database
    }

    private static func checkVersion(of database: Database, _ path: String) throws(DatabaseError) {
        let (version, known) = (try Schema.version(of: database), Schema.current.version)
        if version > known {
            throw .noFile(
                "\(path) was written by a newer permd (schema \(version), this one knows \(known)); it is left untouched: install the newer permd again"
            )
        }
        if version < known { throw .noFile("\(path) was written by an older permd, and cannot be written") }
    }

    /// Describes what is in the place of a file: a link, a FIFO, a folder. SQLite's own message is less specific.
    private static func obstacle(_ path: String) -> String? {
        for name in [path, path + "-wal", path + "-shm", path + "-journal"] {
            guard let status = FileStatus(name), status.kind != S_IFREG else { continue }
            return "\(path) cannot be opened: \(name) is \(status.kindName) instead of a regular file; move it away"
        }
        return nil
    }

    // MARK: Folders

    static func folder(of path: String) -> String { String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]) }

    /// Creates the folder, with mode 0700 and owned by the user. Returns a sentence if that is impossible.
    static func prepareFolder(of path: String) -> String? {
        let folder = folder(of: path)
        if let link = foreignLink(in: folder) { return "\(link) is a symbolic link of another user; remove it" }
        if let problem = makeFolders(folder) { return problem }
        guard let target = realpath(folder, nil) else { return "\(folder) cannot be accessed: \(errorText())" }
        defer { free(target) }
        guard let status = FileStatus(String(cString: target)) else {
            return "\(folder) cannot be accessed: \(errorText())"
        }
        guard status.kind == S_IFDIR else { return "\(folder) is not a folder" }
        guard status.owner == geteuid() else { return "\(folder) belongs to another user" }
        if status.mode & 0o077 != 0 { chmod(folder, 0o700) }
        return nil
    }

    /// The kernel follows no more either (path_resolution(7)).
    private static let mostLinks = 40

    /// The first link on the way to a folder that belongs neither to the user nor to root: its owner could lead permd to
    /// another folder at any time.
    static func foreignLink(in folder: String, for user: uid_t = geteuid()) -> String? {
        var (path, links) = ("", 0)
        var rest = Array(folder.split(separator: "/").reversed())
        while let part = rest.popLast(), links <= mostLinks {
            if part == ".." { path = StoreOpening.folder(of: path) }
            guard part != "..", part != "." else { continue }
            path += "/\(part)"
            guard let status = FileStatus(path), status.kind == S_IFLNK else { continue }
            guard [0, user].contains(status.owner) else { return path }
            links += 1
            guard let target = readLink(path) else { return nil }
            path = target.hasPrefix("/") ? "" : StoreOpening.folder(of: path)
            rest += target.split(separator: "/").reversed()
        }
        return nil
    }

    private static func readLink(_ path: String) -> String? {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = bytes.withUnsafeMutableBytes {
            readlink(path, $0.bindMemory(to: CChar.self).baseAddress!, $0.count)
        }
        return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
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
