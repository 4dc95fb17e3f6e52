// Identifies the files that the store's connections have open, to detect when they are not those at their path.
//
// SQLite keeps using files that were deleted, moved or replaced; what it writes then is not in the files at the path.

import CLinux
import Glibc

/// The files of an open database in WAL mode, by device and inode number, which is not reused while the file is open. A
/// replaced folder is detected because its files differ. Opens no file: closing a descriptor of the database would
/// release SQLite's locks on it.
struct StoreIdentity: Sendable {
    struct File: Sendable, Equatable {
        let device: UInt64
        let inode: UInt64
        let kind: UInt32

        init?(_ path: String) {
            var size: Int64 = 0
            self.init(path, &size)
        }

        fileprivate init?(_ path: String, _ size: inout Int64) {
            var status = stat()
            guard lstat(path, &status) == 0 else { return nil }
            size = Int64(status.st_size)
            device = UInt64(status.st_dev)
            inode = UInt64(status.st_ino)
            kind = status.st_mode & S_IFMT
        }
    }

    /// Suffixes of the database, its log and the memory that its connections share.
    static let suffixes = ["", "-wal", "-shm"]

    private let files: [File]
    /// In bytes. No file gets shorter while it is open.
    private let sizes: [Int64]

    /// The files at the path now; nil if one is missing or is not a regular file.
    init?(of path: String) {
        var files: [File] = []
        var sizes: [Int64] = []
        for suffix in StoreIdentity.suffixes {
            var size: Int64 = 0
            guard let file = File(path + suffix, &size), file.kind == S_IFREG else { return nil }
            files.append(file)
            sizes.append(size)
        }
        self.files = files
        self.sizes = sizes
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
