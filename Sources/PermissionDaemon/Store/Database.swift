// A wrapper of SQLite's C interface: errors are thrown, statements are prepared once, values are bound.

import CSQLite

struct DatabaseError: Error, Sendable, CustomStringConvertible {
    let code: Int32
    let description: String

    /// The file is not a database, is malformed, or ends too early (SQLITE_IOERR_SHORT_READ).
    var isDamage: Bool { [SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xFF) || code == SQLITE_IOERR | 2 << 8 }
    var isReadOnly: Bool { code & 0xFF == SQLITE_READONLY }
    /// The open files are no longer those at their path.
    var isLoss: Bool { code == DatabaseError.moved }

    /// SQLITE_READONLY_DBMOVED, a macro that Swift does not import.
    private static let moved = SQLITE_READONLY | 4 << 8
    /// SQLITE_IOERR_SHMMAP.
    var lacksSharedMemory: Bool { code == SQLITE_IOERR | 21 << 8 }
    /// There is no file that could be used.
    var isNoFile: Bool { code == -1 }

    static func noFile(_ why: String) -> DatabaseError { DatabaseError(code: -1, description: why) }
    static func noLog(_ path: String) -> DatabaseError {
        DatabaseError(
            code: SQLITE_IOERR | 21 << 8, description: "\(path) lies on a file system on which SQLite has no log")
    }
    static let late = DatabaseError(code: SQLITE_INTERRUPT, description: "the disk did not answer in time")

    static func loss(_ path: String) -> DatabaseError {
        DatabaseError(
            code: moved, description: "\(path), or a file beside it, was deleted or replaced")
    }
}

/// A connection to a file. Two threads never use it at the same time.
final class Database {
    // SAFETY: opened here, closed in deinit; two threads never use it at the same time (SQLITE_OPEN_NOMUTEX).
    private let handle: OpaquePointer
    /// By their text, which never contains values: they stay prepared.
    private(set) var statements: [String: Statement] = [:]
    /// Whether ``rows(_:_:_:)`` has met a row that could not be decoded.
    private(set) var hasDamagedRows = false
    /// Whether other connections are kept out, so that no memory has to be shared with them.
    let isExclusive: Bool
    /// KiB of pages cached in memory. The kernel caches the file for all processes, so caching more than the interior
    /// pages of the tables and one group of rows is of no use. SQLite's default is 2 MiB for each connection.
    private static let cacheSize = 256
    private static let isConfigured: Void = csqlite_configure()

    /// - Parameter isReadOnly: Whether the file must exist, and is not written.
    init(path: String, isReadOnly: Bool = false, isExclusive: Bool = false) throws(DatabaseError) {
        _ = Database.isConfigured
        self.isExclusive = isExclusive
        var opened: OpaquePointer?
        let access = isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        let result = sqlite3_open_v2(
            path, &opened, access | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX, nil)
        guard result == SQLITE_OK, let opened else {
            let text = opened.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
            sqlite3_close_v2(opened)
            throw DatabaseError(code: result, description: text)
        }
        handle = opened
        // Another program may hold a lock for a moment, such as one that makes a backup.
        sqlite3_busy_timeout(handle, 2000)
        // Before anything is read.
        if isExclusive { try execute("PRAGMA locking_mode = EXCLUSIVE") }
        try execute("PRAGMA cache_size = -\(Database.cacheSize); PRAGMA temp_store = MEMORY")
    }

    deinit {
        statements = [:]
        sqlite3_close_v2(handle)
    }

    /// SQLite silently opens a file that may not be written for reading.
    var isReadOnly: Bool { sqlite3_db_readonly(handle, "main") == 1 }

    /// How many rows this connection has changed.
    var changes: Int32 { sqlite3_total_changes(handle) }

