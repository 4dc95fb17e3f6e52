// Writes a deleted or replaced database again: SQLite's connection still has its files open, with all content.

import CLinux
import Glibc
import PermissionModel
import System

enum StoreReplacing {
    /// Writes a complete copy of the open `database` to its path. Files that another program put there are moved aside.
    /// Returns the message to report. No other connection may write to the database before it has returned.
    static func putBack(
        _ database: Database, identity: StoreIdentity, _ now: EpochSeconds
    ) throws(DatabaseError) -> String {
        let path = database.path
        if let problem = StoreOpening.prepareFolder(of: path) {
            throw DatabaseError(code: DatabaseError.cannotOpen, description: problem)
        }
        let copy = path + ".new"
        // Left behind by a daemon that was killed at this point.
        if StoreIdentity.File(copy)?.kind == S_IFREG { unlink(copy) }
        try setAside(copy, now)
        try database.execute(
            "VACUUM INTO '\(copy.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''"))'")
        try check(chmod(copy, 0o600), copy)
        try sync(copy)
        var others: [String] = []
        for suffix in [""] + StoreFiles.besides {
            // SQLite would apply a log of the old file to the copy.
            if identity.isOpen(suffix, at: path) {
                if !suffix.isEmpty { unlink(path + suffix) }
            } else if let other = try setAside(path + suffix, now) {
                others.append(other)
            }
        }
        try check(rename(copy, path), path)
        try sync(StoreOpening.folder(of: path))
        let found = others.isEmpty ? "" : "; the files found in their place are now \(others.joined(separator: ", "))"
        return "\(path), or a file beside it, was deleted or replaced while permd ran; it was written again\(found)"
    }

    /// Renames the file at the path, if any. Returns its new name.
    @discardableResult
    private static func setAside(_ path: String, _ now: EpochSeconds) throws(DatabaseError) -> String? {
        guard StoreIdentity.File(path) != nil else { return nil }
        let target = StoreOpening.freeName(path, "replaced", now)
        try check(rename(path, target), path)
        return target
    }

    private static func sync(_ path: String) throws(DatabaseError) {
        let fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        try check(fd < 0 ? -1 : 0, path)
        defer { close(fd) }
        try check(fsync(fd), path)
    }

    private static func check(_ result: Int32, _ path: String) throws(DatabaseError) {
        guard result != 0 else { return }
        throw DatabaseError(code: DatabaseError.cannotOpen, description: "\(path): \(errorText())")
    }
}
