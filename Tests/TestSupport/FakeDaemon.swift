// Stands in for the daemon: registers agents and sends them what a correct, a faulty or a hostile daemon would.

package import DBus
package import PermissionModel
package import PermissionTestKit

@LoopActor
package final class FakeDaemon {
    private let service: FakeService
    /// The agents that registered, by their unique name and path.
    package let agents = EventLog<(owner: String, path: String)>()
    /// The callers of `GetStatus`, in order.
    package let questions = EventLog<String>()
    /// The calls of `RequestAccess`, each answered with the path of its request.
    package let requests = EventLog<MethodCall>()
    /// The connections that subscribe to changes.
    package let subscribers = EventLog<String>()
    /// How many of the next calls are refused for now, and those that were.
    package var refusals = 0
    package let refused = EventLog<String>()

    private func refuses(_ call: MethodCall) -> Bool {
        guard refusals > 0 else { return false }
        refusals -= 1
        call.fail(name: ErrorKind.limitExceeded.name, body: [.string("busy"), .bool(true)])
        refused.add(call.message.member ?? "")
        return true
    }

    package init(_ bus: PrivateBus, refusals: Int = 0) throws {
        self.refusals = refusals
        service = try FakeService(on: bus)
        service.add(
            BusNames.agentManager, at: BusNames.root,
            [
                Method(
                    name: "RegisterAgent", inputs: ["agent": "o", "options": "a{sv}"],
                    outputs: [:]
                ) { [weak self, agents] call in
                    if self?.refuses(call) == true { return }
                    call.reply()
                    agents.add((call.sender, call.arguments[0].objectPathValue ?? ""))
                },
                Method(name: "ListAgents", inputs: [:], outputs: ["agents": "aa{sv}"]) { [agents] call in
                    call.reply(.rows(agents.all.map { ["agent": .objectPath($0.path)] }))
                },
            ])
        service.add(
            BusNames.access, at: BusNames.root,
            [
                Method(
                    name: "GetStatus", inputs: ["permissions": "as"],
                    outputs: ["statuses": "a{ss}"]
                ) { [weak self, questions] call in
                    if self?.refuses(call) == true { return }
                    call.reply(.stringTable(["camera": "undetermined"]))
                    questions.add(call.sender)
                },
                Method(
                    name: "RequestAccess", inputs: ["permissions": "as", "options": "a{sv}"],
                    outputs: ["request": "o"]
                ) { [requests] call in
                    call.reply(.objectPath(FakeDaemon.path(of: call)))
                    requests.add(call)
                },
            ])
        for interface in [BusNames.policy, BusNames.devices, BusNames.usage] {
            service.add(
                interface, at: BusNames.root,
                [
                    Method(name: "Subscribe", inputs: [:], outputs: [:]) { [weak self, subscribers] call in
                        if self?.refuses(call) == true { return }
                        call.reply()
                        subscribers.add(call.sender)
                    }
                ])
        }
        try service.own(BusNames.service)
    }

    /// Calls the agent that registered last.
    package func call(_ member: String, _ body: [Value]) async throws -> Message {
        guard let agent = agents.all.last else { throw TestKitError("no agent") }
        return try await service.connection.call(
            .call(destination: agent.owner, path: agent.path, interface: BusNames.agent, member: member, body),
            timeoutMilliseconds: nil)
    }

    package static func details(_ app: String = "exe:/a") -> [String: Value] {
        [
            "app": .string(app), "durations": .strings(["once", "always"]),
            "items": .rows([["permission": .string("camera")]]),
        ]
    }

    package func prompt(_ path: String, _ details: [String: Value] = details()) async -> String {
        do {
            let reply = try await call("Prompt", [.objectPath(path), .properties(details)])
            return reply.body.first?.stringValue ?? "?"
        } catch {
            return "\(error)"
        }
    }

    /// Sends a prompt with that number, by default about the camera; returns the outcome that the agent replies with.
    package func prompt(_ number: Int, _ details: [String: Value]) async throws -> String {
        let defaults: [String: Value] = [
            "items": .rows([["permission": .string("camera")]]), "durations": .strings(["once", "session", "always"]),
        ]
        return await prompt(FakeDaemon.path(number), details.merging(defaults) { given, _ in given })
    }

    package func update(_ number: Int, _ details: [String: Value]) async throws {
        _ = try await call("Update", [.objectPath(FakeDaemon.path(number)), .properties(details)])
    }

    package func withdraw(_ number: Int) async throws {
        _ = try await call("Withdraw", [.objectPath(FakeDaemon.path(number)), .string("")])
    }

    private static func path(_ number: Int) -> String { "/org/permd/prompt/\(number)" }

    private static func path(of call: MethodCall) -> String {
        BusNames.requestPath(
            owner: call.sender, token: call.arguments[1].properties?["handle_token"]?.stringValue ?? "")
    }

    /// Answers a request for the camera.
    package func respond(to call: MethodCall, _ status: Status) {
        service.connection.send(
            .signal(
                path: FakeDaemon.path(of: call), interface: BusNames.request, member: "Response",
                [.uint32(0), .properties(["statuses": .stringTable(["camera": status.rawValue])])],
                destination: call.sender))
    }

    package func notify(_ status: Status, to client: String) {
        service.connection.send(
            .signal(
                path: BusNames.root, interface: BusNames.access, member: "StatusChanged",
                [.string("camera"), .string(status.rawValue)], destination: client))
    }

    package func end() async { await service.end() }
}
