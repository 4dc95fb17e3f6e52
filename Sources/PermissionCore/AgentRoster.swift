// The registered agents: their order of preference, and when one that fails is unregistered.

package import PermissionModel

package struct RegisteredAgent: Sendable, Hashable {
    package let id: AgentID
    package let level: AgentLevel
    /// Whether it is told what changes behind its prompt.
    let wantsUpdates: Bool
    /// The number of consecutive failed prompts.
    package var failures = 0
}

/// Why the last prompt could not be shown.
package enum AgentTrouble: Sendable, Hashable {
    case notStarted(String)
    case failed(AgentID, String)
}

extension AgentTrouble? {
    /// The message for apps whose requests fail. An app may be sandboxed, so it does not get the reason itself, which
    /// permctl doctor shows.
    var advice: String {
        switch self {
        case nil: "no agent can show the prompt; start one, for example permctl agent"
        case .notStarted: "no agent is running, and none could be started; permctl doctor says why"
        case .failed: "the agent failed to show the prompt, and there is no other; permctl doctor says why"
        }
    }
}

struct AgentRoster {
    /// Ordered by preference: the highest level first, within a level the newest first.
    private(set) var agents: [RegisteredAgent] = []
    /// Until an agent registers, or the one that failed shows a prompt; when another is there, until it has left.
    private(set) var trouble: AgentTrouble?

    /// Registers an agent. One that is already registered takes the new level and counts as the newest.
    mutating func add(_ id: AgentID, _ level: AgentLevel, wantsUpdates: Bool = false) {
        let failures = remove(id)?.failures ?? 0
        if case .notStarted = trouble { trouble = nil }
        let place = agents.firstIndex { $0.level <= level } ?? agents.endIndex
        agents.insert(
            RegisteredAgent(id: id, level: level, wantsUpdates: wantsUpdates, failures: failures), at: place)
    }

    @discardableResult
    mutating func remove(_ id: AgentID) -> RegisteredAgent? {
        agents.firstIndex { $0.id == id }.map { agents.remove(at: $0) }
    }

    mutating func removeAll(of connection: String) {
        agents.removeAll { $0.id.connection == connection }
        if case .failed(let id, _) = trouble, id.connection == connection, !agents.isEmpty { trouble = nil }
    }

    func best(without tried: Set<AgentID>) -> AgentID? {
        agents.first { !tried.contains($0.id) }?.id
    }

    func wantsUpdates(_ id: AgentID) -> Bool { agents.contains { $0.id == id && $0.wantsUpdates } }

    mutating func notStarted(_ why: String) { if agents.isEmpty { trouble = .notStarted(why) } }

    mutating func succeeded(_ id: AgentID) {
        let isOfAnother = if case .failed(let other, _) = trouble { other != id } else { false }
        if !isOfAnother { trouble = nil }
        if let index = agents.firstIndex(where: { $0.id == id }) { agents[index].failures = 0 }
    }

    /// Counts a failure. Returns true if the agent has reached the limit and was unregistered.
    mutating func failed(_ id: AgentID, _ why: String) -> Bool {
        trouble = .failed(id, why)
        guard let index = agents.firstIndex(where: { $0.id == id }) else { return false }
        agents[index].failures += 1
        guard agents[index].failures >= Limits.agentFailures else { return false }
        agents.remove(at: index)
        return true
    }
}
