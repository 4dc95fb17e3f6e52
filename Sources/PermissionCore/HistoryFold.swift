// Keeps an app that repeats itself from filling the history and the disk: rows that apps cause wait here for a few
// seconds, where repeated ones become one row with a count. The store does the same with what it writes.

package import PermissionModel

/// Rows that are not written yet. Does no I/O.
package struct HistoryFold {
    /// What a row may be merged by.
    private struct Key: Hashable {
        let app: AppID?
        let item: PromptItem
        let outcome: Outcome
        let by: Author
        let status: Status?

        init(_ row: HistoryRow) {
            (app, item, outcome, by, status) = (row.app, row.item, row.outcome, row.by, row.status)
        }
    }

    /// More different rows than any desktop produces in the time that they wait. Programs under ever new names can make
    /// more; further rows are written at once.
    static let capacity = 1024

    private var rows: [Key: HistoryRow] = [:]
    /// In the order of the first of their rows.
    private var order: [Key] = []

    package init() {}

    /// Whether the rows must be written before more can wait.
    package var isFull: Bool { rows.count >= HistoryFold.capacity }

    /// Adds a row. Returns whether it was not merged with an earlier one.
    package mutating func add(_ row: HistoryRow) -> Bool {
        let key = Key(row)
        if let earlier = rows[key] {
            rows[key] = earlier.adding(row)
            return false
        }
        rows[key] = row
        order.append(key)
        return true
    }

    /// Removes and returns all rows, oldest first.
    package mutating func takeAll() -> [HistoryRow] {
        defer { self = HistoryFold() }
        return order.compactMap { rows[$0] }
    }

    /// Puts rows back that could not be written, as far as there is room.
    package mutating func putBack(_ earlier: [HistoryRow]) {
        let later = takeAll()
        for row in earlier + later where !isFull { _ = add(row) }
    }
}

extension Outcome {
    /// Whether its rows are about every app, and name none.
    package var isOfEveryApp: Bool { self == .off || self == .on }
}

extension Author {
    /// Whether a row of this author records a decision. All other rows are caused by apps themselves.
    package var isDecision: Bool { self == .person || self == .permctl }
}

extension HistoryRow {
    /// Whether two rows become one if both are of the same minute.
    package func repeats(_ other: HistoryRow) -> Bool {
        app == other.app && item == other.item && outcome == other.outcome && by == other.by
            && status == other.status
    }

    /// A row of a damaged file may have any time.
    package func isWithinAMinute(of later: HistoryRow) -> Bool {
        let (seconds, isOver) = later.time.subtractingReportingOverflow(time)
        return !isOver && (0..<60).contains(seconds)
    }

    package func adding(_ other: HistoryRow) -> HistoryRow {
        var sum = self
        sum.count = sum.count.clampedSum(other.count)
        if let seconds = other.seconds { sum.seconds = (sum.seconds ?? 0).clampedSum(seconds) }
        return sum
    }
}

extension UInt32 {
    fileprivate func clampedSum(_ other: UInt32) -> UInt32 {
        let (sum, isOver) = addingReportingOverflow(other)
        return isOver ? .max : sum
    }
}
