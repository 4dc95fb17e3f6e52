// The door for agents, org.permd.AgentManager1.

import DBus
import PermissionCore
import PermissionModel

@LoopActor
struct AgentDoor {
    unowned let broker: Broker

    var interface: Interface {
        Interface(
            name: BusNames.agentManager,
            methods: [
                Method(
                    name: "RegisterAgent", inputs: [Argument("agent", "o"), Argument("options", "a{sv}")], outputs: []
                ) { call in call.answering { () throws(PermissionError) in try register(call) } },
                Method(name: "UnregisterAgent", inputs: [Argument("agent", "o")], outputs: []) { call in
                    call.answering { () throws(PermissionError) in try unregister(call) }
                },
                Method(name: "ListAgents", inputs: [], outputs: [Argument("agents", "aa{sv}")]) { call in
                    call.reply(.rows(broker.queue.agents.map(row)))
                },
            ],
            signals: [],
            properties: []
        )
    }

    private func register(_ call: MethodCall) throws(PermissionError) {
        let agent = try agentID(call)
        var level = AgentLevel.standard
        if let word = try Options(call.arguments[1]).string("level") {
            guard let known = AgentLevel(rawValue: word) else {
                let words = AgentLevel.allCases.reversed().map(\.rawValue).joined(separator: ", ")
                throw PermissionError(.invalidArguments, "there is no level \(quoted(word)); there are \(words)")
            }
            level = known
        }
        let owned = broker.queue.agents.filter { $0.id.connection == agent.connection && $0.id != agent }.count
        guard owned < AgentDoor.agentsPerConnection else {
            throw PermissionError(.limitExceeded, "this program has registered \(owned) agents already")
        }
        call.reply()
        broker.feed(.agentArrived(agent, level))
    }

    private func unregister(_ call: MethodCall) throws(PermissionError) {
        let agent = try agentID(call)
        guard broker.queue.agents.contains(where: { $0.id == agent }) else {
            throw PermissionError(.notFound, "this program has no agent at \(agent.path)")
        }
        call.reply()
        broker.feed(.agentUnregistered(agent))
    }

    private func agentID(_ call: MethodCall) throws(PermissionError) -> AgentID {
        guard let path = call.arguments[0].objectPathValue else { throw PermissionError(.invalidArguments) }
        return AgentID(connection: call.sender, path: path)
    }

    private func row(_ agent: RegisteredAgent) -> [String: Value] {
        [
            "agent": .objectPath(agent.id.path), "owner": .string(agent.id.connection),
            "level": .string(agent.level.rawValue), "failures": .uint32(UInt32(agent.failures)),
        ]
    }

    /// One program shows one prompt at a time; more objects than this are a flood.
    static let agentsPerConnection = 8
}
