// Decide, commit, enforce, notify: whoever enforces or follows decisions hears of one before the app that asked, or the
// program that made it.

import DBus
import PermissionModel
import PermissionTestKit
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct AnswerOrderTests {
    /// One connection asks or decides, enforces and follows decisions, so that the bus keeps the order of all it gets.
    ///
    /// - Parameter act: Called with the connection, its app, and what gets the last event.
    private func signals(
        isWritable: Bool = true, _ act: (Connection, AppID, EventLog<String>) async throws -> Void
    ) async throws -> [String] {
        let folder = try TemporaryFolder()
        // A file in the place of the store's folder.
        if !isWritable { _ = try folder.write("", to: "state") }
        let bus = try await PrivateBus()
        let parts = await DaemonParts(folder, devices: [Records.adapter("hci0")])
        let coordinator = parts.coordinator(try bus.connect())
        let service = BusService(coordinator)
        coordinator.start()
        #expect(try coordinator.connection.requestName(BusNames.service))
        let agent = ScriptedAgent(try bus.connect(), otherwise: .grant(.always))
        try await agent.register()

        let client = try bus.connect()
        let got = EventLog<String>()
        for (interface, member) in [
            (BusNames.access, "StatusChanged"), (BusNames.policy, "DecisionChanged"),
            (BusNames.enforcement, "StatusChanged"), (BusNames.request, "Response"),
        ] {
            client.onSignal(interface: interface, member: member, addMatch: false) { _ in
                got.add("\(interface).\(member)")
            }
        }
        for interface in [BusNames.policy, BusNames.enforcement] { _ = try await call(client, interface, "Subscribe") }
        _ = try await call(client, BusNames.access, "GetStatus", [.strings([])])
        let app = try #require(coordinator.identifier.cached(client.uniqueName)?.app)
        try await act(client, app, got)
        try await got.first("the answer") { $0.hasSuffix("Response") }
        withExtendedLifetime(service) {}
        coordinator.detach()
        for connection in [client, agent.connection, coordinator.connection] { connection.close() }
        await bus.end()
        return got.all
    }

    private func call(
        _ client: Connection, _ interface: String, _ member: String, _ body: [Value] = []
    ) async throws -> Message {
        try await client.call(message(interface, member, body), timeoutMilliseconds: nil)
    }

    private func message(_ interface: String, _ member: String, _ body: [Value]) -> Message {
        .call(destination: BusNames.service, path: BusNames.root, interface: interface, member: member, body)
    }

    /// Makes changes one after the other, and logs the reply to the last.
    private func change(_ client: Connection, _ got: EventLog<String>, _ calls: [(String, [Value])]) {
        for (index, (member, body)) in calls.enumerated() {
            client.call(message(BusNames.policy, member, body), timeoutMilliseconds: nil) { _ in
                if index == calls.count - 1 { got.add("Response") }
            }
        }
    }

    @Test(arguments: [true, false])
    func theAppHearsOfADecisionLast(isWritable: Bool) async throws {
        let got = try await signals(isWritable: isWritable) { client, _, _ in
            _ = try await call(
                client, BusNames.access, "RequestAccess", [.strings([Permission.bluetooth.rawValue]), .properties([:])])
        }
        #expect(got == AnswerOrderTests.signals + ["\(BusNames.request).Response"])
    }

    private static let signals = [
        "\(BusNames.enforcement).StatusChanged", "\(BusNames.policy).DecisionChanged",
        "\(BusNames.access).StatusChanged",
    ]

    @Test func theDeciderIsAnsweredLast() async throws {
        let decision: [Value] = [.string("bluetooth"), .string("deny"), .properties([:])]
        let set = try await signals { client, app, got in
            change(client, got, [("SetDecision", [.string(app.description)] + decision)])
        }
        #expect(set == AnswerOrderTests.signals + ["Response"])
        let reset = try await signals { client, app, got in
            change(
                client, got,
                [("SetDecision", [.string(app.description)] + decision), ("Reset", [.string(""), .string("")])])
        }
        // Those of the decision, and those of its end.
        #expect(reset == AnswerOrderTests.signals + AnswerOrderTests.signals + ["Response"])
    }
}
