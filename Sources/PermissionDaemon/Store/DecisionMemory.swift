// The decisions that are in memory: all those of some apps, whether or not they are in force, and those that could not be
// written. Knows nothing of time, processes and files.

import PermissionModel

struct DecisionMemory {
    private struct Rows {
        /// Whether the app's decisions in the file were read.
        var isLoaded = false
        var decisions: [Decision] = []
        /// Those among the decisions that could not be written. They are in force until their process exits.
        var unwritten: Set<Decision> = []

        /// A decision about the app replaces all others, one about a process its own.
        mutating func set(_ decision: Decision) {
            remove {
                $0.permission == decision.permission && (decision.process == nil || $0.process == decision.process)
            }
            decisions.append(decision)
        }

        mutating func remove(where isOver: (Decision) -> Bool) {
            decisions.removeAll(where: isOver)
            unwritten = unwritten.filter { !isOver($0) }
        }
    }

    /// The maximum number of `void` filters: each is compared at every access.
    static let maximumVoid = 1024

    private var rows: [AppID: Rows] = [:]
    /// Selects decisions whose reset could not be written.
    private(set) var void: Set<DecisionFilter> = []

    var apps: Set<AppID> { Set(rows.keys) }
    var appCount: Int { rows.count }
    var unwrittenDecisions: [Decision] { rows.values.flatMap(\.unwritten) }

    func has(_ app: AppID) -> Bool { rows[app]?.isLoaded == true }

    func isVoid(_ decision: Decision) -> Bool {
        !void.isEmpty && void.contains { $0.matches(decision) }
            && rows[decision.app]?.unwritten.contains(decision) != true
    }

    // MARK: Queries

    /// The first of the app's decisions that is not revoked and meets a condition.
    func first(_ app: AppID, where condition: (Decision) -> Bool) -> Decision? {
        rows[app]?.decisions.first { condition($0) && !isVoid($0) }
    }

    func firstEnd(after time: EpochSeconds) -> EpochSeconds? {
        rows.values.flatMap { $0.decisions.compactMap(\.duration.end) }.filter { $0 > time }.min()
    }

    // MARK: Changes

    /// Replaces the decisions of an app by those that were read.
    mutating func load(_ app: AppID, _ decisions: [Decision]) {
        let unwritten = rows[app]?.unwritten ?? []
        rows[app] = Rows(isLoaded: true, decisions: decisions)
        for decision in unwritten { setUnwritten(decision) }
    }

    /// Forgets other apps, but for what only memory has.
    mutating func retain(_ apps: Set<AppID>) {
        rows = rows.filter { apps.contains($0.key) || !$0.value.unwritten.isEmpty }
    }

    /// A decision is on disk.
    mutating func set(_ decision: Decision) { rows[decision.app]?.set(decision) }

    /// A decision could not be written.
    mutating func setUnwritten(_ decision: Decision) {
        rows[decision.app, default: Rows()].set(decision)
        rows[decision.app]?.unwritten.insert(decision)
    }

    /// Removes decisions. Returns those that no reset had revoked before.
    mutating func remove(where isOver: (Decision) -> Bool) -> [Decision] {
        var removed: [Decision] = []
        for (app, row) in rows where row.decisions.contains(where: isOver) {
            removed += row.decisions.filter { isOver($0) && !isVoid($0) }
            rows[app]?.remove(where: isOver)
        }
        return removed
    }

    /// Revokes decisions whose reset cannot be written. Returns them, or nil if too many resets wait already.
    mutating func revoke(_ filter: DecisionFilter) -> [Decision]? {
        guard void.count < DecisionMemory.maximumVoid else { return nil }
        defer { void.insert(filter) }
        return remove(where: filter.matches)
    }

    /// All resets are on disk. Decisions that they revoked may have been read again meanwhile.
    mutating func resetsWritten() {
        guard !void.isEmpty else { return }
        for (app, row) in rows {
            let valid = row.decisions.filter { !isVoid($0) }
            rows[app]?.decisions = valid
        }
        void = []
    }
}
