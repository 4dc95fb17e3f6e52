// Identifies the files that the store has open, to notice when they are not those at their path.
//
// SQLite keeps using files that were deleted, moved or replaced; what it writes then is not in the files at the path.

import Glibc
import System

/// The files of an open database in WAL mode, by device and inode number, which is not reused while the file is open. A
/// replaced folder is detected because its files differ. Opens no file: closing a descriptor of the database would
/// release SQLite's locks on it.
struct StoreIdentity: Sendable {
    /// Suffixes of the database, its log and the memory that its connections share, which an exclusive one has not.
    static let suffixes = ["", "-wal", "-shm"]

    private let files: [FileStatus]

    /// The first of these files at the path now; nil if one is missing or is not a regular file.
    init?(of path: String, count: Int) {
        files = StoreIdentity.suffixes.prefix(count).compactMap { FileStatus(path + $0) }.filter { $0.kind == S_IFREG }
        guard files.count == count else { return nil }
    }

    /// The same files at the path now.
    func again(at path: String) -> StoreIdentity? { StoreIdentity(of: path, count: files.count) }

    func continues(_ earlier: StoreIdentity) -> Bool {
        zip(files, earlier.files).allSatisfy { $0.continues($1) }
    }
}

extension FileStatus {
    /// Whether this is the same file, and it was not truncated: no file of the store gets shorter while it is open.
    fileprivate func continues(_ earlier: FileStatus) -> Bool {
        device == earlier.device && inode == earlier.inode && kind == earlier.kind && size >= earlier.size
    }
}
