// A row's seal: its other fields in one number, so that a row a bad disk has changed is seen and not trusted. SQLite has
// checksums in its log alone. A seal keeps accidents out, not people: who may write the file may write seals.

import PermissionModel

enum StoreSeal {
    /// The fields that say what is decided, in the order they are sealed in.
    static let lasting = ["app", "permission", "verdict", "duration", "until", "decided", "by"]
    static let session = ["app", "permission", "verdict", "decided", "by", "pid", "start"]

    /// FNV-1a over the fields, each with its kind and length.
    static func of(_ fields: [SQLValue]) -> SQLValue {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        func add(_ bytes: some Sequence<UInt8>) {
            for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        }
        func add(_ number: UInt64) { add((0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }) }
        for field in fields {
            switch field {
            case .null: add(CollectionOfOne(0))
            case .integer(let number):
                add(CollectionOfOne(1))
                add(UInt64(bitPattern: number))
            case .text(let text):
                add(CollectionOfOne(2))
                add(UInt64(text.utf8.count))
                add(text.utf8)
            }
        }
        return .integer(Int64(bitPattern: hash))
    }

    /// Whether a row's seal, in the column behind its fields, is theirs.
    static func fits(_ row: Statement, _ fields: [SQLValue]) -> Bool {
        guard case .integer(let seal) = of(fields) else { return false }
        return row.optionalInteger(Int32(fields.count)) == seal
    }

    /// Seals the rows that have none: once, when a file of an older schema gets seals.
    static func sealAll(_ database: Database, _ columns: [String]) throws(DatabaseError) {
        let numbers: Set<String> = ["until", "decided", "pid", "start"]
        var rows: [[SQLValue]] = []
        try database.run("SELECT \(columns.joined(separator: ", ")) FROM decision WHERE seal IS NULL") { row in
            rows.append(
                columns.enumerated().map { index, name in
                    numbers.contains(name)
                        ? .optional(row.optionalInteger(Int32(index))) : .text(row.text(Int32(index)))
                })
        }
        let match = columns.map { "\($0) IS ?" }.joined(separator: " AND ")
        for row in rows { try database.run("UPDATE decision SET seal = ? WHERE \(match)", [of(row)] + row) }
    }
}
