// Invalid calls: each fails with InvalidArguments, marked as final, and changes no state.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct InvalidCallTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let interface: String
        let member: String
        let body: [Value]
        let why: String

        init(_ interface: String, _ member: String, _ body: [Value], _ why: String) {
            (self.interface, self.member, self.body, self.why) = (interface, member, body, why)
        }

        var testDescription: String { "\(member): \(why)" }
    }

    nonisolated static func request(_ permissions: [String], _ options: [String: Value] = [:], _ why: String) -> Case {
        Case(BusNames.access, "RequestAccess", [.strings(permissions), .properties(options)], why)
    }

    nonisolated static func set(
        _ app: String, _ permission: String, _ decision: String, _ options: [String: Value] = [:], _ why: String
    ) -> Case {
        Case(
            BusNames.policy, "SetDecision",
            [.string(app), .string(permission), .string(decision), .properties(options)], why)
    }

    nonisolated static let cases: [Case] =
        [
            request([], "no permission"), request(["camera", "camera"], "twice"), request(["screen"], "unknown"),
            request(["camera", ""], "empty"), request(["Camera"], "case matters"),
            request(["camera"], ["handle_token": .string("a-b")], "token with a dash"),
            request(["camera"], ["handle_token": .string("")], "empty token"),
            request(["camera"], ["handle_token": .string(String(repeating: "a", count: 65))], "long token"),
            request(["camera"], ["handle_token": .string(String(repeating: "a", count: 1 << 20))], "a token of 1 MiB"),
            request(["camera"], ["handle_token": .uint32(1)], "token u"),
            request(["camera"], ["reasons": .string("x")], "reasons s"),
            request(["camera"], ["reasons": .properties(["camera": .string("x")])], "reasons a{sv}"),
            request(["camera"], ["explanation": .string("x")], "explanation s"),
            request(["camera"], ["explanation": .structure([.string("a")])], "explanation (s)"),
            request(["camera"], ["explanation": .structure([.string("a"), .uint32(1)])], "explanation (su)"),
            request(["camera"], ["parent_window": .uint32(1)], "parent_window u"),
            request(["camera"], ["parent_window": .string("win:7")], "parent_window without a known prefix"),
            request(["camera"], ["interactive": .string("no")], "interactive s"),
            request(["camera"], ["interactive": .uint32(0)], "interactive u"),
            request(["camera"], ["hold": .uint32(16)], "hold 16"),
            request(["camera"], ["hold": .string("1")], "hold s"),
            request(["camera"], ["hold": .uint32(.max)], "hold max"),
            request(["camera"], ["hold": .bool(true)], "hold b"),
            Case(BusNames.access, "GetStatus", [.strings(["camera", "x"])], "unknown permission"),
            Case(BusNames.access, "OpenDevice", [.string("x"), .string(""), .properties([:])], "unknown permission"),
            Case(BusNames.access, "OpenDevice", [.string(""), .string(""), .properties([:])], "empty permission"),
            Case(
                BusNames.access, "OpenDevice",
                [.string("camera"), .string(""), .properties(["writable": .uint32(1)])], "writable u"),
            Case(
                BusNames.agentManager, "RegisterAgent",
                [.objectPath("/a"), .properties(["level": .string("boss")])], "unknown level"),
            Case(
                BusNames.agentManager, "RegisterAgent", [.objectPath("/a"), .properties(["level": .uint32(1)])],
                "level u"),
            set("nobody", "camera", "grant", "no identity"), set("", "camera", "grant", "empty app"),
            set("exe:relative", "camera", "grant", "relative path"), set("exe:/a", "x", "grant", "unknown permission"),
            set("exe:/a", "", "grant", "empty permission"), set("exe:/a", "camera", "maybe", "unknown decision"),
            set("exe:/a", "camera", "pause", "pause is not for callers"),
            set("exe:/a", "camera", "grant", ["duration": .string("once")], "once"),
            set("exe:/a", "camera", "grant", ["duration": .string("ever")], "unknown duration"),
            set("exe:/a", "camera", "grant", ["duration": .uint32(1)], "duration u"),
            set("exe:/a", "camera", "grant", ["duration": .string("until")], "until without until"),
            set("exe:/a", "camera", "grant", ["duration": .string("until"), "until": .uint64(1)], "until in the past"),
            set("exe:/a", "camera", "grant", ["duration": .string("until"), "until": .uint64(0)], "until 0"),
            set("exe:/a", "camera", "grant", ["duration": .string("until"), "until": .uint32(1)], "until u"),
            set("exe:/a", "camera", "grant", ["duration": .string("until"), "until": .int64(-1)], "until x"),
            set(String(repeating: "a", count: 1 << 20), "camera", "grant", "an app of 1 MiB"),
            Case(BusNames.policy, "Reset", [.string("nobody"), .string("")], "no identity"),
            Case(BusNames.policy, "Reset", [.string(""), .string("x")], "unknown permission"),
            Case(BusNames.policy, "ListDecisions", [.properties(["app": .string("x")])], "no identity"),
            Case(BusNames.policy, "ListDecisions", [.properties(["permission": .string("x")])], "unknown permission"),
            Case(BusNames.policy, "ListDecisions", [.properties(["limit": .int32(1)])], "limit i"),
            Case(BusNames.policy, "ListHistory", [.properties(["since": .uint32(1)])], "since u"),
            Case(BusNames.policy, "ListHistory", [.properties(["offset": .string("1")])], "offset s"),
            Case(BusNames.policy, "ListHistory", [.properties(["outcome": .string("x")])], "unknown outcome"),
            Case(BusNames.policy, "ListHistory", [.properties(["outcome": .uint32(1)])], "outcome u"),
            Case(BusNames.policy, "ListStatuses", [.properties(["app": .uint32(1)])], "app u"),
            Case(BusNames.devices, "ListDevices", [.string("x")], "unknown permission"),
        ] + wrongSignatures

    /// Calls of every method with arguments of the wrong types.
    nonisolated static var wrongSignatures: [Case] {
        let methods: [(String, [String])] = [
            (BusNames.access, ["RequestAccess", "GetStatus", "OpenDevice", "OpenSettings", "ReleaseHold"]),
            (BusNames.agentManager, ["RegisterAgent", "UnregisterAgent", "ListAgents"]),
            (
                BusNames.policy,
                [
                    "ListDecisions", "ListStatuses", "SetDecision", "Reset", "ListHistory", "ListRequests",
                    "ListRestrictions", "ListProblems", "Subscribe", "Unsubscribe",
                ]
            ), (BusNames.devices, ["ListDevices", "Subscribe", "Unsubscribe"]),
            (BusNames.usage, ["ListUses", "Subscribe", "Unsubscribe"]),
        ]
        return methods.flatMap { interface, members in
            members.flatMap { member in
                [
                    Case(interface, member, [.double(1.5)], "d"),
                    Case(interface, member, [.string("a"), .int32(1), .bool(true)], "sib"),
                ]
            }
        }
    }

    /// One daemon receives all calls, keeps running and stores nothing.
    @Test func eachIsRefused() async throws {
        let stage = try await Stage()
        for wrong in InvalidCallTests.cases {
            let refusal = await stage.refusal(wrong.interface, wrong.member, wrong.body)
            #expect(refusal == "InvalidArguments final", "\(wrong.testDescription)")
        }
        // Methods that take arguments, called without any.
        for (interface, member) in [
            (BusNames.access, "RequestAccess"), (BusNames.access, "GetStatus"), (BusNames.policy, "SetDecision"),
            (BusNames.policy, "Reset"), (BusNames.agentManager, "RegisterAgent"), (BusNames.devices, "ListDevices"),
        ] {
            #expect(await stage.refusal(interface, member) == "InvalidArguments final", "\(member)")
        }
        #expect(try await stage.rows("ListDecisions").isEmpty)
        #expect(try await stage.rows("ListRequests", nil).isEmpty)
        await stage.end()
    }

    @Test func aTokenInUseIsRefused() async throws {
        let stage = try await Stage()
        let agent = try await stage.agent()
        let app = try await stage.app()
        try await app.request("t", [.camera])
        #expect(try await app.request("t", [.microphone]).hasPrefix("InvalidArguments final"))
        // Another app may use the same one.
        let other = try await stage.app("other")
        #expect(try await other.request("t", [.camera]).hasPrefix("ok"))
        agent.answer(try await agent.prompts.wait(for: 1)[0], with: .dismiss)
        _ = try await app.response("t")
        #expect(try await app.request("t", [.microphone]).hasPrefix("ok"))
        await stage.end()
    }

    /// A call whose only fault is the type of one option leaves no request object behind.
    @Test func aRefusedCallLeavesNoRequest() async throws {
        let stage = try await Stage()
        let options: [String: Value] = ["handle_token": .string("t"), "interactive": .string("no")]
        for _ in 0..<2 {
            #expect(
                await stage.refusal(
                    BusNames.access, "RequestAccess", [.strings(["camera"]), .properties(options)])
                    == "InvalidArguments final")
        }
        let body = try await stage.call(
            BusNames.access, "RequestAccess", [.strings(["camera"]), .properties(["handle_token": .string("t")])])
        #expect(body.first?.objectPathValue?.hasSuffix("/t") == true)
        await stage.end()
    }

    @Test func unknownKeysAreIgnored() async throws {
        let stage = try await Stage()
        let app = AppID("exe:/usr/bin/a")!
        try await stage.set("grant", app, .camera, ["colour": .string("red")])
        #expect(try await stage.decisions() == ["\(app) camera grant always"])
        #expect(await stage.refusal(BusNames.policy, "ListDecisions", [.properties(["x": .double(1)])]) == nil)
        await stage.end()
    }

    /// Texts of 1 MiB are accepted, sanitized and truncated.
    @Test func longTextsAreTruncated() async throws {
        let stage = try await Stage()
        let agent = try await stage.agent([.dismiss])
        let long = String(repeating: "w \u{202E}", count: 210_000)
        let options: [String: Value] = [
            "reasons": .stringTable(["camera": long]),
            "explanation": .structure([.string(long), .string(long)]),
        ]
        _ = try await stage.call(BusNames.access, "RequestAccess", [.strings(["camera"]), .properties(options)])
        let prompt = try await agent.prompts.wait(for: 1)[0]
        #expect(prompt.items[0]["reason"]?.stringValue?.unicodeScalars.count == Limits.bodyScalars)
        let explanation = prompt.details["explanation"]?.elements?.compactMap(\.stringValue) ?? []
        #expect(explanation.map(\.unicodeScalars.count) == [Limits.titleScalars, Limits.bodyScalars])
        await stage.end()
    }

    /// A call with more content than the daemon decodes.
    @Test func anOversizedCallIsRefused() async throws {
        let stage = try await Stage()
        let huge = String(repeating: "x", count: 8 << 20)
        let refusal = await stage.refusal(BusNames.access, "GetStatus", [.strings([huge])])
        #expect(refusal != nil)
        #expect(await stage.refusal(BusNames.access, "GetStatus", [.strings([])]) == nil)
        await stage.end()
    }

    @Test func unknownMembersAreErrors() async throws {
        let stage = try await Stage()
        let error = "org.freedesktop.DBus.Error."
        #expect(await stage.refusal(BusNames.access, "Nonsense") == error + "UnknownMethod")
        #expect(await stage.refusal("org.permd.Nonsense1", "RequestAccess") == error + "UnknownInterface")
        #expect(await stage.refusal(BusNames.access, "GetStatus", path: "/nowhere") == error + "UnknownObject")
        let get = "org.freedesktop.DBus.Properties"
        #expect(
            await stage.refusal(get, "Get", [.string(BusNames.access), .string("Nonsense")]) == error
                + "UnknownProperty")
        #expect(
            await stage.refusal(get, "Set", [.string(BusNames.access), .string("Version"), .variant(.uint32(2))])
                == error + "PropertyReadOnly")
        let version = try await stage.call(get, "Get", [.string(BusNames.access), .string("Version")])
        #expect(version == [.variant(.uint32(1))])
        let permissions = try await stage.call(get, "Get", [.string(BusNames.access), .string("Permissions")])
        #expect(permissions == [.variant(.strings(["camera", "microphone", "bluetooth", "location"]))])
        await stage.end()
    }
}

extension InvalidCallTests {
    nonisolated static func request(_ permissions: [String], _ why: String) -> Case { request(permissions, [:], why) }

    nonisolated static func set(_ app: String, _ permission: String, _ decision: String, _ why: String) -> Case {
        set(app, permission, decision, [:], why)
    }
}
