// Identifies the files that the store's connections have open, to detect when they are not those at their path.
//
// SQLite keeps using files that were deleted, moved or replaced; what it writes then is not in the files at the path.

import CLinux
import Glibc
import System

/// The files of an open database in WAL mode, by device and inode number, which is not reused while the file is open. A
/// replaced folder is detected because its files differ. Opens no file: closing a descriptor of the database would
/// release SQLite's locks on it.
struct StoreIdentity: Sendable {
    struct File: Sendable, Equatable {
        let device: UInt64
        let inode: UInt64
        let kind: UInt32

        init?(_ path: String) {
            guard let status = stat(linkAt: path) else { return nil }
            self.init(status)
        }

        fileprivate init(_ status: stat) {
            device = UInt64(status.st_dev)
            inode = UInt64(status.st_ino)
            kind = status.kind
        }
    }

    /// Suffixes of the database, its log and the memory that its connections share.
    static let suffixes = ["", "-wal", "-shm"]

    private let files: [File]
    /// In bytes. No file gets shorter while it is open.
    private let sizes: [Int64]

    /// The files at the path now; nil if one is missing or is not a regular file.
    init?(of path: String) {
        let found = StoreIdentity.suffixes.compactMap { stat(linkAt: path + $0) }.filter { $0.kind == S_IFREG }
        guard found.count == StoreIdentity.suffixes.count else { return nil }
        files = found.map { File($0) }
        sizes = found.map { Int64($0.st_size) }
    }

    /// Whether these are the same files and none was truncated.
    func goesOn(from earlier: StoreIdentity) -> Bool {
        files == earlier.files && zip(sizes, earlier.sizes).allSatisfy { $0 >= $1 }
    }

    /// Whether the file at a path is the one that is open as its `suffix`.
    func isOpen(_ suffix: String, at path: String) -> Bool {
        guard let index = StoreIdentity.suffixes.firstIndex(of: suffix) else { return false }
        return File(path + suffix) == files[index]
    }
}
