// org.permd.AgentManager1, for agents.

import DBus
import PermissionCore
import PermissionModel

@LoopActor
struct AgentManagerInterface {
    unowned let requests: any RequestSink

    private var agents: [RegisteredAgent] { requests.queue.agents }

    var interface: Interface {
        Interface(
            name: BusNames.agentManager,
            methods: [
                Method(
                    "RegisterAgent", ["agent": "o", "options": "a{sv}"], callers: .unsandboxed,
                    options: ["level", "updates"], register),
                Method("UnregisterAgent", ["agent": "o"], callers: .unsandboxed, unregister),
                Method("ListAgents", returns: ["agents": "aa{sv}"], callers: .unsandboxed) { call in
                    call.reply(.rows(agents.map(row)))
                },
            ],
            properties: [Property("UserPresent", "b") { _ in .bool(requests.queue.isSeatActive) }],
            readers: .unsandboxed)
    }

    /// Tells all agents whether a person is in front of the screen.
    func announcePresence(_ connection: Connection) {
        let changed: [String: Value] = ["UserPresent": .bool(requests.queue.isSeatActive)]
        for agent in Set(agents.map(\.id.connection)) {
            connection.send(
                .signal(
                    path: BusNames.root, interface: StandardInterfaces.properties, member: "PropertiesChanged",
                    [.string(BusNames.agentManager), .properties(changed), .strings([])], destination: agent))
        }
    }

    private func register(_ call: MethodCall) throws(PermissionError) {
        let agent = try agentID(call)
        var level = AgentLevel.standard
        let options = try Options(call.arguments[1])
        if let name = try options.string("level") {
            guard let known = AgentLevel(rawValue: name) else {
                let names = AgentLevel.allCases.reversed().map(\.rawValue).joined(separator: ", ")
                throw PermissionError(.invalidArguments, "there is no level \(quoted(name)); the levels are \(names)")
            }
            level = known
        }
        let wantsUpdates = try options.bool("updates") ?? false
        let owned = agents.filter { $0.id.connection == agent.connection && $0.id != agent }.count
        guard owned < AgentManagerInterface.agentsPerConnection else {
            throw PermissionError(.limitExceeded, "this program has already registered \(owned) agents")
        }
        call.reply()
        requests.feed(.agentArrived(agent, level, wantsUpdates: wantsUpdates))
    }

    private func unregister(_ call: MethodCall) throws(PermissionError) {
        let agent = try agentID(call)
        guard agents.contains(where: { $0.id == agent }) else {
            throw PermissionError(.notFound, "this program has no agent at \(agent.path)")
        }
        call.reply()
        requests.feed(.agentUnregistered(agent))
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

    /// More than a program needs, since only one prompt is shown at a time.
    static let agentsPerConnection = 8
}
