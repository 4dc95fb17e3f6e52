// A checksum over the other columns of a row detects rows changed by a failing disk. SQLite has checksums only in its
// write-ahead log. This detects accidents, not attacks: a program that may write the file can compute it.

import PermissionModel

enum RowChecksum {
    /// FNV-1a over the fields, each with its type and length. NULLs at the end are skipped, so that a column added
    /// later does not change the checksums of older rows.
    static func of(_ fields: [SQLValue]) -> SQLValue {
        var hash = FNV1a()
        var count = fields.count
        while count > 0, case .null = fields[count - 1] { count -= 1 }
        for field in fields[..<count] {
            switch field {
            case .null: hash.add(CollectionOfOne(0))
            case .integer(let number):
                hash.add(CollectionOfOne(1))
                hash.add(UInt64(bitPattern: number))
            case .text(let text):
                hash.add(CollectionOfOne(2))
                hash.add(UInt64(text.utf8.count))
                hash.add(text.utf8)
            }
        }
        return .integer(Int64(bitPattern: hash.value))
    }
}

/// The 64-bit FNV-1a hash (RFC 9923).
struct FNV1a {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    }

    /// Adds eight bytes, the lowest first.
    mutating func add(_ number: UInt64) { add((0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }) }
}
