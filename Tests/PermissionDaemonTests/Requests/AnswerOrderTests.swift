// Decide, commit, enforce, notify: whoever enforces or follows decisions hears of one before the app that asked.

import DBus
import PermissionModel
import PermissionTestKit
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct AnswerOrderTests {
    /// One connection asks, enforces and follows decisions, so that the bus keeps the order of all it gets.
    private func signals(isWritable: Bool) async throws -> [String] {
        let folder = try TemporaryFolder()
        // A file in the place of the store's folder.
        if !isWritable { _ = try folder.write("", to: "state") }
        let bus = try await PrivateBus()
        let parts = await DaemonParts(folder, devices: [Records.adapter("hci0")])
        let broker = parts.broker(try bus.connect())
        let service = BusService(broker)
        broker.start()
        #expect(try broker.connection.requestName(BusNames.service))
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
        _ = try await call(
            client, BusNames.access, "RequestAccess", [.strings([Permission.bluetooth.rawValue]), .properties([:])])
        try await got.first("the response") { $0.hasSuffix("Response") }
        withExtendedLifetime(service) {}
        broker.detach()
        for connection in [client, agent.connection, broker.connection] { connection.close() }
        await bus.stop()
        return got.all
    }

    private func call(
        _ client: Connection, _ interface: String, _ member: String, _ body: [Value] = []
    ) async throws -> Message {
        let message = Message.call(
            destination: BusNames.service, path: BusNames.root, interface: interface, member: member, body)
        return try await client.call(message, timeoutMilliseconds: nil)
    }

    @Test(arguments: [true, false])
    func theAppHearsOfADecisionLast(isWritable: Bool) async throws {
        #expect(
            try await signals(isWritable: isWritable) == [
                "\(BusNames.enforcement).StatusChanged", "\(BusNames.policy).DecisionChanged",
                "\(BusNames.access).StatusChanged", "\(BusNames.request).Response",
            ])
    }
}
