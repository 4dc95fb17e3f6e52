// Keeps an app that does the same thing again and again from filling the history and the disk: repeated rows are one row
// with a count, and what an app causes is written at most every few seconds, however fast it is.

public import PermissionModel

/// A row and its place in the history: the higher the number, the newer.
public struct NumberedRow: Sendable, Hashable {
    public var number: Int64
    public var row: HistoryRow

    public init(number: Int64, row: HistoryRow) {
        self.number = number
        self.row = row
    }
}

/// Rows of the last minute, with their counts. Pure; the store writes what it hands out.
public struct HistoryFold {
    private struct Key: Hashable {
        let app: AppID
        let question: Question
        let outcome: Outcome
        let by: Author
    }

    private struct Subject: Hashable {
        let app: AppID
        let question: Question
    }

    private struct Entry {
        var numbered: NumberedRow
        /// Uptime of the first, in milliseconds: the clock may be set.
        let since: Int64
        var isWritten = false
    }

    /// Milliseconds in which repeated rows are one.
    private static let window: Int64 = 60_000
    /// Rows remembered of either kind: more than happen within a minute on any desktop; bounds the memory that programs
    /// under ever new names can take. Beyond, a repeated row is one of its own again.
    static let capacity = 1024

    /// What apps cause by themselves, each outcome for itself.
    private var caused: [Key: Entry] = [:]
    /// What somebody decided: the newest alone, as a grant, a denial and a grant are three rows.
    private var decided: [Subject: Entry] = [:]
    private var lastNumber: Int64 = 0

    public init() {}

    /// Rows must be written before more can be remembered.
    public var isFull: Bool { caused.count >= HistoryFold.capacity }

    /// Numbers go on after the rows that are in the store. What is not written yet comes after them.
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

    /// Takes a row in. It is new when it is none that is there already, with a higher count now.
    public mutating func add(_ row: HistoryRow, at uptime: Int64) -> (numbered: NumberedRow, isNew: Bool) {
        if row.by.isDecision {
            let subject = Subject(app: row.app, question: row.question)
            if decided[subject] == nil { HistoryFold.makeRoom(&decided, uptime) }
            let known = decided[subject].flatMap { $0.numbered.row.repeats(row) ? $0 : nil }
            let (entry, isNew) = merge(row, with: known, uptime)
            decided[subject] = entry
            return (entry.numbered, isNew)
        }
        let key = Key(app: row.app, question: row.question, outcome: row.outcome, by: row.by)
        if caused[key] == nil { HistoryFold.makeRoom(&caused, uptime) }
        let (entry, isNew) = merge(row, with: caused[key], uptime)
        caused[key] = entry
        return (entry.numbered, isNew)
    }

    private mutating func merge(_ row: HistoryRow, with known: Entry?, _ uptime: Int64) -> (Entry, Bool) {
        if var entry = known, uptime - entry.since < HistoryFold.window {
            entry.numbered.row.count = entry.numbered.row.count.addingReportingOverflow(row.count).partialValue
            entry.isWritten = false
            return (entry, false)
        }
        lastNumber += 1
        return (Entry(numbered: NumberedRow(number: lastNumber, row: row), since: uptime), true)
    }

    /// The rows that were added or counted up since the last time, oldest first; they count as written from now on.
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

    /// Rows that were written with something else.
    public mutating func wrote(_ rows: [NumberedRow]) { mark(rows, isWritten: true) }

    /// Rows of what did not happen, as it could not be written: nothing is counted up to them.
    public mutating func forget(_ rows: [NumberedRow]) {
        for numbered in rows {
            let subject = Subject(app: numbered.row.app, question: numbered.row.question)
            if decided[subject]?.numbered.number == numbered.number { decided[subject] = nil }
        }
    }

    /// Rows that could not be written after all.
    public mutating func failed(_ rows: [NumberedRow]) { mark(rows, isWritten: false) }

    private mutating func mark(_ rows: [NumberedRow], isWritten: Bool) {
        for numbered in rows {
            let row = numbered.row
            let subject = Subject(app: row.app, question: row.question)
            let key = Key(app: row.app, question: row.question, outcome: row.outcome, by: row.by)
            if decided[subject]?.numbered.number == numbered.number { decided[subject]?.isWritten = isWritten }
            if caused[key]?.numbered.number == numbered.number { caused[key]?.isWritten = isWritten }
        }
    }

    /// Forgets what is over, then what is written, then the oldest.
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
    /// Whether a row of this author is what somebody settled. The rest is what an app causes by itself.
    public var isDecision: Bool { self == .person || self == .permctl }
}

extension HistoryRow {
    fileprivate func repeats(_ other: HistoryRow) -> Bool {
        app == other.app && question == other.question && outcome == other.outcome && by == other.by
    }
}
