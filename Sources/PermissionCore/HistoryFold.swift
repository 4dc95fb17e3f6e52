// Keeps an app that repeats itself from filling the history and the disk: repeated rows become one row with a count,
// and rows that apps cause are written at most every few seconds, regardless of their rate.

public import PermissionModel

/// A row and its place in the history. Newer rows have higher numbers.
public struct NumberedRow: Sendable, Hashable {
    public var number: Int64
    public var row: HistoryRow

    public init(number: Int64, row: HistoryRow) {
        self.number = number
        self.row = row
    }
}

/// The rows of the last minute with their counts. Does no I/O: the store writes the rows that this returns.
public struct HistoryFold {
    /// What a row may be merged by. For rows of decisions, only the app and the question.
    private struct Key: Hashable {
        let app: AppID
        let question: Question
        var outcome: Outcome?
        var by: Author?
        var status: Status?

        init(_ row: HistoryRow) {
            (app, question) = (row.app, row.question)
            if !row.by.isDecision { (outcome, by, status) = (row.outcome, row.by, row.status) }
        }
    }

    private typealias Entries = [Key: Entry]

    private struct Entry {
        var numbered: NumberedRow
        /// Uptime of the first row in milliseconds; the wall clock may be set.
        let since: Int64
        var isWritten = false
    }

    /// Milliseconds within which repeated rows are merged.
    private static let window: Int64 = 60_000
    /// The capacity of `caused` and of `decided`: more rows than any desktop produces in a minute. It bounds the memory
    /// that programs under ever new names can use. Beyond it, a repeated row is stored separately.
    static let capacity = 1024

    /// Rows that apps cause by themselves, one for each outcome.
    private var caused: Entries = [:]
    /// Rows of decisions. Only the newest of a subject is kept, since a grant, a denial and a grant are three rows.
    private var decided: Entries = [:]
    private var lastNumber: Int64 = 0

    public init() {}

    /// Whether rows must be written before more can be remembered.
    public var isFull: Bool { caused.count >= HistoryFold.capacity }

    /// Continues the numbering after the last row in the store. Rows that apps caused and that are not written yet are
    /// numbered after it. Rows of decisions are written with them, and those still under way fail or succeed as they are.
    public mutating func goOn(after number: Int64) {
        guard number > lastNumber else { return }
        caused = caused.filter { !$0.value.isWritten }.mapValues { entry in
            var entry = entry
            entry.numbered.number += number
            return entry
        }
        decided = [:]
        lastNumber += number
    }

    /// Adds a row. `isNew` is false if it was merged with an earlier row, whose count it raised.
    public mutating func add(_ row: HistoryRow, at uptime: Int64) -> (numbered: NumberedRow, isNew: Bool) {
        let (entries, key) = (HistoryFold.entries(of: row), Key(row))
        if self[keyPath: entries][key] == nil { HistoryFold.makeRoom(&self[keyPath: entries], uptime) }
        let known = self[keyPath: entries][key].flatMap { $0.numbered.row.repeats(row) ? $0 : nil }
        let (entry, isNew) = merge(row, with: known, uptime)
        self[keyPath: entries][key] = entry
        return (entry.numbered, isNew)
    }

    private static func entries(of row: HistoryRow) -> WritableKeyPath<HistoryFold, Entries> {
        row.by.isDecision ? \.decided : \.caused
    }

    private mutating func merge(_ row: HistoryRow, with known: Entry?, _ uptime: Int64) -> (Entry, Bool) {
        if var entry = known, uptime - entry.since < HistoryFold.window {
            entry.numbered.row.count = entry.numbered.row.count.addingReportingOverflow(row.count).partialValue
            if let seconds = row.seconds {
                let (sum, isOver) = (entry.numbered.row.seconds ?? 0).addingReportingOverflow(seconds)
                entry.numbered.row.seconds = isOver ? .max : sum
            }
            entry.isWritten = false
            return (entry, false)
        }
        lastNumber += 1
        return (Entry(numbered: NumberedRow(number: lastNumber, row: row), since: uptime), true)
    }

    /// Returns the rows added or counted up since the last call, oldest first, and marks them as written.
    public mutating func takeUnwritten(at uptime: Int64) -> [NumberedRow] {
        var rows: [NumberedRow] = []
        for entries in [\HistoryFold.caused, \.decided] {
            for (key, entry) in self[keyPath: entries] where !entry.isWritten {
                rows.append(entry.numbered)
                self[keyPath: entries][key]?.isWritten = true
            }
            self[keyPath: entries] = self[keyPath: entries].filter { uptime - $0.value.since < HistoryFold.window }
        }
        return rows.sorted { $0.number < $1.number }
    }

    /// Marks rows as written that are written together with a change.
    public mutating func wrote(_ rows: [NumberedRow]) { mark(rows, isWritten: true) }

    /// Forgets rows of a change that could not be written, so that later rows are not merged with them.
    public mutating func forget(_ rows: [NumberedRow]) {
        for numbered in rows {
            let key = Key(numbered.row)
            if decided[key]?.numbered.number == numbered.number { decided[key] = nil }
        }
    }

    /// Marks rows whose write failed as not written.
    public mutating func failed(_ rows: [NumberedRow]) { mark(rows, isWritten: false) }

    private mutating func mark(_ rows: [NumberedRow], isWritten: Bool) {
        for numbered in rows {
            let (entries, key) = (HistoryFold.entries(of: numbered.row), Key(numbered.row))
            if self[keyPath: entries][key]?.numbered.number == numbered.number {
                self[keyPath: entries][key]?.isWritten = isWritten
            }
        }
    }

    /// Removes written rows that are older than the window, then all written rows, then the oldest row.
    private static func makeRoom(_ entries: inout Entries, _ uptime: Int64) {
        guard entries.count >= capacity else { return }
        entries = entries.filter { !$0.value.isWritten || uptime - $0.value.since < window }
        if entries.count >= capacity { entries = entries.filter { !$0.value.isWritten } }
        guard entries.count >= capacity,
            let oldest = entries.min(by: { $0.value.numbered.number < $1.value.numbered.number })
        else { return }
        entries[oldest.key] = nil
    }
}

extension Author {
    /// Whether a row of this author records a decision. All other rows are caused by apps themselves.
    public var isDecision: Bool { self == .person || self == .permctl }
}

extension HistoryRow {
    fileprivate func repeats(_ other: HistoryRow) -> Bool {
        app == other.app && question == other.question && outcome == other.outcome && by == other.by
    }
}
