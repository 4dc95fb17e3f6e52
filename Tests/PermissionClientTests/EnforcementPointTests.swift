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
        let point = EnforcementPoint(source: "test", permissions: [.microphone], on: .address(bus.address))
        let said = EventLog<String>()
        point.onStatus = { said.add(point.statuses.status($0, .microphone)?.rawValue ?? "") }
        try await point.start()
        let process = try ProcessReader().key(getpid())
        point.statuses.follow([.process(process, AppID("exe:/usr/bin/test")!)], first: [])
        try await said.first("the status") { $0 == "granted" }
        #expect(said.all.first == "" && asked.all.count > 2)
        await service.end()
    }
}