    /// Whether the file at the path is no longer the open one.
    var hasMoved: Bool {
        var moved: Int32 = 0
        let result = sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved)
        return result != SQLITE_OK || moved != 0
    }

    /// Keeps the files beside the database when the last connection closes: without them, a file on a read-only disk
    /// could not be read.
    func keepFilesBeside() {
        var isKept: Int32 = 1
        sqlite3_file_control(handle, "main", SQLITE_FCNTL_PERSIST_WAL, &isKept)
    }

    /// Runs statements without bound values.
    func execute(_ sql: String) throws(DatabaseError) {
        try check(sqlite3_exec(handle, sql, nil, nil, nil))
    }

    /// Runs one statement and calls `row` for each row of the result.
    func run(
        _ sql: String, _ values: [SQLValue] = [], _ row: (Statement) -> Void = { _ in }
    ) throws(DatabaseError) {
        let statement = try prepared(sql)
        defer { statement.reset() }
        for (index, value) in values.enumerated() { try check(statement.bind(value, at: Int32(index + 1))) }
        while true {
            let result = statement.step()
            if result == SQLITE_DONE { return }
            guard result == SQLITE_ROW else { throw error(result) }
            row(statement)
        }
    }

    /// The decoded rows of the result, without those that cannot be decoded.
    func rows<Row>(
        _ sql: String, _ values: [SQLValue] = [], _ decode: (Statement) -> Row?
    ) throws(DatabaseError) -> [Row] {
        var rows: [Row] = []
        try run(sql, values) {
            if let row = decode($0) { rows.append(row) } else { hasDamagedRows = true }
        }
        return rows
    }

    /// The first column of the first row.
    func integer(_ sql: String, _ values: [SQLValue] = []) throws(DatabaseError) -> Int64? {
        var first: Int64?
        try run(sql, values) { if first == nil { first = $0.optionalInteger(0) } }
        return first
    }

    /// Runs `body` in a transaction, which is rolled back if it throws.
    func transaction(_ body: () throws(DatabaseError) -> Void) throws(DatabaseError) {
        try execute("BEGIN IMMEDIATE")
        do throws(DatabaseError) {
            try body()
            try execute("COMMIT")
        } catch {
            rollback()
            throw error
        }
    }

    func rollback() {
        if sqlite3_get_autocommit(handle) == 0 { try? execute("ROLLBACK") }
    }

    private func prepared(_ sql: String) throws(DatabaseError) -> Statement {
        if let statement = statements[sql] { return statement }
        var raw: OpaquePointer?
        try check(sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &raw, nil))
        guard let raw else { throw DatabaseError(code: SQLITE_MISUSE, description: "the statement is empty") }
        let statement = Statement(raw)
        statements[sql] = statement
        return statement
    }

    private func check(_ result: Int32) throws(DatabaseError) {
        if result != SQLITE_OK { throw error(result) }
    }

    private func error(_ code: Int32) -> DatabaseError {
        DatabaseError(code: code, description: String(cString: sqlite3_errmsg(handle)))
    }
}

enum SQLValue: Equatable {
    case integer(Int64)
    case text(String)
    case null

    static func optional(_ value: Int64?) -> SQLValue { value.map { .integer($0) } ?? .null }
    static func optional(_ value: String?) -> SQLValue { value.map { .text($0) } ?? .null }
}

/// A prepared statement and its current row.
final class Statement {
    // SAFETY: finalized in deinit only, before its database closes.
    private let raw: OpaquePointer

    init(_ raw: OpaquePointer) { self.raw = raw }

    deinit { sqlite3_finalize(raw) }

    func step() -> Int32 { sqlite3_step(raw) }

    func reset() {
        sqlite3_reset(raw)
        sqlite3_clear_bindings(raw)
    }

    func bind(_ value: SQLValue, at index: Int32) -> Int32 {
        switch value {
        case .integer(let number): sqlite3_bind_int64(raw, index, number)
        case .text(let text): sqlite3_bind_text(raw, index, text, -1, csqlite_transient())
        case .null: sqlite3_bind_null(raw, index)
        }
    }

    enum ColumnType { case null, integer, text }

    /// The type of a value. permd writes no others; those of a damaged file are taken as text.
    func type(_ column: Int32) -> ColumnType {
        switch sqlite3_column_type(raw, column) {
        case SQLITE_NULL: .null
        case SQLITE_INTEGER: .integer
        default: .text
        }
    }

    /// Passes the bytes of a text, which are valid until `body` returns.
    func withText(_ column: Int32, _ body: (UnsafeBufferPointer<UInt8>) -> Void) {
        // SAFETY: SQLite keeps the text until the next step, and its length is read after it.
        let start = sqlite3_column_text(raw, column)
        body(UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(raw, column))))
    }

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(raw, column) }

    func optionalInteger(_ column: Int32) -> Int64? {
        sqlite3_column_type(raw, column) == SQLITE_NULL ? nil : integer(column)
    }

    func optionalText(_ column: Int32) -> String? {
        sqlite3_column_type(raw, column) == SQLITE_NULL ? nil : text(column)
    }

    func text(_ column: Int32) -> String { sqlite3_column_text(raw, column).map { String(cString: $0) } ?? "" }
}
