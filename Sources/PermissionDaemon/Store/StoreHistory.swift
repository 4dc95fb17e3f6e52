// The store's history: folded in memory, written now and then, listed.

import DBus
import PermissionCore
public import PermissionModel

extension DecisionStore {
    /// Milliseconds after which rows that apps cause are on disk: bounds what an app can make the disk write to a few
    /// pages in that time. As much of them is lost when the machine stops.
    private static let historyDelay: Int64 = 10_000

    /// Takes rows of history, for which nobody waits: what a person did is written at once, what apps cause by
    /// themselves within `historyDelay`, all of it together. Returns the rows that are none that are there already.
    @discardableResult
    public func record(_ rows: [HistoryRow]) -> [HistoryRow] {
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
            // They come with the next ones.
            if case .failure = result { self?.fold.failed(rows) }
        }
    }

    /// Calls `body` once the history is written, and within its bound, for a listing.
    public func whenHistoryWritten(_ body: @escaping @LoopActor () -> Void) {
        writeHistory()
        file.write(StoreJob(aim: .trim)) { _ in body() }
    }

    /// Rows with numbers below `before`, newest first; `last` is the number of the last that was looked at, nil for none.
    public func listHistory(
        app: AppID?, question: Question?, since: EpochSeconds?, before: Int64 = .max, limit: Int, offset: Int = 0
    ) throws(PermissionError) -> (rows: [HistoryRow], last: Int64?) {
        var condition = RowCondition(app: app, question: question)
        if let since { condition.add("time >= ?", .integer(since)) }
        condition.add("id < ?", .integer(before))
        var last: Int64?
        let rows = try rows(
            "SELECT \(StoreRows.historyColumns), id FROM history\(condition.sql) ORDER BY id DESC LIMIT ? OFFSET ?",
            condition.values + [.integer(Int64(limit)), .integer(Int64(offset))]
        ) { row in
            last = row.integer(7)
            return StoreRows.history(row)
        }
        return (rows, last)
    }
}
