// The store's history: merged in memory, written from time to time, and listed.

import DBus
import PermissionCore
import PermissionModel

extension DecisionStore {
    /// Milliseconds within which rows caused by apps are written. It limits what an app can make the disk write to a
    /// few pages in that time. If the machine crashes, at most the rows of that time are lost.
    private static let historyDelay: Int64 = 10_000

    /// Adds rows of history. Rows of a person's actions are written at once, rows caused by apps together within
    /// `historyDelay`. Returns the rows that were not merged with earlier ones.
    @discardableResult
    func record(_ rows: [HistoryRow]) -> [HistoryRow] {
        let uptime = Loop.uptimeMilliseconds()
        let new = rows.filter { fold.add($0, at: uptime).isNew }
        if rows.contains(where: \.by.isDecision) || fold.isFull {
            writeHistory()
        } else if historyTimer == nil, !rows.isEmpty {
            historyTimer = Loop.shared.after(milliseconds: DecisionStore.historyDelay) { [weak self] in
                self?.writeHistory()
            }
        }
        return new
    }

    func writeHistory() {
        historyTimer?.cancel()
        historyTimer = nil
        let rows = fold.takeUnwritten(at: Loop.uptimeMilliseconds())
        guard !rows.isEmpty else { return }
        write([], rows) { [weak self] result in
            // They are written with the next rows.
            if case .failure = result { self?.fold.failed(rows) }
        }
    }

    /// Calls `body` once the history is written and trimmed, for a listing.
    func whenHistoryWritten(_ body: @escaping @LoopActor () -> Void) {
        writeHistory()
        file.write(StoreJob(aim: .trim)) { _ in body() }
    }

    /// Rows with numbers below `before`, newest first. `last` is the number of the last row read, if any.
    func listHistory(
        app: AppID?, question: Question?, outcome: Outcome? = nil, since: EpochSeconds?, before: Int64 = .max,
        limit: Int, offset: Int = 0
    ) throws(PermissionError) -> (rows: [HistoryRow], last: Int64?) {
        var condition = RowCondition(app: app, question: question)
        if let outcome { condition.add("outcome = ?", .text(outcome.rawValue)) }
        if let since { condition.add("time >= ?", .integer(since)) }
        condition.add("id < ?", .integer(before))
        var last: Int64?
        let rows = try rows(
            "SELECT \(StoreRows.historyColumns), id FROM history\(condition.sql) ORDER BY id DESC LIMIT ? OFFSET ?",
            condition.values + [.integer(Int64(limit)), .integer(Int64(offset))]
        ) { row in
            last = row.integer(9)
            return StoreRows.history(row)
        }
        return (rows, last)
    }
}
