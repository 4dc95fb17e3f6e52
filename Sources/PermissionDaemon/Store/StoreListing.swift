// The store's decisions as a list, whole or some apps at a time.

import PermissionCore
public import PermissionModel

/// The apps after one and up to another in the order of a list by app. Their texts, as they are in the table: one that is
/// no app any more is passed over as well.
public struct AppRange: Sendable {
    var after: ExactText?
    /// Nil: up to the last of all.
    var last: ExactText?

    public init(after: ExactText? = nil, last: ExactText? = nil) {
        self.after = after
        self.last = last
    }

    func contains(_ app: AppID) -> Bool {
        let text = ExactText(app.description)
        if let after, text <= after { return false }
        if let last, text > last { return false }
        return true
    }
}

extension RowCondition {
    mutating func add(_ range: AppRange) {
        if let after = range.after { add("app > ?", .text(after.text)) }
        if let last = range.last { add("app <= ?", .text(last.text)) }
    }
}

extension DecisionStore {
    /// What holds at `now`, by app and permission.
    public func listDecisions(
        app: AppID?, permission: Permission?, among range: AppRange = AppRange(), at now: EpochSeconds
    ) throws(PermissionError) -> [Decision] {
        var condition = RowCondition(app: app, permission: permission)
        condition.add(range)
        lookAtEnds(now, among: condition)
        condition.add("(until IS NULL OR until > ?)", .integer(now))
        let lasting = try rows(
            "SELECT \(StoreRows.decisionColumns) FROM decision\(condition.sql) ORDER BY app, permission",
            condition.values, StoreRows.decision)
        let held = held(app, permission, range)
        guard !held.isEmpty else { return lasting }
        let unreplaced = lasting.filter { sessionDecisions[Key(app: $0.app, permission: $0.permission)] == nil }
        return (unreplaced + held).sorted {
            ($0.app, $0.permission, $0.process?.pid ?? 0) < ($1.app, $1.permission, $1.process?.pid ?? 0)
        }
    }

    /// The next apps that anything may be decided about, at most so many, `others` among them.
    public func appRange(
        after: ExactText?, most: Int, and others: [AppID]
    ) throws(PermissionError) -> AppRange {
        var condition = RowCondition(app: nil, permission: nil)
        let rest = AppRange(after: after)
        condition.add(rest)
        let stored = try rows(
            "SELECT DISTINCT app FROM decision\(condition.sql) ORDER BY app LIMIT ?",
            condition.values + [.integer(Int64(most))]
        ) { ExactText($0.text(0)) }
        let remembered = held(nil, nil, rest).map(\.app) + others.filter { rest.contains($0) }
        let apps = Set(stored + remembered.map { ExactText($0.description) }).sorted()
        let isLast = stored.count < most && apps.count <= most
        return AppRange(after: after, last: isLast ? nil : apps[min(most, apps.count) - 1])
    }

    /// The decisions that only memory has in full: the session's, and those of processes.
    private func held(_ app: AppID?, _ permission: Permission?, _ range: AppRange) -> [Decision] {
        (Array(sessionDecisions.values) + onceDecisions).filter {
            (app == nil || $0.app == app) && (permission == nil || $0.permission == permission)
                && range.contains($0.app)
        }
    }
}
