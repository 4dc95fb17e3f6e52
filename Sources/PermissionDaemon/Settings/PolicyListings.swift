// The potentially long lists of org.permd.Policy1: decisions and history.

import DBus
import PermissionCore
import PermissionModel

extension PolicyInterface {
    /// A method that lists rows of the store by a filter. It waits for pending writes (`written`), so that the list
    /// contains everything that the caller has been notified of.
    func listing(
        _ name: String, _ rows: String, after written: @escaping @LoopActor (@escaping @LoopActor () -> Void) -> Void,
        _ slices: @escaping @LoopActor (RowFilter) -> Listings.Slice
    ) -> Method {
        Method(name, ["filter": "a{sv}"], returns: [rows: "aa{sv}"], callers: .unsandboxed) {
            call throws(PermissionError) in
            let filter = try RowFilter(call.arguments[0])
            listings.add(call, after: written) { slices(filter) }
        }
    }

    func decisionRows(_ filter: RowFilter) -> Listings.Slice {
        appSlices(filter) { range throws(PermissionError) in
            let decisions = try decisions(filter, range)
            let rows =
                decisions.map { (app: $0.app, question: Question.permission($0.permission), row: row($0)) }
                + pauses(filter, range).map { (app: $0.app, question: $0.question, row: row($0)) }
            // The sort is stable: decisions precede the pause of the same app and permission.
            return rows.enumerated().sorted {
                ($0.element.app, $0.element.question, $0.offset) < ($1.element.app, $1.element.question, $1.offset)
            }.map(\.element.row)
        }
    }

    func decisions(_ filter: RowFilter, _ range: AppRange) throws(PermissionError) -> [Decision] {
        guard let decisions = DecisionFilter(app: filter.app, question: filter.question) else { return [] }
        return try store.listDecisions(decisions, among: range)
    }

    func pauses(_ filter: RowFilter, _ range: AppRange) -> [Pause] {
        calls.pauses(app: filter.app, question: filter.question).filter { range.contains($0.app) }
    }

    /// Returns slices of a list by app: each has the next few apps with rows in the store, or with pauses.
    func appSlices(
        _ filter: RowFilter, _ rows: @escaping @LoopActor (AppRange) throws(PermissionError) -> [Listings.Row]
    ) -> Listings.Slice {
        var page = RowPage(limit: filter.limit, offset: filter.offset)
        let paused = calls.pauses(app: filter.app, question: filter.question).map(\.app)
        var range = AppRange()
        var isOver = false
        return { () throws(PermissionError) in
            guard !isOver, !page.isFull else { return nil }
            if filter.app == nil {
                range = try store.appRange(after: range.last, most: Listings.sliceApps, and: paused)
            }
            isOver = range.last == nil
            return page.cut(try rows(range))
        }
    }

    func historyRows(_ filter: RowFilter) -> Listings.Slice {
        var left = filter.limit
        var offset = filter.offset
        var last: Int64? = .max
        return { () throws(PermissionError) in
            guard let before = last, left > 0 else { return nil }
            let page = try store.listHistory(
                app: filter.app, question: filter.question, outcome: filter.outcome, since: filter.since,
                before: before, limit: min(left, Listings.sliceRows), offset: offset)
            (offset, last) = (0, page.last)
            left -= page.rows.count
            return page.rows.map(row)
        }
    }

    private func row(_ row: HistoryRow) -> Listings.Row {
        var result: Listings.Row = [
            "time": .uint64(UInt64(clamping: row.time)), "request": .string(row.request),
            "app": .string(row.app.description), "permission": .string(row.question.name),
            "outcome": .string(row.outcome.rawValue), "by": .string(row.by.rawValue), "count": .uint32(row.count),
        ]
        if let seconds = row.seconds { result["seconds"] = .uint32(seconds) }
        if let status = row.status { result["status"] = .string(status.rawValue) }
        return result
    }
}

/// The filters of the listing methods.
struct RowFilter {
    let app: AppID?
    let question: Question?
    /// Of the history only.
    let outcome: Outcome?
    let since: EpochSeconds?
    let limit: Int
    let offset: Int

    init(_ value: Value) throws(PermissionError) {
        let options = try Options(value)
        app = try options.app()
        question = try options.question()
        outcome = try options.outcome()
        since = try options.time("since")
        // 0 means no limit.
        limit = try options.uint32("limit").flatMap { $0 == 0 ? nil : Int($0) } ?? .max
        offset = Int(try options.uint32("offset") ?? 0)
    }
}
