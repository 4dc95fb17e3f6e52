// Writes a database again whose files were taken away: SQLite's connection has them open still, and all they held.

import CLinux
import Glibc
import PermissionModel

enum StoreReplacing {
    /// Puts a whole copy of what `database` has open at its path. What somebody else put there is set aside. Returns what
    /// to tell a person. Until it has returned, no other connection may write to the database.
    static func putBack(
        _ database: Database, identity: StoreIdentity, _ now: EpochSeconds
    ) throws(DatabaseError) -> String {
        let path = database.path
        if let problem = StoreOpening.prepareFolder(of: path) {
            throw DatabaseError(code: DatabaseError.cannotOpen, description: problem)
        }
        let copy = path + ".new"
        // Left behind by a daemon that was killed here.
        if StoreIdentity.File(copy)?.kind == S_IFREG { unlink(copy) }
        try setAside(copy, now)
        try database.execute(
            "VACUUM INTO '\(copy.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''"))'")
        try check(chmod(copy, 0o600), copy)
        try sync(copy)
        var others: [String] = []
        for suffix in [""] + StoreFiles.besides {
            // A log of the old file would be read into the copy.
            if identity.isOpen(suffix, at: path) {
                if !suffix.isEmpty { unlink(path + suffix) }
            } else if let other = try setAside(path + suffix, now) {
                others.append(other)
            }
        }
        try check(rename(copy, path), path)
        try sync(StoreOpening.folder(of: path))
        let found = others.isEmpty ? "" : "; what was there instead is now \(others.joined(separator: ", "))"
        return "\(path), or a file beside it, was deleted or replaced while permd ran; it was written again\(found)"
    }

    /// Renames whatever stands there; its new name.
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
        throw DatabaseError(
            code: DatabaseError.cannotOpen, description: "\(path): \(String(cString: strerror(errno)))")
    }
}
