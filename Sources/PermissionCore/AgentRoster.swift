// Which agents are there, in which order they are asked, and when one is given up.

public import PermissionModel

public struct RegisteredAgent: Sendable, Hashable {
    public let id: AgentID
    public let level: AgentLevel
    /// Failed prompts in a row.
    public var failures = 0
}

struct AgentRoster {
    /// Best first: by level, within a level the newest.
    private(set) var agents: [RegisteredAgent] = []

    /// Registers an agent; one that is there already takes the new level and counts as new.
    mutating func add(_ id: AgentID, _ level: AgentLevel) {
        let failures = remove(id)?.failures ?? 0
        let place = agents.firstIndex { $0.level <= level } ?? agents.endIndex
        agents.insert(RegisteredAgent(id: id, level: level, failures: failures), at: place)
    }

    @discardableResult
    mutating func remove(_ id: AgentID) -> RegisteredAgent? {
        agents.firstIndex { $0.id == id }.map { agents.remove(at: $0) }
    }

    mutating func removeAll(of connection: String) {
        agents.removeAll { $0.id.connection == connection }
    }

    func best(without tried: Set<AgentID>) -> AgentID? {
        agents.first { !tried.contains($0.id) }?.id
    }

    mutating func succeeded(_ id: AgentID) {
        if let index = agents.firstIndex(where: { $0.id == id }) { agents[index].failures = 0 }
    }

    /// Counts a failure; true when it was one too many and the agent is gone.
    mutating func failed(_ id: AgentID) -> Bool {
        guard let index = agents.firstIndex(where: { $0.id == id }) else { return false }
        agents[index].failures += 1
        guard agents[index].failures >= Limits.agentFailures else { return false }
        agents.remove(at: index)
        return true
    }
}
