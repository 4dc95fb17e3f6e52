// The conversation with one agent: which answers count, and how a prompt ends without one.

import DBus
import PermissionModel
import PermissionTestKit
import System
import TestSupport
import Testing

@testable import PermissionCore
@testable import PermissionDaemon
@testable import ProcessIdentity

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct AgentLinkTests {
    private final class Origin: Requester {
        func accept() {}
        func refuse(_ error: PermissionError) {}
        func moved(from old: QueuePlace, to new: QueuePlace) {}
        func respond(_ reply: Reply) {}
        func forget() {}
    }

    /// An agent that a test answers for, and the link to it.
    @LoopActor
    private final class Bench {
        static let prompt = PromptID(7)
        static let path = "/org/example/agent"

        let bus: PrivateBus
        let agent: Connection
        let link: AgentLink
        let connection: Connection
        private var shown = 0
        /// The calls that the agent gets.
        let calls = EventLog<Message>()
        /// What the link reports.
        let results = EventLog<AgentLink.Result>()

        init(patience: Int64 = 600_000) async throws {
            bus = try await PrivateBus()
            connection = try bus.connect()
            agent = try bus.connect()
            link = AgentLink(connection: connection, worker: Worker(), patience: patience)
            agent.methodHandler = { [calls] in calls.add($0) }
        }

        var id: AgentID { AgentID(connection: agent.uniqueName, path: Bench.path) }

        /// Shows a prompt; returns the agent's call.
        func show(deviceName: @escaping @LoopActor (Permission) -> String = { _ in "" }) async throws -> Message {
            link.show(Bench.shown(Bench.prompt), to: id, deviceName: deviceName, { [results] in results.add($0) })
            shown += 1
            return try await calls.wait(for: shown)[shown - 1]
        }

        static func shown(_ id: PromptID) -> Prompt {
            Prompt(
                id: id, request: request, items: [.camera], behind: RequestsBehind(count: 0, apps: []), pause: nil)
        }

        static let request = Request(
            id: RequestID(1), path: "/r",
            caller: Caller(
                connection: ":1.99", app: AppID("exe:/usr/bin/app")!, process: ProcessKey(pid: 1, startTime: 1)),
            items: [.camera], arrived: 0, requester: Origin())

        /// Returns once everything sent so far by either side has been received.
        func settle() async throws {
            _ = try await connection.call(.busCall("GetId"), timeoutMilliseconds: nil)
            _ = try await agent.call(.busCall("GetId"), timeoutMilliseconds: nil)
            _ = try await connection.call(.busCall("GetId"), timeoutMilliseconds: nil)
        }

        func end() async {
            agent.close()
            connection.close()
            await bus.end()
        }
    }

    private static let granted = ScriptedAgent.values([.camera: ItemDecision(verdict: .grant, duration: .always)])

    @Test func aPromptIsOneCallAndItsReplyTheAnswer() async throws {
        let bench = try await Bench()
        let call = try await bench.show()
        #expect(call.path == Bench.path && call.interface == BusNames.agent && call.member == "Prompt")
        #expect(call.body.first?.objectPathValue == AgentLink.path(of: Bench.prompt))
        #expect(call.body.last?.properties?["app"] == .string("exe:/usr/bin/app"))
        bench.agent.reply(to: call, AgentLinkTests.granted)
        #expect(AgentLinkTests.describe(try await bench.results.wait(for: 1)[0]) == "camera=grant/always")
        await bench.end()
    }

    /// What the desktop had started, as a file manager, is a detail.
    @Test func whatStartedIt() async throws {
        let started = { (name: String) in
            PromptDetails.encoded(Bench.shown(Bench.prompt), [:], starter: name, deviceName: { _ in "" })[
                "started_from"]
        }
        #expect(started("Files\u{202E}") == .string("Files") && started("") == nil)
        let scope = "0::/user.slice/user@1000.service/app.slice/app-gnome-org.gnome.Nautilus-42.scope\n"
        let process = try FakeProcess(controlGroup: scope)
        let identity = AppIdentity(reader: process.reader)
        let key = ProcessKey(pid: FakeProcess.pid, startTime: 777)
        #expect(identity.desktopEntry(ofUnitOf: key) == "org.gnome.Nautilus")
        // Another process has its ID by now.
        #expect(identity.desktopEntry(ofUnitOf: ProcessKey(pid: FakeProcess.pid, startTime: 778)) == nil)
    }

    /// An answer for longer would be one for every program that it can run.
    @Test func aRuntimeWithoutItsProgram() async throws {
        let bench = try await Bench()
        let request = Request(
            id: RequestID(1), path: "/r",
            caller: Caller(
                connection: ":1.99", app: AppID("exe:/usr/bin/python3.11")!, process: ProcessKey(pid: 1, startTime: 1)),
            items: [.camera], arrived: 0, requester: Origin())
        let prompt = Prompt(
            id: Bench.prompt, request: request, items: [.camera], behind: RequestsBehind(count: 0, apps: []), pause: nil
        )
        let results = EventLog<AgentLink.Result>()
        bench.link.show(prompt, to: bench.id, deviceName: { _ in "" }, { results.add($0) })
        let call = try await bench.calls.wait(for: 1)[0]
        #expect(call.body.last?.properties?["durations"]?.strings == ["once"])
        bench.agent.reply(to: call, AgentLinkTests.granted)
        #expect(AgentLinkTests.describe(try await results.wait(for: 1)[0]) == "camera=grant/once")
        await bench.end()
    }

    /// It goes to the next agent. Who answers pings may take its time.
    @Test func anAgentThatHangs() async throws {
        let bench = try await Bench(patience: 300)
        _ = try await bench.show()
        let address = bench.bus.address
        let silent = try await RawBusClient.offLoop { try RawBusClient(address) }
        let results = EventLog<AgentLink.Result>()
        bench.link.show(
            Bench.shown(PromptID(8)), to: AgentID(connection: silent.uniqueName, path: Bench.path),
            deviceName: { _ in "" }, { results.add($0) })
        if case .failed(let why) = try await results.wait(for: 1)[0] {
            #expect(why.contains("does not answer") && bench.results.all.isEmpty)
        } else {
            Issue.record("\(results.all)")
        }
        withExtendedLifetime(silent) {}
        await bench.end()
    }

    /// An agent that does not answer gets one update, and then the newest.
    @Test func updatesOfASlowAgent() async throws {
        let bench = try await Bench()
        _ = try await bench.show()
        let apps = [AppID("flatpak:org.example.One")!, AppID("flatpak:org.example.Two")!]
        for count in 1...50 {
            bench.link.update(
                Bench.prompt, RequestsBehind(count: count, apps: count < 50 ? [apps[0]] : apps))
        }
        let first = try await bench.calls.wait(for: 2)[1]
        #expect(first.member == "Update" && first.body[1].properties?["waiting"] == .uint32(1))
        #expect(first.body[0].objectPathValue == AgentLink.path(of: Bench.prompt))
        try await bench.settle()
        #expect(bench.calls.all.count == 2)
        bench.agent.reply(to: first)
        let second = try await bench.calls.wait(for: 3)[2]
        #expect(
            second.body[1].properties == [
                "waiting": .uint32(50), "next": .strings(["org.example.One", "org.example.Two"]),
            ])
        // There are none after the prompt.
        bench.link.update(Bench.prompt, RequestsBehind(count: 51, apps: []))
        bench.link.withdraw(Bench.prompt, from: bench.id, why: .closed)
        bench.agent.reply(to: second)
        try await bench.settle()
        #expect(bench.calls.all.dropFirst(3).map(\.member) == ["Withdraw"])
        await bench.end()
    }

    /// The one that the prompt named is unplugged.
    @Test func anUpdateNamesTheDevice() async throws {
        let bench = try await Bench()
        let names = EventLog<String>()
        names.add("Front Camera")
        _ = try await bench.show { _ in names.all.last! }
        names.add("Rear Camera")
        bench.link.update(Bench.prompt, RequestsBehind(count: 0, apps: []))
        let update = try await bench.calls.wait(for: 2)[1]
        let items = update.body[1].properties?["items"]?.rows
        #expect(items == [["permission": .string("camera"), "device_name": .string("Rear Camera")]])
        await bench.end()
    }

    @Test func aWithdrawnPromptGetsNoAnswer() async throws {
        let bench = try await Bench()
        let call = try await bench.show()
        bench.link.withdraw(Bench.prompt, from: bench.id, why: .closed)
        let withdrawal = try await bench.calls.wait(for: 2)[1]
        #expect(withdrawal.member == "Withdraw" && withdrawal.body.last == .string("closed"))
        #expect(withdrawal.body.first?.objectPathValue == AgentLink.path(of: Bench.prompt))
        #expect(!withdrawal.expectsReply)
        bench.agent.reply(to: call, AgentLinkTests.granted)
        try await bench.settle()
        #expect(bench.results.all.isEmpty)
        await bench.end()
    }

    @Test func aDroppedPromptIsNotMentionedAgain() async throws {
        let bench = try await Bench()
        _ = try await bench.show()
        bench.link.drop(Bench.prompt)
        bench.agent.close()
        _ = try await bench.connection.call(.busCall("GetId"), timeoutMilliseconds: nil)
        #expect(bench.results.all.isEmpty && bench.calls.all.count == 1)
        await bench.end()
    }

    @Test func anAgentThatLeavesIsNoFailure() async throws {
        let bench = try await Bench()
        _ = try await bench.show()
        bench.agent.close()
        #expect(AgentLinkTests.describe(try await bench.results.wait(for: 1)[0]) == "left")
        await bench.end()
    }

    @Test func anErrorIsAFailure() async throws {
        let bench = try await Bench()
        let call = try await bench.show()
        bench.agent.reply(to: call, error: "org.example.Error.NoScreen", [.string("no screen")])
        let result = AgentLinkTests.describe(try await bench.results.wait(for: 1)[0])
        #expect(result.hasPrefix("failed") && result.contains("org.example.Error.NoScreen: no screen"))
        await bench.end()
    }

    // MARK: Reading an answer

    /// What the link makes of an agent's answers, each to a prompt of its own.
    private static func outcomes(_ answers: [[Value]]) async throws -> [String] {
        let bench = try await Bench()
        var outcomes: [String] = []
        for answer in answers {
            bench.agent.reply(to: try await bench.show(), answer)
            outcomes.append(describe(try await bench.results.wait(for: outcomes.count + 1)[outcomes.count]))
        }
        await bench.end()
        return outcomes
    }

    private static func describe(_ result: AgentLink.Result) -> String {
        switch result {
        case .answered(.dismissed): "dismissed"
        case .answered(.answered(let items)):
            items.sorted { $0.key < $1.key }
                .map { "\($0.key.name)=\($0.value.verdict.rawValue)/\($0.value.duration.kind.rawValue)" }
                .joined(separator: ",")
        case .failed(let why): "failed: \(why)"
        case .left: "left"
        }
    }

    private static func answer(_ items: [(String, [String: Value])], _ outcome: String = "answered") -> [Value] {
        [
            .string(outcome),
            .dictionary(key: "s", value: "a{sv}", items.map { DictionaryEntry(.string($0.0), .properties($0.1)) }),
        ]
    }

    private static let grant: [String: Value] = ["decision": .string("grant"), "duration": .string("once")]
    private static let deny: [String: Value] = ["decision": .string("deny"), "duration": .string("always")]

    @Test func answersAreReadWhole() async throws {
        let answer = AgentLinkTests.answer
        let grant = AgentLinkTests.grant
        let deny = AgentLinkTests.deny
        let until = grant.merging(["duration": .string("until"), "until": .uint64(99)]) { $1 }
        let outcomes = try await AgentLinkTests.outcomes([
            answer([("camera", grant), ("location", deny)], "answered"), answer([("screenshot", grant)], "answered"),
            answer([], "answered"), answer([("camera", grant)], "dismissed"),
            // A name of a newer agent is no question that was asked.
            answer([("x-rays", grant), ("camera", deny)], "answered"), answer([("camera", until)], "answered"),
        ])
        #expect(
            outcomes == [
                "camera=grant/once,location=deny/always", "screenshot=grant/once", "", "dismissed",
                "camera=deny/always", "camera=grant/until",
            ])
    }

    @Test func whatIsNotAnAnswerIsAFailure() async throws {
        let answer = AgentLinkTests.answer
        let grant = AgentLinkTests.grant
        let faulty: [(String, Value)] = [
            ("decision", .string("allow")), ("decision", .bool(true)), ("duration", .string("forever")),
            ("duration", .string("until")), ("choices", .string("a")),
        ]
        let items = faulty.map { key, value in answer([("camera", grant.merging([key: value]) { $1 })], "answered") }
        let outcomes = try await AgentLinkTests.outcomes(
            items + [
                [], [.string("answered")], [.string("answered"), .properties([:])],
                answer([("camera", grant)], "granted"),
                // One faulty item makes the whole answer invalid.
                answer([("camera", grant), ("location", [:])], "answered"),
            ])
        #expect(outcomes.allSatisfy { $0.hasPrefix("failed: ") && $0.count > "failed: ".count }, "\(outcomes)")
    }
}
