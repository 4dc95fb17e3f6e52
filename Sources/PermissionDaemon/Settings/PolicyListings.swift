// The lists of org.permd.Policy1 that are read from the store: decisions and history, in pages.

import DBus
import PermissionCore
import PermissionModel

extension PolicyInterface {
    /// A method that lists rows of the store by a filter.
    func list(
        _ name: String, _ rows: String, _ read: @escaping @LoopActor (RowFilter, @escaping ListQueue.Completion) -> Void
    ) -> Method {
        Method(name, ["filter": "a{sv}"], returns: [rows: "aa{sv}"], callers: .unsandboxed) {
            call throws(PermissionError) in
            let filter = try RowFilter(call.arguments[0])
            lists.add(call) { read(filter, $0) }
        }
    }

    /// A row that is in memory or in the file. Decisions stand before the pause of the same app and permission.
    private struct DecisionRow {
        let app: AppID
        let question: String
        let values: ListQueue.Row

        static func isBefore(_ a: DecisionRow, _ b: DecisionRow) -> Bool {
            (ExactText(a.app.description), ExactText(a.question)) < (
                ExactText(b.app.description), ExactText(b.question)
            )
        }
    }

    func decisionRows(_ filter: RowFilter, _ done: @escaping ListQueue.Completion) {
        let unwritten = unwrittenDecisions(filter).map(decisionRow)
        let paused = calls.pauses(app: filter.app, question: filter.question).map {
            DecisionRow(app: $0.app, question: $0.question.name, values: row($0))
        }
        let others = (unwritten + paused).sorted(by: DecisionRow.isBefore)
        guard let decisions = filter.decisions else {
            return done(.success(filter.page.merge([], others, DecisionRow.isBefore).map(\.values)))
        }
        store.list(decisions, filter.page.ofFile(others: others.count)) { [self] result in
            done(
                result.mapError(\.ofRead).map { stored in
                    filter.page.merge(stored.map { $0.map(decisionRow) }, others, DecisionRow.isBefore).map(\.values)
                })
        }
    }

    private func decisionRow(_ decision: Decision) -> DecisionRow {
        DecisionRow(app: decision.app, question: decision.permission.rawValue, values: row(decision))
    }

    /// The decisions in force that could not be written.
    func unwrittenDecisions(_ filter: RowFilter) -> [Decision] {
        store.unwrittenDecisions.filter { filter.decisions?.matches($0) == true && store.isInForce($0) }
    }

    func historyRows(_ filter: RowFilter, _ done: @escaping ListQueue.Completion) {
        store.history.list(
            app: filter.app, question: filter.question, outcome: filter.outcome, since: filter.since, filter.page
        ) { [self] in
            done($0.mapError(\.ofRead).map { $0.map(row) })
        }
    }

    private func row(_ row: HistoryRow) -> ListQueue.Row {
        var result: ListQueue.Row = [
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
    let page: RowPage

    init(_ value: Value) throws(PermissionError) {
        let options = try Options(value)
        app = try options.app()
        question = try options.question()
        outcome = try options.outcome()
        since = try options.time("since")
        page = RowPage(limit: Int(try options.uint32("limit") ?? 0), offset: Int(try options.uint32("offset") ?? 0))
    }

    /// Nil if only a question of portals is meant, about which there are no decisions.
    var decisions: DecisionFilter? { DecisionFilter(app: app, question: question) }
}
