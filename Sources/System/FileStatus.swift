// What a name in a folder stands for (lstat(2)): links are not followed.

import Glibc

package struct FileStatus: Sendable, Equatable {
    package let device: UInt64
    package let inode: UInt64
    /// One of `S_IFREG`, `S_IFDIR`, `S_IFLNK` and so on.
    package let kind: UInt32
    /// The bits that chmod(2) sets.
    package let mode: UInt32
    /// The ID of the user that owns it.
    package let owner: UInt32
    /// In bytes.
    package let size: Int64

    /// Returns nil if there is none, with the reason in errno.
    package init?(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        kind = status.st_mode & S_IFMT
        mode = status.st_mode & 0o7777
        owner = status.st_uid
        size = Int64(status.st_size)
    }

    /// The kind in words, with an article.
    package var kindName: String {
        switch kind {
        case S_IFREG: "a regular file"
        case S_IFIFO: "a FIFO"
        case S_IFSOCK: "a socket"
        case S_IFDIR: "a folder"
        case S_IFLNK: "a symbolic link"
        default: "a device"
        }
    }
}
