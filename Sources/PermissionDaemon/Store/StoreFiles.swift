// Reports what SQLite silently accepts when it opens its files: an emptied file, a damaged log.

import CLinux
import Glibc
import System

/// Checks the files before they are opened (sqlite.org/fileformat2.html, "The Write-Ahead Log").
enum StoreFiles {
    private static let headerSize = 32
    private static let frameHeaderSize = 24

    /// Suffixes of the files that SQLite keeps beside a database, or that an older program kept there.
    static let besides = ["-wal", "-shm", "-journal"]

    /// Describes what is in the place of a file: a link, a FIFO, a folder. SQLite's own message is less specific.
    static func obstacle(_ path: String) -> String? {
        for name in [path] + besides.map({ path + $0 }) {
            guard let status = stat(linkAt: name), status.kind != S_IFREG else { continue }
            return "\(name) is \(status.kindName) instead of a regular file; move it away"
        }
        return nil
    }

    /// Returns the problems as sentences.
    static func lookAt(_ path: String) -> [String] {
        var status = stat()
        guard stat(path, &status) == 0 else { return [] }
        if status.st_size == 0 {
            return ["\(path) was empty; its former content is unknown now, so apps ask again"]
        }
        // The log exists only after a crash, and SQLite's checkpoints bound its size.
        guard stat(linkAt: path + "-wal")?.kind == S_IFREG,
            let log = try? RegularFile.read(path + "-wal", maximum: 64 << 20), isBroken(log)
        else { return [] }
        return ["a part of \(path)-wal is damaged and left out; the last decisions may be unknown now"]
    }

    /// Whether all content is in the file itself and none in a log beside it.
    static func isWhole(_ path: String) -> Bool {
        ["-wal", "-journal"].allSatisfy { suffix in
            guard let status = stat(linkAt: path + suffix) else { return errno == ENOENT }
            return status.kind == S_IFREG && status.st_size == 0
        }
    }

    /// Whether the log has frames after one whose checksum does not match: SQLite ignores all of these. Frames from an
    /// earlier cycle of the log, which may follow the current ones, have another salt and are no damage.
    static func isBroken(_ log: [UInt8]) -> Bool {
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
        // The last frame is cut within its header.
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
}
