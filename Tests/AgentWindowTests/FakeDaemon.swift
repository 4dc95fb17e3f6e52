// Stands for the daemon on a bench's bus, and sends the agent prompts that the real daemon never would.

import DBus
import PermissionModel
import PermissionTestKit

@LoopActor
final class FakeDaemon {
    private let service: FakeService
    private let agents = EventLog<(owner: String, path: String)>()

    /// Stops the bench's own daemon first.
    init(_ bench: WindowBench) async throws {
        await bench.permd.stop()
        service = try FakeService(on: bench.permd.bus)
        service.add(
            BusNames.agentManager, at: BusNames.root,
            [
                Method(
                    name: "RegisterAgent", inputs: ["agent": "o", "options": "a{sv}"],
                    outputs: [:]
                ) { [agents] call in
                    call.reply()
                    agents.add((call.sender, call.arguments[0].objectPathValue ?? ""))
                },
                Method(name: "ListAgents", inputs: [:], outputs: ["agents": "aa{sv}"]) { [agents] call in
                    call.reply(.rows(agents.all.map { ["agent": .objectPath($0.path)] }))
                },
            ])
        try service.own(BusNames.service)
    }

    /// Sends a prompt; returns the outcome that the agent replies with.
    func prompt(_ number: Int, _ details: [String: Value]) async throws -> String {
        var details = details
        if details["items"] == nil { details["items"] = .rows([["permission": .string("camera")]]) }
        details["durations"] = .strings(["once", "session", "always"])
        let reply = try await service.connection.call(
            try call("Prompt", number, .properties(details)), timeoutMilliseconds: nil)
        return reply.body.first?.stringValue ?? "?"
    }

    /// Waits until so many agents have registered, of which the last gets the prompts.
    func waitForAgents(_ count: Int) async throws { try await agents.wait(for: count) }

    func update(_ number: Int, _ details: [String: Value]) async throws {
        _ = try await service.connection.call(try call("Update", number, .properties(details)))
    }

    func withdraw(_ number: Int) async throws {
        _ = try await service.connection.call(try call("Withdraw", number, .string("")))
    }

    private func call(_ member: String, _ number: Int, _ argument: Value) throws -> Message {
        guard let agent = agents.all.last else { throw TestKitError("no agent") }
        return .call(
            destination: agent.owner, path: agent.path, interface: BusNames.agent, member: member,
            [.objectPath("/org/permd/prompt/\(number)"), argument])
    }

    func end() { service.end() }
}
