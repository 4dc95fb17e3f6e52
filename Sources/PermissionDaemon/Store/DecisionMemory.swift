// All decisions, whether or not they are in force: those of the file, and those that could not be written. Knows nothing
// of time, processes and files.

import PermissionModel

struct DecisionMemory {
    /// The maximum number of `pendingResets` filters: each is compared at every access.
    static let maximumPendingResets = 1024
    /// The maximum number of apps in `ends`.
    private static let maximumEnds = Limits.decisions

    /// Each app has at least one.
    private var decisions: [AppID: [Decision]] = [:]
    /// The decisions among them that could not be written. They are in force until their process exits.
    private var unwritten: Set<Decision> = []
    private var count = 0
    /// Selects decisions whose reset could not be written.
    private(set) var pendingResets: Set<DecisionFilter> = []
    /// Why the last grant that has ended did, while this program runs. When there are too many, all are forgotten.
    private var ends: [AppID: [Permission: GrantEnd]] = [:]

    /// How many decisions the file has.
    var writtenCount: Int { count - unwritten.count }

    private func isPendingReset(_ decision: Decision) -> Bool {
        !pendingResets.isEmpty && pendingResets.contains { $0.matches(decision) } && !unwritten.contains(decision)
    }

    // MARK: Queries

    /// The first of the app's decisions that is not revoked and meets a condition.
    func first(_ app: AppID, where condition: (Decision) -> Bool) -> Decision? {
        decisions[app]?.first { condition($0) && !isPendingReset($0) }
    }

    /// The decisions that are not revoked and meet a condition, of one app or of all.
    func all(_ app: AppID?, where condition: (Decision) -> Bool) -> [AppID: [Decision]] {
        let apps = app.map { app in decisions.filter { $0.key == app } } ?? decisions
        return apps.compactMapValues { rows in
            let found = rows.filter { condition($0) && !isPendingReset($0) }
            return found.isEmpty ? nil : found
        }
    }

    /// Whether setting the decision replaces another, so that there are not more of them.
    func replaces(_ decision: Decision) -> Bool {
        decisions[decision.app]?.contains { $0.isReplaced(by: decision) } == true
    }

    /// Why the app's last grant that has ended did, whichever of its processes had it; nil if that is not known.
    func lastEnd(_ app: AppID, _ permission: Permission) -> GrantEnd? { ends[app]?[permission] }

    /// The first end of a decision.
    var firstEnd: EpochSeconds? {
        var first: EpochSeconds?
        for rows in decisions.values {
            for row in rows { if let end = row.duration.end { first = min(first ?? end, end) } }
        }
        return first
    }

    /// The first deadline of a decision.
    var firstDeadline: Int64? { decisions.values.flatMap { $0.compactMap(\.deadline) }.min() }

    // MARK: Changes

    private mutating func replace(_ app: AppID, by rows: [Decision]) {
        count += rows.count - (decisions[app]?.count ?? 0)
        decisions[app] = rows.isEmpty ? nil : rows
    }

    /// Replaces the decisions by those of the file; of more than `maximum`, by the newest. Those that could not be written
    /// stay.
    mutating func read(_ rows: [Decision], atMost maximum: Int) {
        let kept = unwritten
        let isLarger = rows.count > maximum
        let rows = isLarger ? Array(rows.sorted { $0.decided > $1.decided }.prefix(maximum)) : rows
        (decisions, unwritten, count) = (Dictionary(grouping: rows, by: \.app), [], rows.count)
        for decision in kept { setUnwritten(decision) }
    }

    /// A decision is on disk. One about the app replaces all others, one about a process its own.
    mutating func set(_ decision: Decision) {
        let rows = decisions[decision.app] ?? []
        let replaced = rows.filter { $0.isReplaced(by: decision) }
        if !unwritten.isEmpty { unwritten.subtract(replaced) }
        if decision.verdict == .deny { noteEnds(of: replaced) { _ in .person } }
        replace(decision.app, by: rows.filter { !$0.isReplaced(by: decision) } + [decision])
    }

    /// A decision could not be written.
    mutating func setUnwritten(_ decision: Decision) {
        set(decision)
        unwritten.insert(decision)
    }

    private mutating func noteEnds(of decisions: [Decision], _ end: (Decision) -> GrantEnd?) {
        for decision in decisions where decision.verdict == .grant {
            if ends.count >= DecisionMemory.maximumEnds, ends[decision.app] == nil { ends = [:] }
            ends[decision.app, default: [:]][decision.permission] = end(decision)
        }
    }

    /// Removes decisions. Returns those that no reset had revoked before.
    ///
    /// - Parameter end: Why a grant among them ends.
    mutating func remove(
        ending end: (Decision) -> GrantEnd?, where isOver: (Decision) -> Bool
    ) -> [Decision] {
        var removed: [Decision] = []
        for (app, rows) in decisions where rows.contains(where: isOver) {
            removed += rows.filter { isOver($0) && !isPendingReset($0) }
            replace(app, by: rows.filter { !isOver($0) })
        }
        unwritten.subtract(removed)
        noteEnds(of: removed, end)
        return removed
    }

    /// A person's reset. Returns the decisions that no reset had revoked before.
    mutating func reset(_ filter: DecisionFilter) -> [Decision] {
        remove(ending: { _ in .person }, where: filter.matches)
    }

    /// Revokes decisions whose reset cannot be written. Returns them, or nil if too many resets wait already.
    mutating func revoke(_ filter: DecisionFilter) -> [Decision]? {
        guard pendingResets.count < DecisionMemory.maximumPendingResets else { return nil }
        defer { pendingResets.insert(filter) }
        return reset(filter)
    }

    /// All resets are on disk. Decisions that they revoked may have been read again meanwhile.
    mutating func resetsWritten() {
        guard !pendingResets.isEmpty else { return }
        for (app, rows) in decisions where rows.contains(where: isPendingReset) {
            replace(app, by: rows.filter { !isPendingReset($0) })
        }
        pendingResets = []
    }
}

extension Decision {
    fileprivate func isReplaced(by new: Decision) -> Bool {
        permission == new.permission && (new.process == nil || process == new.process)
    }
}
