// What was decided and who was told: held against what permd says it remembers.

import DBus

/// Of each app and permission the states that are possible: one once somebody was told, more while a call is unanswered.
@LoopActor
final class Ledger {
    struct Key: Hashable, CustomStringConvertible {
        let app: String
        let permission: String
        var description: String { "\(app) \(permission)" }
    }

    /// `grant always`, `deny until 1893456000`; empty: undecided.
    typealias State = String

    private var possible: [Key: Set<State>] = [:]
    private let report: Report

    init(_ report: Report) { self.report = report }

    /// The state that is certain, nil while there are several.
    func state(_ key: Key) -> State? {
        guard let states = possible[key] else { return "" }
        return states.count == 1 ? states.first : nil
    }

    /// Somebody asked for it and has no answer yet.
    func tries(_ key: Key, _ state: State) { possible[key, default: [""]].insert(state) }

    /// Somebody was told that this holds.
    func told(_ key: Key, _ state: State) { possible[key] = [state] }

    /// Compares with rows of ListDecisions, and takes them for certain. Of a damaged store decisions may be gone, if
    /// that is said; none may be new.
    func check(_ rows: [[String: Value]], _ when: String, mayMiss: Bool = false) {
        var found: [Key: State] = [:]
        for row in rows {
            guard let key = Ledger.key(row), let state = Ledger.state(row) else { continue }
            found[key] = state
            if !possible[key, default: [""]].contains(state) {
                report.lose("\(when): nobody decided “\(key) \(state)”; it was \(text(key))")
            }
        }
        for key in possible.keys where found[key] == nil {
            if !mayMiss, !possible[key, default: [""]].contains("") {
                report.lose("\(when): “\(key)” is forgotten; it was \(text(key))")
            }
        }
        for key in possible.keys { possible[key] = [found[key] ?? ""] }
    }

    /// How many decisions are certain to be there.
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

    /// Nil for a pause: after dismissals, no decision.
    static func state(_ row: [String: Value]) -> State? {
        guard let decision = row["decision"]?.stringValue, decision != "pause" else { return nil }
        let end = row["until"]?.uint64Value.map { " \($0)" } ?? ""
        return "\(decision) \(row["duration"]?.stringValue ?? "?")\(end)"
    }
}
