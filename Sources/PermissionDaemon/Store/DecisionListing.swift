// Lists the store: decisions, all or those of some apps, and the other tables.

import PermissionCore
import PermissionModel

/// A range of apps, ordered by their text in the table. A text that is no longer a valid app belongs to the range too.
struct AppRange: Sendable {
    var after: ExactText?
    /// Nil if the range has no upper end.
    var last: ExactText?

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
    /// The dismissals and pauses of this session.
    func listDismissals() -> [DismissalRecord] {
        (try? rows(
            "SELECT app, permission, count, paused_until, since FROM dismissal WHERE session = ?",
            [.text(session.scopes.session)], StoreRows.dismissals)) ?? []
    }

    /// The last valid texts of rule and settings files.
    func ruleFiles() -> [(path: String, text: String)] {
        (try? rows("SELECT path, text FROM rule_file", []) { ($0.text(0), $0.text(1)) }) ?? []
    }

    /// Answers of permd that portals may have stored.
    func portalAnswers() -> [PortalAnswer] {
        (try? rows("SELECT portal_app, permission, app, verdict FROM portal_answer", [], StoreRows.portalAnswer)) ?? []
    }

    /// The decisions in force, ordered by app and permission.
    func listDecisions(
        _ filter: DecisionFilter = DecisionFilter(), among range: AppRange = AppRange()
    ) throws(PermissionError) -> [Decision] {
        var condition = filter.condition
        condition.add(range)
        let stored = try decisions("\(condition.sql) ORDER BY app, permission, pid, start", condition.values)
            .filter { holds($0) && !isVoid($0) }
        let held = heldDecisions.filter { filter.matches($0) && range.contains($0.app) && holds($0) }
        guard !held.isEmpty else { return stored }
        return (stored + held).sorted {
            ($0.app, $0.permission, $0.process?.pid ?? 0) < ($1.app, $1.permission, $1.process?.pid ?? 0)
        }
    }

    /// The range of the next apps, at most `most`, that have decisions or are among `others`.
    func appRange(
        after: ExactText?, most: Int, and others: [AppID]
    ) throws(PermissionError) -> AppRange {
        var condition = RowCondition()
        let rest = AppRange(after: after)
        condition.add(rest)
        let stored = try rows(
            "SELECT DISTINCT app FROM decision\(condition.sql) ORDER BY app LIMIT ?",
            condition.values + [.integer(Int64(most))]
        ) { ExactText($0.text(0)) }
        let remembered = (heldDecisions.map(\.app) + others).filter { rest.contains($0) }
        let apps = Set(stored + remembered.map { ExactText($0.description) }).sorted()
        let isLast = stored.count < most && apps.count <= most
        return AppRange(after: after, last: isLast ? nil : apps[min(most, apps.count) - 1])
    }
}
