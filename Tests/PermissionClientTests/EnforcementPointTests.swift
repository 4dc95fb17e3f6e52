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
    /// A point that follows this process. What it is told about the microphone, empty for nothing, is an event.
    private static func follower(on bus: PrivateBus) async throws -> (
        EnforcementClient.EnforcementPoint, EventLog<String>
    ) {
        let point = EnforcementPoint(source: "test", permissions: [.microphone], on: .address(bus.address))
        let said = EventLog<String>()
        point.onAccess = { said.add(point.access[$0, .microphone]?.access.rawValue ?? "") }
        try await point.start()
        let process = try ProcessReader().key(getpid())
        point.access.follow([.process(process, AppID("exe:/usr/bin/test")!)], first: [])
        return (point, said)
    }

    /// The reply of GetAccessFor.
    private static func microphone(_ access: String) -> Value {
        .dictionary(
            key: "s", value: "a{sv}",
            [DictionaryEntry(.string("microphone"), .properties(["access": .string(access)]))])
    }

    /// A permd of a version before GetAccessFor allows nothing, and what is followed is not left as it was.
    @Test(arguments: ["", "unheard-of"])
    func whatIsNotUnderstoodIsNotAllowed(_ word: String) async throws {
        let bus = try await PrivateBus()
        let service = try FakeService(on: bus)
        var methods = [Method(name: "Subscribe", inputs: [:], outputs: [:]) { $0.reply() }]
        if !word.isEmpty {
            methods.append(
                Method(
                    name: "GetAccessFor", inputs: ["who": "v", "permissions": "as"],
                    outputs: ["access": "a{sa{sv}}"], takesDescriptors: true
                ) { $0.reply(EnforcementPointTests.microphone(word)) })
        }
        service.add(
            BusNames.enforcement, at: BusNames.root, methods,
            properties: [Property("Ask", "s") { _ in .string("sandboxed") }])
        try service.own(BusNames.service)
        let (point, said) = try await EnforcementPointTests.follower(on: bus)
        #expect(try await said.wait(for: 1).first == "")
        let subject = Subject.process(try ProcessReader().key(getpid()), AppID("exe:/usr/bin/test")!)
        #expect(point.access.isKnown(subject))
        await service.end()
    }

    /// Whether permd says that trying again helps or not: who could not be identified in time may be so later.
    @Test(arguments: [ErrorKind.limitExceeded, .accessDenied])
    func accessIsAskedForAgain(_ error: ErrorKind) async throws {
        let bus = try await PrivateBus()
        let service = try FakeService(on: bus)
        let asked = EventLog<Void>()
        service.add(
            BusNames.enforcement, at: BusNames.root,
            [
                Method(name: "Subscribe", inputs: [:], outputs: [:]) { $0.reply() },
                Method(
                    name: "GetAccessFor", inputs: ["who": "v", "permissions": "as"],
                    outputs: ["access": "a{sa{sv}}"],
                    takesDescriptors: true
                ) { call in
                    asked.add(())
                    if asked.all.count > 2 { return call.reply(EnforcementPointTests.microphone("allowed")) }
                    call.fail(name: error.name, body: [.string("no"), .bool(error == .limitExceeded)])
                },
            ], properties: [Property("Ask", "s") { _ in .string("sandboxed") }])
        try service.own(BusNames.service)
        let (_, said) = try await EnforcementPointTests.follower(on: bus)
        try await said.first("the answer") { $0 == "allowed" }
        #expect(said.all.first == "" && asked.all.count > 2)
        await service.end()
    }

    /// A grant that a person took is not asked about before the app begins anew, one that ended is.
    @Test func whyAGrantEndedSaysWhetherToAsk() async throws {
        let bus = try await PrivateBus()
        let service = try FakeService(on: bus)
        let requests = EventLog<String>()
        service.add(
            BusNames.enforcement, at: BusNames.root,
            [
                Method(name: "Subscribe", inputs: [:], outputs: [:]) { $0.reply() },
                Method(
                    name: "RequestAccessFor", inputs: ["who": "v", "permissions": "as", "options": "a{sv}"],
                    outputs: ["request": "o"], takesDescriptors: true
                ) { call in
                    requests.add(call.arguments[1].strings?.first ?? "")
                    call.reply(.objectPath("/request"))
                },
            ], properties: [Property("Ask", "s") { _ in .string("sandboxed") }])
        try service.own(BusNames.service)
        let point = EnforcementPoint(source: "test", permissions: [.camera, .microphone], on: .address(bus.address))
        let joined = EventLog<Void>()
        point.onChange = { joined.add(()) }
        try await point.start()
        try await joined.wait(for: 1)
        let process = try ProcessReader().key(getpid())
        let subject = Subject.process(process, AppID("exe:/usr/bin/test")!)
        func update(_ said: [Permission: SubjectAccess], attempts: Set<UInt32> = [1]) {
            let states = said.map { permission, said in
                let isAsk = said.access == .ask
                return (
                    SubjectPermission(subject, permission),
                    SubjectState(attempts: attempts, device: "", said: said, isUndecided: isAsk)
                )
            }
            point.requests.update(Dictionary(uniqueKeysWithValues: states))
        }
        let allowed = SubjectAccess(.allowed)
        update([.microphone: allowed, .camera: allowed])
        let taken = SubjectAccess(.ask, ended: .person)
        update([.microphone: taken, .camera: allowed])
        update([.microphone: taken, .camera: SubjectAccess(.ask, ended: .time)])
        #expect(try await requests.wait(for: 1) == ["camera"])
        update([.microphone: taken], attempts: [1, 2])
        #expect(try await requests.wait(for: 2) == ["camera", "microphone"])
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
                    name: "GetAccessFor", inputs: ["who": "v", "permissions": "as"],
                    outputs: ["access": "a{sa{sv}}"],
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
        first.reply(EnforcementPointTests.microphone("allowed"))
        second.reply(EnforcementPointTests.microphone("refused"))
        try await said.first("the answer") { $0 == "refused" }
        #expect(said.all == ["refused"] && !point.access.isAsking)
        await service.end()
    }
}
