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

    /// The rows of the file that can be in the page if as many `others` may stand before them.
    func ofFile(others: Int) -> RowPage.Range {
        let first = max(0, offset - others)
        return Range(first: first, count: offset + limit - first)
    }

    struct Range: Sendable {
        let first: Int
        let count: Int

        var sql: String { " LIMIT \(count) OFFSET \(first)" }
    }

    /// Merges rows of the file with `others`, both sorted, and returns those of the page.
    ///
    /// - Parameter stored: The rows of ``ofFile(others:)``; nil for those that are left out.
    func merge<Row>(_ stored: [Row?], _ others: [Row], _ isBefore: (Row, Row) -> Bool) -> [Row] {
        let range = ofFile(others: others.count)
        var rest = others[...]
        var merged: [Row?] = []
        for row in stored {
            // Those that stand before the first of these rows are in front, although some belong before the range. They
            // are dropped below: as many rows as there are others.
            while let row, let next = rest.first, isBefore(next, row) { merged.append(rest.removeFirst()) }
            merged.append(row)
        }
        if stored.count < range.count { merged += rest.map { $0 } }
        return merged.dropFirst(offset - range.first).prefix(limit).compactMap { $0 }
    }
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

    /// Lists decisions by app and permission; nil for rows that cannot be decoded or are not in force any more.
    func list(
        _ filter: DecisionFilter, _ range: RowPage.Range,
        then: @escaping @LoopActor (Result<[Decision?], StoreError>) -> Void
    ) {
        let condition = listed(filter)
        queue.add { (database) throws(DatabaseError) in
            try DecisionRows.select(condition, " ORDER BY app, permission, pid, start\(range.sql)", database)
        } then: { [self] result in
            then(result.map { $0.map { $0.flatMap { isListed($0) ? $0 : nil } } })
        }
    }

    /// Lists apps that have decisions, or are among `others`, with their decisions.
    func listApps(
        _ filter: DecisionFilter, _ page: RowPage, and others: Set<AppID>,
        then: @escaping @LoopActor (Result<[(app: AppID, decisions: [Decision])], StoreError>) -> Void
    ) {
        let condition = listed(filter)
        queue.add { (database) throws(DatabaseError) in
            var added: [AppID] = []
            for app in others.sorted() where try !DecisionRows.exists(condition, of: app, database) {
                added.append(app)
            }
            let stored = try DecisionRows.apps(condition, page.ofFile(others: added.count).sql, database)
            var rows: [(app: AppID, decisions: [Decision])] = []
            for app in page.merge(stored, added, <) { rows.append((app, try DecisionRows.all(of: app, database))) }
            return rows
        } then: { [self] result in
            then(
                result.map { rows in
                    rows.map { ($0.app, $0.decisions.filter { filter.matches($0) && isListed($0) }) }
                })
        }
    }
}
