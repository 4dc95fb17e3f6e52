// Records decisions and acknowledgements, to compare them with what permd reports.

import DBus

/// The possible states of each app and permission: one if acknowledged, more while a call is unanswered.
@LoopActor
final class Ledger {
    struct Key: Hashable, CustomStringConvertible {
        let app: String
        let permission: String
        var description: String { "\(app) \(permission)" }
    }

    /// `grant always`, `deny until 1893456000`; empty if undecided.
    typealias State = String

    private var possible: [Key: Set<State>] = [:]
    private let report: Report

    init(_ report: Report) { self.report = report }

    /// The state if it is certain; nil if several are possible.
    func state(_ key: Key) -> State? {
        guard let states = possible[key] else { return "" }
        return states.count == 1 ? states.first : nil
    }

    /// Records a change that was requested but not acknowledged yet.
    func tries(_ key: Key, _ state: State) { possible[key, default: [""]].insert(state) }

    /// Records an acknowledged state.
    func acknowledged(_ key: Key, _ state: State) { possible[key] = [state] }

    /// Compares the ledger with rows of ListDecisions, which then become the certain states. With `mayMiss`, for a
    /// damaged store, decisions may be missing; there must never be new ones.
    func check(_ rows: [[String: Value]], _ when: String, mayMiss: Bool = false) {
        var found: [Key: State] = [:]
        for row in rows {
            guard let key = Ledger.key(row), let state = Ledger.state(row) else { continue }
            found[key] = state
            if !possible[key, default: [""]].contains(state) {
                report.lose("\(when): unexpected decision “\(key) \(state)”; expected \(text(key))")
            }
        }
        for key in possible.keys where found[key] == nil {
            if !mayMiss, !possible[key, default: [""]].contains("") {
                report.lose("\(when): the decision for “\(key)” is missing; expected \(text(key))")
            }
        }
        for key in possible.keys { possible[key] = [found[key] ?? ""] }
    }

    /// The number of decisions that certainly exist.
    var count: Int { possible.values.filter { !$0.contains("") }.count }

    func snapshot() -> [Key: Set<State>] { possible }

    func restore(_ states: [Key: Set<State>]) { possible = states }

    private func text(_ key: Key) -> String {
        possible[key, default: [""]].sorted().map { $0.isEmpty ? "undecided" : $0 }.joined(separator: " or ")
    }

    static func key(_ row: [String: Value]) -> Key? {
        guard let app = row["app"]?.stringValue, let permission = row["permission"]?.stringValue else { return nil }
        return Key(app: app, permission: permission)
    }

    /// Nil for a pause, which follows dismissals and is not a decision.
    static func state(_ row: [String: Value]) -> State? {
        guard let decision = row["decision"]?.stringValue, decision != "pause" else { return nil }
        let end = row["until"]?.uint64Value.map { " \($0)" } ?? ""
        return "\(decision) \(row["duration"]?.stringValue ?? "?")\(end)"
    }
}
