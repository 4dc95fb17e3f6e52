// Identifies the files that the store has open, to notice when they are not those at their path.
//
// SQLite keeps using files that were deleted, moved or replaced; what it writes then is not in the files at the path.

import Glibc
import System

/// The files of an open database in WAL mode, by device and inode number, which is not reused while the file is open. A
/// replaced folder is detected because its files differ. Opens no file: closing a descriptor of the database would
/// release SQLite's locks on it.
struct StoreIdentity: Sendable {
    /// Suffixes of the database, its log and the memory that its connections share.
    static let suffixes = ["", "-wal", "-shm"]

    private let files: [FileStatus]

    /// The files at the path now; nil if one is missing or is not a regular file.
    init?(of path: String) {
        files = StoreIdentity.suffixes.compactMap { FileStatus(path + $0) }.filter { $0.kind == S_IFREG }
        guard files.count == StoreIdentity.suffixes.count else { return nil }
    }

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
