// The decisions that are in memory: all those of some apps, whether or not they are in force, and those that could not be
// written. Knows nothing of time, processes and files.

import PermissionModel

struct DecisionMemory {
    private struct Subject: Hashable {
        let app: AppID
        let permission: Permission
    }

    private struct Rows {
        var ofApp: [Permission: Decision] = [:]
        var ofProcesses: [Decision] = []

        var all: [Decision] { ofApp.values + ofProcesses }

        mutating func add(_ decision: Decision) {
            ofProcesses.removeAll {
                $0.permission == decision.permission && (decision.process == nil || $0.process == decision.process)
            }
            if decision.process == nil { ofApp[decision.permission] = decision } else { ofProcesses.append(decision) }
        }
    }

    /// The maximum number of `void` filters: each is compared at every access.
    static let maximumVoid = 1024

    private var rows: [AppID: Rows] = [:]
    /// Decisions that could not be written. They are in force for the asking process until it exits.
    private var unwritten: [ProcessKey: [Subject: Decision]] = [:]
    /// Selects decisions whose reset could not be written.
    private(set) var void: Set<DecisionFilter> = []

    var apps: Set<AppID> { Set(rows.keys) }
    var appCount: Int { rows.count }
    var unwrittenDecisions: [Decision] { unwritten.values.flatMap(\.values) }

    func has(_ app: AppID) -> Bool { rows[app] != nil }

    func isVoid(_ decision: Decision) -> Bool { !void.isEmpty && void.contains { $0.matches(decision) } }

    // MARK: Queries

    /// The decision for a process of the app: the app's, or else the process's own.
    func decision(
        _ app: AppID, _ permission: Permission, for process: ProcessKey, _ isInForce: (Decision) -> Bool
    ) -> Decision? {
        if let decision = appDecision(app, permission, isInForce) { return decision }
        if !unwritten.isEmpty, let decision = unwritten[process]?[Subject(app: app, permission: permission)],
            isInForce(decision)
        {
            return decision
        }
        return rows[app]?.ofProcesses.first {
            $0.permission == permission && $0.process == process && isInForce($0) && !isVoid($0)
        }
    }

    func appDecision(_ app: AppID, _ permission: Permission, _ isInForce: (Decision) -> Bool) -> Decision? {
        guard let decision = rows[app]?.ofApp[permission], isInForce(decision), !isVoid(decision) else { return nil }
        return decision
    }

    /// Those about single processes of the app.
    func processDecisions(_ app: AppID) -> [Decision] {
        (rows[app]?.ofProcesses ?? []).filter { !isVoid($0) } + unwrittenDecisions.filter { $0.app == app }
    }

    // MARK: Changes

    /// Replaces the decisions of an app by those that were read.
    mutating func load(_ app: AppID, _ decisions: [Decision]) {
        rows[app] = Rows()
        for decision in decisions { rows[app]?.add(decision) }
    }

    mutating func retain(_ apps: Set<AppID>) { rows = rows.filter { apps.contains($0.key) } }

    /// A decision is on disk.
    mutating func set(_ decision: Decision) {
        rows[decision.app]?.add(decision)
        if let process = decision.process {
            unwritten[process]?[Subject(app: decision.app, permission: decision.permission)] = nil
        } else {
            removeUnwritten { $0.app == decision.app && $0.permission == decision.permission }
        }
    }

    /// A decision could not be written.
    mutating func setUnwritten(_ decision: Decision, for process: ProcessKey) {
        unwritten[process, default: [:]][Subject(app: decision.app, permission: decision.permission)] = decision
    }

    /// Removes decisions. Returns those that no reset had revoked before.
    mutating func remove(where isOver: (Decision) -> Bool) -> [Decision] {
        removeRows(where: isOver).filter { !isVoid($0) } + removeUnwritten(where: isOver)
    }

    @discardableResult
    private mutating func removeRows(where isOver: (Decision) -> Bool) -> [Decision] {
        let over = rows.values.flatMap { $0.all.filter(isOver) }
        for decision in over {
            if decision.process == nil { rows[decision.app]?.ofApp[decision.permission] = nil }
            rows[decision.app]?.ofProcesses.removeAll { $0 == decision }
        }
        return over
    }

    @discardableResult
    private mutating func removeUnwritten(where isOver: (Decision) -> Bool) -> [Decision] {
        let over = unwrittenDecisions.filter(isOver)
        for decision in over {
            guard let process = decision.process else { continue }
            unwritten[process]?[Subject(app: decision.app, permission: decision.permission)] = nil
            if unwritten[process]?.isEmpty == true { unwritten[process] = nil }
        }
        return over
    }

    /// Revokes decisions whose reset cannot be written. Returns them, or nil if too many resets wait already.
    mutating func revoke(_ filter: DecisionFilter) -> [Decision]? {
        guard void.count < DecisionMemory.maximumVoid else { return nil }
        let revoked = rows.values.flatMap { $0.all.filter { filter.matches($0) && !isVoid($0) } }
        void.insert(filter)
        return revoked + removeUnwritten(where: filter.matches)
    }

    /// All resets are on disk.
    mutating func resetsWritten() {
        let written = void
        void = []
        if !written.isEmpty { removeRows { decision in written.contains { $0.matches(decision) } } }
    }
}
