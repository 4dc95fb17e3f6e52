// What an enforcement point does when permd cannot say anything about a subject.

import DBus
import EnforcementClient
import Glibc
import PermissionClient
import PermissionModel
import PermissionTestKit
import ProcessIdentity
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
@LoopActor
struct EnforcementPointTests {
    /// A point that follows this process. Each status of it for the microphone, empty for none, is an event.
    private static func follower(on bus: PrivateBus) async throws -> (
        EnforcementClient.EnforcementPoint, EventLog<String>
    ) {
        let point = EnforcementPoint(source: "test", permissions: [.microphone], on: .address(bus.address))
        let said = EventLog<String>()
        point.onStatus = { said.add(point.statuses.status($0, .microphone)?.rawValue ?? "") }
        try await point.start()
        let process = try ProcessReader().key(getpid())
        point.statuses.follow([.process(process, AppID("exe:/usr/bin/test")!)], first: [])
        return (point, said)
    }

    /// Whether permd says that trying again helps or not: who could not be identified in time may be so later.
    @Test(arguments: [ErrorKind.limitExceeded, .accessDenied])
    func aStatusIsAskedForAgain(_ error: ErrorKind) async throws {
        let bus = try await PrivateBus()
        let service = try FakeService(on: bus)
        let asked = EventLog<Void>()
        service.add(
            BusNames.enforcement, at: BusNames.root,
            [
                Method(name: "Subscribe", inputs: [:], outputs: [:]) { $0.reply() },
                Method(
                    name: "GetStatusFor", inputs: ["who": "v", "permissions": "as"], outputs: ["statuses": "a{ss}"],
                    takesDescriptors: true
                ) { call in
                    asked.add(())
                    if asked.all.count > 2 { return call.reply(.stringTable(["microphone": "granted"])) }
                    call.fail(name: error.name, body: [.string("no"), .bool(error == .limitExceeded)])
                },
            ], properties: [Property("Ask", "s") { _ in .string("sandboxed") }])
        try service.own(BusNames.service)
        let (_, said) = try await EnforcementPointTests.follower(on: bus)
        try await said.first("the status") { $0 == "granted" }
        #expect(said.all.first == "" && asked.all.count > 2)
        await service.end()
    }

    /// permd is joined again after a call failed. What it answers to an earlier question does not count any more.
    @Test func aReplyFromBeforeALossIsIgnored() async throws {
        let bus = try await PrivateBus()
        let service = try FakeService(on: bus)
        let joins = EventLog<String>()
        let questions = EventLog<MethodCall>()
        service.add(
            BusNames.enforcement, at: BusNames.root,
            [
                Method(name: "Subscribe", inputs: [:], outputs: [:]) { call in
                    joins.add(call.sender)
                    if joins.all.count != 2 { return call.reply() }
                    call.fail(name: ErrorKind.limitExceeded.name, body: [.string("no"), .bool(true)])
                },
                Method(
                    name: "GetStatusFor", inputs: ["who": "v", "permissions": "as"], outputs: ["statuses": "a{ss}"],
                    takesDescriptors: true
                ) { questions.add($0) },
            ], properties: [Property("Ask", "s") { _ in .string("sandboxed") }])
        try service.own(BusNames.service)
        let (point, said) = try await EnforcementPointTests.follower(on: bus)
        let first = try await questions.wait(for: 1)[0]
        service.connection.send(
            .signal(
                path: BusNames.root, interface: BusNames.enforcement, member: "StatusChanged",
                [.string(""), .string("")], destination: joins.all[0]))
        let second = try await questions.wait(for: 2)[1]
        first.reply(.stringTable(["microphone": "granted"]))
        second.reply(.stringTable(["microphone": "denied"]))
        try await said.first("the status") { $0 == "denied" }
        #expect(said.all == ["denied"] && !point.statuses.isAsking)
        await service.end()
    }
}
