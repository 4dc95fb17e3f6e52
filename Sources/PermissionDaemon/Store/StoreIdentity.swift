// Which files a store's connections have open, so that it is noticed when others, or none, are at their path.
//
// SQLite goes on with files that were deleted, moved or replaced: what is written then is in no file that anybody finds.

import CLinux
import Glibc

/// The files of an open database in WAL mode, by device and inode, which the open files keep from being used again. A
/// folder that is another one has other files. Never opens anything: closing a descriptor of the database would give up
/// SQLite's locks on it.
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

    /// The files SQLite keeps beside an open database: its log, and what its connections share.
    static let suffixes = ["", "-wal", "-shm"]

    private let files: [File]
    /// In bytes. None gets shorter while it is open.
    private let sizes: [Int64]

    /// What is at the path now; nil when a part is missing or is no regular file.
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

    /// Whether these are the same files, and none was cut.
    func goesOn(from earlier: StoreIdentity) -> Bool {
        files == earlier.files && zip(sizes, earlier.sizes).allSatisfy { $0 >= $1 }
    }

    /// Whether what stands at a path is the file that is open as its `suffix`.
    func isOpen(_ suffix: String, at path: String) -> Bool {
        guard let index = StoreIdentity.suffixes.firstIndex(of: suffix) else { return false }
        return File(path + suffix) == files[index]
    }
}
