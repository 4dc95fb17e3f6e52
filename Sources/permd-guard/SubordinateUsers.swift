// The users that accounts may give away in user namespaces (subuid(5)). What runs as one of them, also outside of any
// namespace, which a program that an account has made setuid can bring about, is that account's.

import CGuard
import Glibc
import Logging
import System

/// Users whose IDs begin with the same bits; `guard_prefix` in bpf/guard.h.
struct UserPrefix: Hashable, BitwiseCopyable {
    let length: UInt32
    /// Big-endian.
    let user: UInt32
}

enum SubordinateUsers {
    /// The blocks of as many ranges have a place in the kernel's table. More accounts than use one machine.
    private static let mostRanges = 2048

    /// The accounts to which subordinate users belong. Of an account that this machine does not list itself, they are
    /// `GUARD_NOBODY`'s, so that they are refused.
    static func read(_ log: Logger) -> [UserPrefix: UInt32] {
        func text(_ path: String) -> String {
            String(decoding: (try? RegularFile.read(path, maximum: 1 << 20)) ?? [], as: UTF8.self)
        }
        let ranges = text("/etc/subuid")
        if ranges.split(separator: "\n").count > mostRanges {
            log.error("/etc/subuid has more than \(mostRanges) lines; programs of the users in the others pass unasked")
        }
        return owners(ranges, accounts: text("/etc/passwd"))
    }

    /// - Parameters:
    ///   - ranges: The text of subuid(5).
    ///   - accounts: That of passwd(5). Network services are not asked, since they may not answer.
    static func owners(_ ranges: String, accounts: String) -> [UserPrefix: UInt32] {
        var users: [Substring: UInt32] = [:]
        for line in accounts.split(separator: "\n") {
            let fields = line.split(separator: ":", omittingEmptySubsequences: false)
            if fields.count > 2, let user = UInt32(fields[2]), users[fields[0]] == nil { users[fields[0]] = user }
        }
        var found: [UserPrefix: UInt32] = [:]
        for line in ranges.split(separator: "\n").prefix(mostRanges) {
            let fields = line.split(separator: ":", omittingEmptySubsequences: false)
            guard fields.count == 3, let first = UInt32(fields[1]), let count = UInt32(fields[2]) else { continue }
            let owner = UInt32(fields[0]) ?? users[fields[0]] ?? GUARD_NOBODY
            for prefix in prefixes(from: first, count: count) { found[prefix] = owner }
        }
        return found
    }

    /// The largest blocks that make up a range.
    static func prefixes(from first: UInt32, count: UInt32) -> [UserPrefix] {
        var (next, end) = (UInt64(first), UInt64(first) + UInt64(count))
        end = min(end, 1 << 32)
        var found: [UserPrefix] = []
        while next < end {
            let bits = min(next.trailingZeroBitCount, (end - next).bitWidth - 1 - (end - next).leadingZeroBitCount, 32)
            found.append(UserPrefix(length: UInt32(32 - bits), user: UInt32(next).bigEndian))
            next += 1 << UInt64(bits)
        }
        return found
    }
}
