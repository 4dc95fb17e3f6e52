// Clients with faulty and hostile daemons: replaced daemons, malformed messages, and impostors.

import DBus
import Glibc
import PermissionTestKit
import TestSupport
import Testing

@testable import PermissionClient

/// Answers when the test says so, even after the prompt was withdrawn.
private final class SlowPresenter: PromptPresenter {
    let shown = EventLog<AgentPrompt>()
    let answers = EventLog<AgentAnswer>()
    let done = EventLog<String>()

    func present(_ prompt: AgentPrompt) async -> AgentAnswer {
        let count = await shown.all.count
        await shown.add(prompt)
        let answer: AgentAnswer
        do { answer = try await answers.wait(for: count + 1)[count] } catch { answer = .failed("\(count) \(error)") }
        await done.add(prompt.app)
        return answer
    }
}

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct HostileDaemonTests {
    private static let path = "/org/permd/prompt/1"

    private func host(_ bus: PrivateBus, _ presenter: SlowPresenter) -> Task<Void, any Error> {
        let address = bus.address
        return Task { try await AgentHost(bus: .address(address), presenter: presenter).run() }
    }

    /// Each daemon numbers its prompts from the start, so an answer to the old daemon must not reach the new one.
    @Test(arguments: PrivateBus.Kind.allCases)
    func anAnswerToTheOldDaemonIsDiscarded(_ kind: PrivateBus.Kind) async throws {
        let bus = try await PrivateBus(kind)
        let presenter = SlowPresenter()
        let old = try FakeDaemon(bus)
        let task = host(bus, presenter)
        try await old.agents.wait(for: 1)
        async let lost = old.prompt(HostileDaemonTests.path, FakeDaemon.details("exe:/old"))
        try await presenter.shown.wait(for: 1)
        await old.end()
        _ = await lost
        let new = try FakeDaemon(bus)
        try await new.agents.wait(for: 1)
        async let answer = new.prompt(HostileDaemonTests.path, FakeDaemon.details("exe:/new"))
        // Once a later call is answered, the agent has received the prompt.
        await #expect(throws: BusError.self) { _ = try await new.call("Withdraw", []) }
        // One at a time: the old prompt is still being taken off the screen.
        #expect(presenter.shown.all.map(\.app) == ["exe:/old"])
        presenter.answers.add(.answered([.camera: ItemDecision(verdict: .grant, duration: .always)]))
        #expect(try await presenter.shown.wait(for: 2)[1].app == "exe:/new")
        presenter.answers.add(.dismissed)
        let said = await answer
        #expect(said == "dismissed")
        task.cancel()
        _ = await task.result
        await new.end()
        await bus.end()
    }

    /// Only the owner of org.permd may show or withdraw prompts.
    @Test(arguments: PrivateBus.Kind.allCases)
    func otherCallersAreRefused(_ kind: PrivateBus.Kind) async throws {
        let bus = try await PrivateBus(kind)
        let presenter = SlowPresenter()
        let daemon = try FakeDaemon(bus)
        let task = host(bus, presenter)
        let agent = try await daemon.agents.wait(for: 1)[0]
        async let answer = daemon.prompt(HostileDaemonTests.path)
        try await presenter.shown.wait(for: 1)
        let stranger = try bus.connect()
        for (member, body) in [
            ("Withdraw", [Value.objectPath(HostileDaemonTests.path), .string("")]),
            ("Prompt", [.objectPath("/org/permd/prompt/2"), .properties(FakeDaemon.details("exe:/evil"))]),
        ] {
            do {
                _ = try await stranger.call(
                    .call(destination: agent.owner, path: agent.path, interface: BusNames.agent, member: member, body))
                Issue.record("\(member) was accepted")
            } catch { #expect(error.name == ErrorKind.accessDenied.name) }
        }
        presenter.answers.add(.dismissed)
        #expect(await answer == "dismissed")
        #expect(presenter.shown.all.count == 1)
        task.cancel()
        _ = await task.result
        stranger.close()
        await daemon.end()
        await bus.end()
    }

    /// A sandboxed owner of org.permd is refused: its prompts are not shown, and settings calls fail.
    @Test(arguments: PrivateBus.Kind.allCases)
    func aSandboxedDaemonIsRefused(_ kind: PrivateBus.Kind) async throws {
        let permd = try await PermdProcess(bus: try await PrivateBus(kind))
        await permd.stop()
        let liar = try await TestApp.flatpak("org.example.Liar", on: permd)
        #expect(try await liar.ask("be-daemon") == "ok")
        let presenter = SlowPresenter()
        presenter.answers.add(.dismissed)
        let task = host(permd.bus, presenter)
        await #expect(throws: ClientError.self) { try await task.value }
        #expect(presenter.shown.all.isEmpty)
        let settings = PermissionSettings(bus: .address(permd.bus.address))
        do {
            _ = try await settings.decisions()
            Issue.record("its decisions were accepted")
        } catch { #expect(error.message.contains("flatpak:org.example.Liar"), "\(error)") }
        do {
            _ = try await settings.set(.deny, app: "exe:/a", permission: .camera)
            Issue.record("a decision was sent to it")
        } catch { #expect(error.message.contains("flatpak:org.example.Liar"), "\(error)") }
        await liar.end()
        await permd.end()
    }

    /// An agent refuses an impostor that takes permd's name, and serves the next permd.
    @Test(arguments: PrivateBus.Kind.allCases)
    func anAgentWaitsForTheRealDaemon(_ kind: PrivateBus.Kind) async throws {
        let permd = try await PermdProcess(bus: try await PrivateBus(kind))
        let presenter = SlowPresenter()
        presenter.answers.add(.dismissed)
        let events = EventLog<AgentEvent>()
        let address = permd.bus.address
        let task = Task {
            try await AgentHost(bus: .address(address), presenter: presenter).run { event in
                Loop.shared.post { events.add(event) }
            }
        }
        try await events.first("registered") { $0 == .registered }
        await permd.stop()
        let liar = try await TestApp.flatpak("org.example.Liar", on: permd)
        #expect(try await liar.ask("be-daemon") == "ok")
        try await events.first("refused") { if case .refused = $0 { true } else { false } }
        // The proxy of its sandbox leaves the bus a moment after it.
        let observer = try permd.bus.connect()
        let owners = EventLog<String?>()
        observer.onOwnerChange(of: BusNames.service) { owners.add($0) }
        await withCheckedContinuation { known in observer.askBus("GetId") { _ in known.resume() } }
        await liar.end()
        try await owners.first("the end of the impostor") { $0 == nil }
        try await permd.start()
        try await events.wait(for: 5)
        #expect(events.all.last == .registered)
        #expect(presenter.shown.all.isEmpty)
        task.cancel()
        _ = await task.result
        await permd.end()
    }

    /// Unknown outcomes and decisions are read as `unknown`; rows with an unknown permission or identity are skipped, but
    /// not uses by an unknown identity.
    @Test(arguments: PrivateBus.Kind.allCases)
    func valuesOfANewerDaemon(_ kind: PrivateBus.Kind) async throws {
        let bus = try await PrivateBus(kind)
        let daemon = try bus.connect()
        let about: [String: Value] = [
            "app": .string("exe:/a"), "permission": .string("camera"), "time": .uint64(1), "request": .string(""),
            "decision": .string("grant"), "duration": .string("always"), "decided": .uint64(1),
            "use": .uint32(7), "status": .string("granted"),
        ]
        func row(_ changes: [String: String]) -> [String: Value] {
            about.merging(changes.mapValues { .string($0) }) { $1 }
        }
        let rows = [
            row(["outcome": "granted", "by": "person"]),
            row(["outcome": "postponed", "by": "committee", "decision": "limit", "duration": "weekdays"]),
            row(["outcome": "granted", "permission": "smell"]), row(["outcome": "denied", "app": "wasm:b"]),
        ]
        daemon.methodHandler = { call in
            let offset = call.body.first?.properties?["offset"]?.uint32Value ?? 0
            daemon.reply(to: call, [.rows(offset == 0 ? rows : [])])
        }
        #expect(try daemon.requestName(BusNames.service))
        let settings = PermissionSettings(bus: .address(bus.address))
        #expect(try await settings.history().map(\.outcome.rawValue) == ["granted", "unknown"])
        #expect(try await settings.decisions().map(\.decision.rawValue) == ["grant", "unknown"])
        #expect(try await settings.uses().map { $0.app?.description } == ["exe:/a", "exe:/a", nil])
        daemon.close()
        await bus.end()
    }

    /// A slow reader gets the newest events, and one event that says that others are missing.
    @Test func eventsOfASlowReader() async throws {
        let bus = try await PrivateBus()
        let daemon = try bus.connect()
        let follower = EventLog<String>()
        daemon.methodHandler = { call in
            daemon.reply(to: call)
            follower.add(call.sender ?? "")
        }
        #expect(try daemon.requestName(BusNames.service))
        let events = try await PermissionSettings(bus: .address(bus.address)).events()
        let reader = try await follower.wait(for: 2)[1]
        func notify(_ length: UInt32) {
            daemon.send(
                .signal(
                    path: BusNames.root, interface: BusNames.policy, member: "QueueChanged", [.uint32(length)],
                    destination: reader))
        }
        let told: UInt32 = 5000
        for number in 1...told { notify(number) }
        // Messages are handled in order: after this reply, all signals have arrived.
        _ = try? await daemon.call(
            .call(destination: reader, path: "/", interface: "org.freedesktop.DBus.Peer", member: "Ping"))
        var lengths: [Int] = []
        var misses = 0
        for await event in events {
            switch event {
            case .queueChanged(let length): lengths.append(length)
            default: misses += 1
            }
            if lengths.last == Int(told) { break }
        }
        #expect(misses == 1)
        #expect(lengths.count > 100 && lengths.count <= 1024, "\(lengths.count)")
        #expect(lengths == Array((Int(told) + 1 - lengths.count)...Int(told)))
        daemon.close()
        await bus.end()
    }

    /// Repeated prompts and prompts above the limit are refused, and the first one is still answered.
    @Test(arguments: PrivateBus.Kind.allCases)
    func aThousandPrompts(_ kind: PrivateBus.Kind) async throws {
        let bus = try await PrivateBus(kind)
        let presenter = SlowPresenter()
        let daemon = try FakeDaemon(bus)
        let task = host(bus, presenter)
        try await daemon.agents.wait(for: 1)
        let first = Task { await daemon.prompt("/p/0") }
        try await presenter.shown.wait(for: 1)
        let refused = EventLog<String>()
        for number in 0..<1000 {
            // Three are accepted and wait for their answers.
            Task { refused.add(await daemon.prompt("/p/\(number)")) }
        }
        try await refused.wait(for: 1000 - 3)
        #expect(refused.all.allSatisfy { $0.contains("open already") }, "\(Set(refused.all))")
        #expect(presenter.shown.all.count == 1)
        presenter.answers.add(.dismissed)
        #expect(await first.value == "dismissed")
        for _ in 0..<3 { presenter.answers.add(.dismissed) }
        #expect(try await refused.wait(for: 1000).suffix(3) == ["dismissed", "dismissed", "dismissed"])
        task.cancel()
        _ = await task.result
        await daemon.end()
        await bus.end()
    }

    /// Malformed details do not end the agent, and what it shows of them is bounded and sanitized.
    @Test(arguments: PrivateBus.Kind.allCases)
    func absurdDetails(_ kind: PrivateBus.Kind) async throws {
        let bus = try await PrivateBus(kind)
        let presenter = SlowPresenter()
        let daemon = try FakeDaemon(bus)
        let task = host(bus, presenter)
        try await daemon.agents.wait(for: 1)
        let long = String(repeating: "\u{202E}x\u{9B}\u{1F}", count: 50_000)
        let item: [String: Value] = [
            "permission": .string("camera"), "device_name": .string(long), "reason": .string(long),
            "title": .string(long),
            "choices": .array(
                of: "(ssa(ss)s)",
                Array(
                    repeating: .structure([
                        .string(long.prefix(9).description), .string("l"),
                        .array(of: "(ss)", Array(repeating: .structure([.string("a"), .string("b")]), count: 100)),
                        .string("z"),
                    ]), count: 100)),
        ]
        let many = Array(repeating: ["permission": Value.string("location"), "reason": .string("r")], count: 5000)
        let absurd: [[String: Value]] = [
            [:],
            [
                "app": .string(long), "app_name": .string(long), "app_icon": .string(long), "sandboxed": .string("yes"),
                "explanation": .structure([.string(long), .string(long)]), "items": .rows([item] + many),
                "durations": .strings(Array(repeating: "once", count: 5000)), "waiting": .uint32(.max),
            ],
            [
                "app": .uint64(.max), "items": .string("none"), "durations": .rows([[:]]), "waiting": .int64(-1),
                "explanation": .structure([.string("only one")]), "parent_window": .array(of: "s", []),
            ],
            ["items": .rows([[:], ["permission": .bool(true)], ["permission": .string("everything")]])],
        ]
        for (number, details) in absurd.enumerated() {
            async let answer = daemon.prompt("/p/\(number)", details)
            let prompt = try await presenter.shown.wait(for: number + 1)[number]
            let texts =
                [prompt.app, prompt.appName, prompt.explanation?.title ?? "", prompt.explanation?.body ?? ""]
                + prompt.items.flatMap { [$0.deviceName, $0.reason, $0.dialog?.title ?? ""] }
            for text in texts {
                #expect(text.unicodeScalars.count <= 512)
                #expect(!text.unicodeScalars.contains { ["\u{202E}", "\u{9B}", "\u{1F}"].contains($0) })
            }
            #expect(prompt.appIcon.utf8.count <= 4096 && prompt.durations.count <= 4 && prompt.items.count <= 9)
            #expect((prompt.items.first?.dialog?.choices.count ?? 0) <= 16)
            presenter.answers.add(.answered([.camera: ItemDecision(verdict: .grant, duration: .until(.max))]))
            let said = await answer
            #expect(said == "answered")
        }
        task.cancel()
        _ = await task.result
        await daemon.end()
        await bus.end()
    }
}

/// The first call that needs the bus reopens a lost connection, for all waiting streams and requests.
@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct ReopenTests {
    /// Points the symbolic link in the bus address to that bus; nil points it to none.
    private func lead(_ link: String, to bus: PrivateBus?) throws {
        let path = bus?.address.split(separator: "=", maxSplits: 1).last.map(String.init) ?? "/nonexistent/bus"
        guard symlink(path, link + ".new") == 0, rename(link + ".new", link) == 0 else {
            throw TestKitError("cannot link \(link)")
        }
    }

    @Test(arguments: PrivateBus.Kind.allCases)
    func aStreamContinuesWhenACallReopensTheBus(_ kind: PrivateBus.Kind) async throws {
        let folder = try TemporaryFolder()
        let link = folder.file("bus")
        let (old, new) = (try await PrivateBus(kind), try await PrivateBus(kind))
        let (first, second) = (try FakeDaemon(old), try FakeDaemon(new))
        try lead(link, to: old)
        let center = PermissionCenter(bus: .address("unix:path=\(link)"))
        let log = EventLog<Status>()
        let task = follow(center.statuses(of: .camera), into: log)
        try await log.wait(for: 1)
        try lead(link, to: new)
        await old.end()
        // This call finds the new bus before the stream does, unless the loss of the old one is noticed with it.
        if (try? await center.statuses()) == nil { _ = try await center.statuses() }
        let client = try await second.questions.wait(for: 2)[1]
        second.notify(.denied, to: client)
        try await log.first { $0 == .denied }
        task.cancel()
        await first.end()
        await second.end()
        await new.end()
    }

    @Test(arguments: PrivateBus.Kind.allCases)
    func aRequestIsSentAgainWhenACallReopensTheBus(_ kind: PrivateBus.Kind) async throws {
        let folder = try TemporaryFolder()
        let link = folder.file("bus")
        let (old, new) = (try await PrivateBus(kind), try await PrivateBus(kind))
        let (first, second) = (try FakeDaemon(old), try FakeDaemon(new))
        try lead(link, to: old)
        let center = PermissionCenter(bus: .address("unix:path=\(link)"))
        let asking = Task { try await center.request(.camera) }
        try await first.requests.wait(for: 1)
        // This answer arrives after that to the request, which is only repeated if it was accepted.
        _ = try await center.statuses()
        // Without a bus for a while, the waiting request fails to reconnect.
        try lead(link, to: nil)
        await old.end()
        while (try? await center.statuses()) != nil {}
        try lead(link, to: new)
        _ = try await center.statuses()
        let call = try await second.requests.wait(for: 1)[0]
        second.respond(to: call, .granted)
        #expect(try await asking.value == .granted)
        await first.end()
        await second.end()
        await new.end()
    }

    /// A closed link is not reopened by a call.
    @Test func aClosedLinkStaysClosed() async throws {
        let bus = try await PrivateBus()
        let daemon = try FakeDaemon(bus)
        let link = BusLink(.address(bus.address))
        _ = try await link.statuses([.camera])
        link.close()
        await #expect(throws: ClientError.self) { _ = try await link.statuses([.camera]) }
        #expect(daemon.questions.all.count == 1)
        await daemon.end()
        await bus.end()
    }
}
