// Damage that SQLite ignores without an error: its write-ahead logs, truncated or with a bit flipped in each frame.

import Foundation
import Glibc
import PermissionTestKit
import Testing

@testable import PermissionDaemon

struct StoreFilesTests {
    private let folder = try! TemporaryFolder()
    private static let header = 32
    private static let frame = 24 + 4096

    private var path: String { folder.file("a b%?#ö.db") }

    /// A log with several frames, and the connection that keeps it.
    private func log() throws -> (bytes: [UInt8], database: Database) {
        let database = try StoreOpening.configured(path)
        try database.execute("CREATE TABLE word (text TEXT)")
        for number in 0..<6 { try database.execute("INSERT INTO word VALUES (hex(zeroblob(\(number * 900))))") }
        return (try bytes(), database)
    }

    private func bytes() throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: path + "-wal"))) }

    @Test func intactLogs() throws {
        let (log, database) = try log()
        #expect(
            (log.count - StoreFilesTests.header) % StoreFilesTests.frame == 0 && log.count > 8 * StoreFilesTests.frame)
        #expect(!StoreFiles.isBroken(log) && !StoreFiles.isBroken([]))
        // A log that was restarted, with frames of the previous round at its end.
        try database.run("PRAGMA wal_checkpoint(RESTART)")
        try database.execute("INSERT INTO word VALUES ('again')")
        let again = try bytes()
        #expect(again.count == log.count && again[12..<24] != log[12..<24])
        #expect(!StoreFiles.isBroken(again))
        #expect(StoreFiles.lookAt(path).isEmpty)
    }

    @Test func truncatedLogs() throws {
        let (log, _) = try log()
        for end in stride(from: StoreFilesTests.header, through: log.count, by: StoreFilesTests.frame) {
            // A log that ends with a whole frame is intact.
            #expect(!StoreFiles.isBroken(Array(log[..<end])), "\(end)")
            for less in [1, 8, 30] { #expect(StoreFiles.isBroken(Array(log[..<(end - less)])), "\(end) - \(less)") }
            for more in [1, 23, 24, 25, 4096] where end + more < log.count {
                #expect(StoreFiles.isBroken(Array(log[..<(end + more)])), "\(end) + \(more)")
            }
        }
    }

    @Test func logsWithAFlippedBit() throws {
        let (log, _) = try log()
        func isBroken(_ offset: Int) -> Bool {
            var log = log
            log[offset] ^= 1 << UInt8(offset % 8)
            return StoreFiles.isBroken(log)
        }
        for offset in 0..<StoreFilesTests.header { #expect(isBroken(offset), "header, \(offset)") }
        for start in stride(from: StoreFilesTests.header, to: log.count, by: StoreFilesTests.frame) {
            let isLast = start + StoreFilesTests.frame == log.count
            for offset in 0..<24 {
                // With another salt in the last frame, the log seems to end before it.
                #expect(
                    isBroken(start + offset) != (isLast && (8..<16).contains(offset)), "frame at \(start), \(offset)")
            }
            for offset in stride(from: 24, to: StoreFilesTests.frame, by: 97) {
                #expect(isBroken(start + offset), "page at \(start), \(offset)")
            }
        }
    }

    @Test func filesOpenedAsUnchanging() throws {
        let (_, database) = try log()
        #expect(!StoreFiles.isWhole(path))
        try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
        #expect(StoreFiles.isWhole(path))
        for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
        let still = try Database(path: path, .unchanging)
        #expect(try still.integer("SELECT count(*) FROM word") == 6)
        #expect(still.isReadOnly)
        #expect(access(path + "-wal", F_OK) != 0 && access(path + "-shm", F_OK) != 0)
        #expect(Database.escaped("/a b/%ö?.db") == "/a%20b/%25%c3%b6%3f.db")
    }
}
