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
    private struct Key: Hashable {
        let app: AppID
        let question: Question
        let outcome: Outcome
        let by: Author
        let status: Status?

        init(_ row: HistoryRow) {
            (app, question, outcome, by, status) = (row.app, row.question, row.outcome, row.by, row.status)
        }
    }

    private struct Subject: Hashable {
        let app: AppID
        let question: Question
    }

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
    private var caused: [Key: Entry] = [:]
    /// Rows of decisions. Only the newest of a subject is kept, since a grant, a denial and a grant are three rows.
    private var decided: [Subject: Entry] = [:]
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
        if row.by.isDecision {
            let subject = Subject(app: row.app, question: row.question)
            if decided[subject] == nil { HistoryFold.makeRoom(&decided, uptime) }
            let known = decided[subject].flatMap { $0.numbered.row.repeats(row) ? $0 : nil }
            let (entry, isNew) = merge(row, with: known, uptime)
            decided[subject] = entry
            return (entry.numbered, isNew)
        }
        let key = Key(row)
        if caused[key] == nil { HistoryFold.makeRoom(&caused, uptime) }
        let (entry, isNew) = merge(row, with: caused[key], uptime)
        caused[key] = entry
        return (entry.numbered, isNew)
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
        for (key, entry) in caused where !entry.isWritten {
            rows.append(entry.numbered)
            caused[key]?.isWritten = true
        }
        for (subject, entry) in decided where !entry.isWritten {
            rows.append(entry.numbered)
            decided[subject]?.isWritten = true
        }
        caused = caused.filter { uptime - $0.value.since < HistoryFold.window }
        decided = decided.filter { uptime - $0.value.since < HistoryFold.window }
        return rows.sorted { $0.number < $1.number }
    }

    /// Marks rows as written that are written together with a change.
    public mutating func wrote(_ rows: [NumberedRow]) { mark(rows, isWritten: true) }

    /// Forgets rows of a change that could not be written, so that later rows are not merged with them.
    public mutating func forget(_ rows: [NumberedRow]) {
        for numbered in rows {
            let subject = Subject(app: numbered.row.app, question: numbered.row.question)
            if decided[subject]?.numbered.number == numbered.number { decided[subject] = nil }
        }
    }

    /// Marks rows whose write failed as not written.
    public mutating func failed(_ rows: [NumberedRow]) { mark(rows, isWritten: false) }

    private mutating func mark(_ rows: [NumberedRow], isWritten: Bool) {
        for numbered in rows {
            let row = numbered.row
            let subject = Subject(app: row.app, question: row.question)
            let key = Key(row)
            if decided[subject]?.numbered.number == numbered.number { decided[subject]?.isWritten = isWritten }
            if caused[key]?.numbered.number == numbered.number { caused[key]?.isWritten = isWritten }
        }
    }

    /// Removes written rows that are older than the window, then all written rows, then the oldest row.
    private static func makeRoom<Key>(_ entries: inout [Key: Entry], _ uptime: Int64) {
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
