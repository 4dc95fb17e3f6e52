// The lists of org.permd.Policy1 that are read from the store: decisions and history, in pages.

import DBus
import PermissionCore
import PermissionModel

extension PolicyInterface {
    /// A method that lists rows of the store by a filter.
    func list(
        _ name: String, _ rows: String, _ read: @escaping @LoopActor (RowFilter, @escaping ListQueue.Completion) -> Void
    ) -> Method {
        Method(
            name, ["filter": "a{sv}"], returns: [rows: "aa{sv}"], callers: .unsandboxed, options: RowFilter.keys
        ) { call throws(PermissionError) in
            let filter = try RowFilter(call.arguments[0])
            lists.add(call) { read(filter, $0) }
        }
    }

    func decisionRows(_ filter: RowFilter, _ done: @escaping ListQueue.Completion) {
        let unwritten = unwrittenDecisions(filter).map {
            (OtherRow(app: $0.app, question: .permission($0.permission)), row($0))
        }
        let paused = calls.pauses(app: filter.app, question: filter.question).map {
            (OtherRow(app: $0.app, question: $0.question), row($0))
        }
        let others = unwritten + paused
        store.list(filter.decisions, filter.page, and: others.map(\.0)) { [self] result in
            done(
                result.mapError(\.ofRead).map { rows in
                    rows.map {
                        switch $0 {
                        case .decision(let decision): row(decision)
                        case .other(let index): others[index].1
                        }
                    }
                })
        }
    }

    /// The decisions in force that could not be written.
    func unwrittenDecisions(_ filter: RowFilter) -> [Decision] {
        store.unwrittenDecisions.filter { filter.decisions.matches($0) && store.isInForce($0) }
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
            "app": .string(row.app?.description ?? ""), "permission": .string(row.question.name),
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

    static let keys: Set = ["app", "permission", "outcome", "since", "limit", "offset"]

    init(_ value: Value) throws(PermissionError) {
        let options = try Options(value)
        app = try options.app()
        question = try options.question()
        outcome = try options.outcome()
        since = try options.time("since")
        page = RowPage(limit: Int(try options.uint32("limit") ?? 0), offset: Int(try options.uint32("offset") ?? 0))
    }

    var decisions: DecisionFilter { DecisionFilter(app: app, question: question) }
}
