// Lists of decisions, in pages.

import DBus
import PermissionCore
import PermissionModel

/// The part of a list that `limit` and `offset` select.
struct RowPage: Sendable {
    /// The most rows of a reply (org.permd.Policy1): a list neither delays others nor fills the memory.
    static let maximum = 1024

    let limit: Int
    let offset: Int

    /// - Parameter limit: 0 means the maximum.
    init(limit: Int = 0, offset: Int = 0) {
        self.limit = limit == 0 ? RowPage.maximum : min(limit, RowPage.maximum)
        self.offset = offset
    }

    /// The values of `LIMIT ? OFFSET ?`.
    var values: [SQLValue] { [.integer(Int64(limit)), .integer(Int64(offset))] }
}

/// A row of a list that is not in the table of decisions, by what it is sorted by.
struct OtherRow: Sendable {
    let app: AppID
    var question: Question?
}

enum ListedRow: Sendable {
    case decision(Decision)
    /// The index of one of the other rows.
    case other(Int)
}

extension DecisionStore {
    private func isListed(_ decision: Decision) -> Bool { isInForce(decision) && !isRevoked(decision) }

    /// Selects the rows of decisions that may be listed.
    private func listed(_ filter: DecisionFilter) -> RowCondition {
        var condition = filter.condition
        condition.add("(until IS NULL OR until > ?)", .integer(now()))
        condition.add(
            "(scope IS NULL OR scope IN (?, ?))", [.text(session.scopes.session), .text(session.scopes.boot)])
        return condition
    }

    /// Lists decisions in force and `others` by app and permission. A page has fewer rows than there is room for if some
    /// of its decisions cannot be decoded or are not in force any more.
    func list(
        _ filter: DecisionFilter, _ page: RowPage, and others: [OtherRow],
        then: @escaping @LoopActor (Result<[ListedRow], StoreError>) -> Void
    ) {
        let condition = listed(filter)
        queue.add { (database) throws(DatabaseError) in
            try DecisionRows.page(page, of: condition, and: others, database)
        } then: { [self] result in
            then(
                result.map { rows in
                    rows.filter { if case .decision(let decision) = $0 { isListed(decision) } else { true } }
                })
        }
    }

    /// Lists apps that have decisions, or are among `others`, with their decisions.
    func listApps(
        _ filter: DecisionFilter, _ page: RowPage, and others: Set<AppID>,
        then: @escaping @LoopActor (Result<[(app: AppID, decisions: [Decision])], StoreError>) -> Void
    ) {
        let condition = listed(filter)
        queue.add { (database) throws(DatabaseError) in
            var rows: [(app: AppID, decisions: [Decision])] = []
            for app in try DecisionRows.apps(page, of: condition, and: others, database) {
                rows.append((app, try DecisionRows.all(of: app, database)))
            }
            return rows
        } then: { [self] result in
            then(
                result.map { rows in
                    rows.map { ($0.app, $0.decisions.filter { filter.matches($0) && isListed($0) }) }
                })
        }
    }
}
