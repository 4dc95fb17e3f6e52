// What SQLite passes over in silence when it opens its files, and a person should know: an emptied file, a broken log.

import CLinux
import Glibc

/// Looks at the files before they are opened (sqlite.org/fileformat2.html, "The Write-Ahead Log").
enum StoreFiles {
    private static let headerSize = 32
    private static let frameHeaderSize = 24

    /// What SQLite keeps beside a database, or an older program kept.
    static let besides = ["-wal", "-shm", "-journal"]

    /// What stands in the place of a file and is none: a link, a FIFO, a folder. SQLite's own words for it say little.
    static func obstacle(_ path: String) -> String? {
        for name in [path] + besides.map({ path + $0 }) {
            var status = stat()
            guard lstat(name, &status) == 0, status.st_mode & S_IFMT != S_IFREG else { continue }
            let kind =
                switch status.st_mode & S_IFMT {
                case S_IFIFO: "a FIFO"
                case S_IFDIR: "a folder"
                case S_IFLNK: "a symbolic link"
                default: "a device or a socket"
                }
            return "\(name) is \(kind), where a regular file belongs; move it away"
        }
        return nil
    }

    /// Sentences; none when all is well.
    static func lookAt(_ path: String) -> [String] {
        var status = stat()
        guard stat(path, &status) == 0 else { return [] }
        if status.st_size == 0 {
            return ["\(path) was empty; what it held is unknown now, apps ask again"]
        }
        guard let log = read(path + "-wal"), isBroken(log) else { return [] }
        return ["a part of \(path)-wal is damaged and left out; the last decisions may be unknown now, apps ask again"]
    }

    /// Whether everything that was written is in the file itself, nothing in a log beside it.
    static func isWhole(_ path: String) -> Bool {
        ["-wal", "-journal"].allSatisfy { suffix in
            var status = stat()
            guard lstat(path + suffix, &status) == 0 else { return errno == ENOENT }
            return status.st_mode & S_IFMT == S_IFREG && status.st_size == 0
        }
    }

    /// Whether frames of this log are behind one that does not fit: SQLite leaves out all of them. What an earlier round
    /// of the log left at its end has another salt, and is no damage.
    static func isBroken(_ log: [UInt8]) -> Bool {
        // Not yet begun.
        guard !log.isEmpty else { return false }
        guard log.count >= headerSize else { return true }
        let magic = word(log, 0)
        guard magic & ~1 == 0x377F_0682 else { return true }
        let isBigEndian = magic & 1 == 1
        var sum = checksum(log[0..<24], (0, 0), isBigEndian)
        guard sum == (word(log, 24), word(log, 28)) else { return true }
        let pageSize = Int(word(log, 8))
        guard pageSize >= 512, pageSize <= 65536 else { return true }
        let salt = log[16..<24]
        var offset = headerSize
        var fits = true
        while offset + frameHeaderSize <= log.count {
            let end = offset + frameHeaderSize + pageSize
            let isOurs = log[offset + 8..<offset + 16].elementsEqual(salt)
            if fits {
                guard isOurs, end <= log.count else {
                    if isOurs { return true }
                    fits = false
                    continue
                }
                sum = checksum(log[offset..<offset + 8], sum, isBigEndian)
                sum = checksum(log[offset + frameHeaderSize..<end], sum, isBigEndian)
                if sum != (word(log, offset + 16), word(log, offset + 20)) { return true }
            } else if isOurs {
                return true
            }
            offset = end
        }
        // A frame that was cut within its header.
        return fits && offset < log.count
    }

    private static func word(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
        bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func checksum(
        _ bytes: ArraySlice<UInt8>, _ start: (UInt32, UInt32), _ isBigEndian: Bool
    ) -> (UInt32, UInt32) {
        bytes.withUnsafeBytes { bytes in
            var (first, second) = start
            for offset in stride(from: 0, to: bytes.count - 7, by: 8) {
                let a = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
                let b = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
                first = first &+ (isBigEndian ? a.bigEndian : a.littleEndian) &+ second
                second = second &+ (isBigEndian ? b.bigEndian : b.littleEndian) &+ first
            }
            return (first, second)
        }
    }

    /// The log is there after a crash only, and bounded by SQLite's checkpoints.
    private static func read(_ path: String) -> [UInt8]? {
        let fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard fd >= 0 else { return nil }
        defer { close(fd) }
        var status = stat()
        guard fstat(fd, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0, status.st_size < 64 << 20
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        let count = pread(fd, &bytes, bytes.count, 0)
        return count < 0 ? nil : Array(bytes.prefix(count))
    }
}
