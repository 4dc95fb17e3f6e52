// The lists of org.permd.Policy1 in pages: decisions, which are in memory, and the history, which the store reads.

import DBus
import PermissionCore
import PermissionModel

extension SettingsInterface {
    /// A method that replies with the rows that a filter selects.
    func list(
        _ name: String, _ rows: String,
        _ reply: @escaping @LoopActor (MethodCall, RowFilter) throws(PermissionError) -> Void
    ) -> Method {
        Method(
            name, ["filter": "a{sv}"], returns: [rows: "aa{sv}"], callers: .unsandboxed, options: RowFilter.keys
        ) { call throws(PermissionError) in try reply(call, try RowFilter(call.arguments[0])) }
    }

    /// The apps that a filter selects, sorted, with what was decided about them.
    func decidedApps(_ filter: RowFilter) throws(PermissionError) -> [DecidedApp] {
        let decisions: [AppID: [Decision]]
        do throws(StoreError) { decisions = try store.decisions(filter.decisions) } catch { throw error.ofRead }
        let pauses = Dictionary(grouping: calls.pauses(app: filter.app, item: filter.item), by: \.app)
        return Set(decisions.keys).union(pauses.keys).sorted().map {
            DecidedApp(app: $0, decisions: decisions[$0] ?? [], pauses: pauses[$0] ?? [])
        }
    }

    /// Decisions and pauses by app and question.
    func decisionRows(_ filter: RowFilter) throws(PermissionError) -> [ListQueue.Row] {
        let all = try decidedApps(filter).flatMap(\.sorted)
        return all[filter.page.places(in: all.count)].map {
            switch $0 {
            case .decision(let decision): row(decision)
            case .pause(let pause): row(pause)
            }
        }
    }

    func historyRows(_ filter: RowFilter, _ done: @escaping ListQueue.Completion) {
        store.history.list(
            app: filter.app, item: filter.item, outcome: filter.outcome, since: filter.since, filter.page
        ) { [self] in
            done($0.mapError(\.ofRead).map { $0.map(row) })
        }
    }

    private func row(_ row: HistoryRow) -> ListQueue.Row {
        var result: ListQueue.Row = [
            "time": .uint64(UInt64(clamping: row.time)), "request": .string(row.request),
            "app": .string(row.app?.description ?? ""), "permission": .string(row.item.name),
            "outcome": .string(row.outcome.rawValue), "by": .string(row.by.rawValue), "count": .uint32(row.count),
        ]
        if let seconds = row.seconds { result["seconds"] = .uint32(seconds) }
        if let status = row.status { result["status"] = .string(status.rawValue) }
        return result
    }
}

/// What was decided about an app: its decisions in force, and its pauses.
struct DecidedApp {
    enum Item {
        case decision(Decision)
        case pause(Pause)

        /// Of the same question, decisions are first, those of processes by process.
        fileprivate var key: (item: String, isPause: Int, pid: Int32, start: UInt64) {
            switch self {
            case .decision(let decision):
                (decision.permission.rawValue, 0, decision.process?.pid ?? 0, decision.process?.startTime ?? 0)
            case .pause(let pause): (pause.item.name, 1, 0, 0)
            }
        }
    }

    let app: AppID
    var decisions: [Decision] = []
    var pauses: [Pause] = []

    var sorted: [Item] { (decisions.map(Item.decision) + pauses.map(Item.pause)).sorted { $0.key < $1.key } }
}

/// The filters of the listing methods.
struct RowFilter {
    let app: AppID?
    let item: PromptItem?
    /// Of the history only.
    let outcome: Outcome?
    let since: EpochSeconds?
    let page: RowPage

    static let keys: Set = ["app", "permission", "outcome", "since", "limit", "offset"]

    init(_ value: Value) throws(PermissionError) {
        let options = try Options(value)
        app = try options.app()
        item = try options.item()
        outcome = try options.outcome()
        since = try options.time("since")
        page = RowPage(limit: Int(try options.uint32("limit") ?? 0), offset: Int(try options.uint32("offset") ?? 0))
    }

    var decisions: DecisionFilter { DecisionFilter(app: app, item: item) }
}
