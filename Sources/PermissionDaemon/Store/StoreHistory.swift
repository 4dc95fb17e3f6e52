// The store's history: rows caused by apps wait for a while and are written together.

import DBus
import PermissionCore
import PermissionModel

@LoopActor
final class StoreHistory {
    /// Milliseconds within which rows caused by apps are written. It limits what an app can make the disk write to a
    /// few pages in that time. If the machine crashes, at most the rows of that time are lost.
    private static let delay: Int64 = 10_000
    /// Rows between two trims, because a trim at every write would double its cost. A listing trims first.
    private static let rowsBetweenTrims = 1000

    var limits: (rows: Int, days: Int) = (10_000, 90)

    private let queue: StoreQueue
    private let now: @Sendable () -> EpochSeconds
    private var waiting = HistoryFold()
    private var timer: LoopTimer?
    /// Rows since the last trim. The first row of a run trims, so that even short runs remove old rows.
    private var untrimmed = StoreHistory.rowsBetweenTrims

    init(_ queue: StoreQueue, now: @escaping @Sendable () -> EpochSeconds) {
        self.queue = queue
        self.now = now
    }

    /// Adds rows. Returns those that were not merged with earlier ones that wait.
    @discardableResult
    func record(_ rows: [HistoryRow]) -> [HistoryRow] {
        let new = rows.filter { waiting.add($0) }
        if rows.contains(where: \.by.isDecision) || waiting.isFull {
            write()
        } else if timer == nil, !rows.isEmpty {
            timer = Loop.shared.after(milliseconds: StoreHistory.delay) { [weak self] in self?.write() }
        }
        return new
    }

    func write() {
        timer?.cancel()
        timer = nil
        let rows = waiting.takeAll()
        guard !rows.isEmpty else { return }
        queue.add(writes: true, inBackground: true) { (database) throws(DatabaseError) in
            for row in rows { try HistoryRows.write(row, database) }
        } then: { [weak self] result in
            // They are written with the next rows.
            if case .failure = result { self?.waiting.putBack(rows) } else { self?.wrote(rows.count) }
        }
    }

    /// That many rows were written.
    func wrote(_ rows: Int) {
        untrimmed += rows
        if rows > 0, untrimmed >= StoreHistory.rowsBetweenTrims { trim() }
    }

    private func trim() {
        guard untrimmed > 0 else { return }
        untrimmed = 0
        let (limits, oldest) = (limits, now() - Int64(limits.days) * 86_400)
        queue.add(writes: true, inBackground: true) { (database) throws(DatabaseError) in
            try HistoryRows.trim(database, rows: limits.rows, before: oldest)
        } then: { [weak self] result in
            if case .failure = result { self?.untrimmed += 1 }
        }
    }

    /// Lists rows, newest first.
    func list(
        app: AppID?, item: PromptItem?, outcome: Outcome? = nil, since: EpochSeconds? = nil, _ page: RowPage,
        then: @escaping @LoopActor (Result<[HistoryRow], StoreError>) -> Void
    ) {
        write()
        trim()
        var condition = RowCondition(app: app, item: item)
        if let outcome { condition.add("outcome = ?", .text(outcome.rawValue)) }
        if let since { condition.add("time >= ?", .integer(since)) }
        queue.add { [condition] (database) throws(DatabaseError) in
            try HistoryRows.select(condition, page, database)
        } then: {
            then($0)
        }
    }
}
