// A checksum over the other columns of a row detects rows changed by a failing disk. SQLite has checksums only in its
// write-ahead log. This detects accidents, not attacks: a program that may write the file can compute it.

/// FNV-1a over the fields, each with its type and length.
struct RowChecksum {
    private var hash = FNV1a()
    /// NULLs that no other field has followed yet. Those at the end are skipped, so that a column added later does not
    /// change the checksums of older rows.
    private var nulls = 0

    static func of(_ fields: [SQLValue]) -> Int64 {
        var sum = RowChecksum()
        for field in fields {
            switch field {
            case .null: sum.nulls += 1
            case .integer(let number): sum.add(number)
            case .text(var text): text.withUTF8 { sum.add($0) }
            }
        }
        return sum.value
    }

    /// The checksum of the first columns of a row, which are not copied.
    static func of(_ row: Statement, columns: Int32) -> Int64 {
        var sum = RowChecksum()
        for column in 0..<columns {
            switch row.type(column) {
            case .null: sum.nulls += 1
            case .integer: sum.add(row.integer(column))
            case .text: row.withText(column) { sum.add($0) }
            }
        }
        return sum.value
    }

    private var value: Int64 { Int64(bitPattern: hash.value) }

    private mutating func begin(_ type: UInt8) {
        for _ in 0..<nulls { hash.add(0 as UInt8) }
        nulls = 0
        hash.add(type)
    }

    private mutating func add(_ number: Int64) {
        begin(1)
        hash.add(UInt64(bitPattern: number))
    }

    private mutating func add(_ text: UnsafeBufferPointer<UInt8>) {
        begin(2)
        hash.add(UInt64(text.count))
        for byte in text { hash.add(byte) }
    }
}

/// The 64-bit FNV-1a hash (RFC 9923).
private struct FNV1a {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }

    /// Adds eight bytes, the lowest first.
    mutating func add(_ number: UInt64) {
        for place in 0..<UInt64(8) { add(UInt8(truncatingIfNeeded: number >> (place * 8))) }
    }
}
