// What a portal may ask and what it is answered, by a portal that is the test: every kind, choices, texts, bad calls.

import DBus
import PermissionModel
import PermissionTestKit
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct PortalDialogTests {
    private static let access = "org.freedesktop.impl.portal.Access"

    /// A connection that owns the portal's name, and an app behind the handles.
    @LoopActor
    private struct FakePortal {
        let stage: Stage
        let connection: Connection
        let app: TestApp

        init(_ stage: Stage) async throws {
            self.stage = stage
            connection = try stage.permd.bus.connect()
            _ = try connection.requestName(BusNames.portal)
            app = try await stage.app()
            // So that its unique name is known: it is the only one with a request.
            #expect(try await app.ask("request known location").hasPrefix("ok"))
        }

        func handle(_ token: String) async throws -> String {
            let path = try #require(try await stage.rows("ListRequests", nil).first?["request"]?.stringValue)
            let sender = path.split(separator: "/").dropLast().last ?? ""
            return "\(BusNames.portalRequestRoot)/\(sender)/\(token)"
        }

        func dialog(
            _ handle: String, icon: String?, title: String = "A title", options: [String: Value] = [:]
        ) -> Message {
            var options = options
            options["icon"] = icon.map { .string($0) }
            return .call(
                destination: BusNames.portalBackend, path: BusNames.portalRoot, interface: PortalDialogTests.access,
                member: "AccessDialog",
                [
                    .objectPath(handle), .string(""), .string(""), .string(title), .string("A subtitle"),
                    .string("A body"), .properties(options),
                ])
        }

        func ask(_ message: Message) async throws -> String {
            do throws(BusError) {
                let body = try await connection.call(message, timeoutMilliseconds: nil).body
                let choices = body[1].properties?["choices"]?.elements ?? []
                let words = choices.map { ($0.elements ?? []).compactMap(\.stringValue).joined(separator: "=") }
                return ([String(body[0].uint32Value ?? 99)] + words).joined(separator: " ")
            } catch {
                return Stage.describe(error)
            }
        }

        func end() async {
            connection.close()
            await app.end()
            await stage.end()
        }
    }

    /// A stage on which the app's own request is shown first and waits.
    private func begin(_ script: [ScriptedAgent.Reply]) async throws -> (FakePortal, ScriptedAgent) {
        let stage = try await Stage()
        let agent = try await stage.agent([.wait] + script)
        return (try await FakePortal(stage), agent)
    }

    @Test(arguments: [
        ("camera-web-symbolic", "camera"), ("audio-input-microphone-symbolic", "microphone"),
        ("find-location-symbolic", "location"), ("applets-screenshooter-symbolic", "screenshot"),
        ("preferences-desktop-wallpaper-symbolic", "wallpaper"), ("audio-speakers-symbolic", "speakers"),
        (nil, "background"), ("face-smile-symbolic", "other"),
    ])
    func everyKindIsAskedInTheOneQueue(_ icon: String?, _ permission: String) async throws {
        let (portal, agent) = try await begin([.grant(.once)])
        let handle = try await portal.handle("t")
        let changes = try await portal.stage.signals(BusNames.policy)
        let asking = Task { try await portal.ask(portal.dialog(handle, icon: icon)) }
        // It waits behind the app's own request.
        let own = await agent.prompt(0)
        try await changes.first("the second request") { $0 == "QueueChanged 2" }
        #expect(agent.prompts.all.count == 1)
        #expect(
            try await portal.stage.rows("ListRequests", nil).map { $0["request"]?.stringValue }.last == handle)
        agent.answer(own, with: .dismiss)
        if permission == "location" {
            // "Not now" for the same app and permission leaves nothing to ask.
            #expect(try await asking.value == "2")
        } else {
            #expect(try await asking.value == "0")
            let prompt = await agent.prompt(1)
            #expect(prompt.items[0]["permission"]?.stringValue == permission)
            #expect(prompt.app == portal.app.id.description)
            #expect(prompt.items[0]["title"] == .string("A title"))
            #expect(prompt.items[0]["subtitle"] == .string("A subtitle"))
            #expect(prompt.items[0]["body"] == .string("A body"))
            let kept = ["camera", "microphone"].contains(permission)
            #expect(try await portal.stage.decisions().count == (kept ? 1 : 0))
            #expect(prompt.details["durations"]?.strings?.count == (kept ? 4 : 1))
            #expect(try await portal.stage.history().first == "\(permission) granted person")
        }
        await portal.end()
    }

    @Test func itsAnswersAreNoughtOneAndTwo() async throws {
        let (portal, agent) = try await begin([.grant(.once), .deny(.always), .dismiss])
        let handle = try await portal.handle("t")
        agent.answer(await agent.prompt(0), with: .dismiss)
        for answer in ["0", "1", "2"] {
            #expect(try await portal.ask(portal.dialog(handle, icon: "applets-screenshooter-symbolic")) == answer)
        }
        // Nothing of it is a decision here: the portal keeps what it keeps, and asks each time it asks.
        #expect(try await portal.stage.decisions() == [])
        #expect(
            try await portal.stage.history().prefix(3) == [
                "screenshot dismissed person", "screenshot denied person", "screenshot granted person",
            ])
        await portal.end()
    }

    @Test func itsChoicesAreShownAndReturned() async throws {
        let given: [String: Value] = [
            "choices": .array(
                of: "(ssa(ss)s)",
                [
                    .structure([
                        .string("quality"), .string("Quality\nof <b>it</b>"),
                        .array(
                            of: "(ss)",
                            [
                                .structure([.string("lo"), .string("Low")]),
                                .structure([.string("hi"), .string("High")]),
                            ]
                        ), .string("lo"),
                    ]),
                    .structure([
                        .string("sound"), .string("With sound"), .array(of: "(ss)", []), .string("true"),
                    ]),
                    .structure([
                        .string("bad"), .string("Bad"), .array(of: "(ss)", [.structure([.string("x"), .string("X")])]),
                        .string("none of them"),
                    ]),
                ])
        ]
        func answer(_ choices: Value) -> ScriptedAgent.Reply {
            .values([
                .string("answered"),
                .dictionary(
                    key: "s", value: "a{sv}",
                    [
                        DictionaryEntry(
                            .string("screenshot"),
                            .properties([
                                "decision": .string("grant"), "duration": .string("once"), "choices": choices,
                            ]))
                    ]),
            ])
        }
        let (portal, agent) = try await begin([
            answer(.stringTable(["quality": "hi", "sound": "false", "bad": "y", "strange": "z"])), .grant(.once),
        ])
        let handle = try await portal.handle("t")
        agent.answer(await agent.prompt(0), with: .dismiss)
        let dialog = portal.dialog(handle, icon: "applets-screenshooter-symbolic", options: given)
        #expect(try await portal.ask(dialog) == "0 quality=hi sound=false bad=x")
        let shown = try #require(agent.prompts.all[1].items[0]["choices"]?.elements)
        #expect(shown.count == 3)
        #expect(shown[0].elements?[1] == .string("Quality of <b>it</b>"))
        // An agent that shows no choices leaves them as they are.
        #expect(try await portal.ask(dialog) == "0 quality=lo sound=true bad=x")
        await portal.end()
    }

    @Test func itsTextsAreMadeSafe() async throws {
        let (portal, agent) = try await begin([.grant(.once)])
        let handle = try await portal.handle("t")
        agent.answer(await agent.prompt(0), with: .dismiss)
        let title = "Allow\u{202E} \n\n" + String(repeating: "x", count: 300)
        let labels: [String: Value] = ["grant_label": .string("Gr\u{1B}ant\n"), "deny_label": .string(" No ")]
        #expect(
            try await portal.ask(
                portal.dialog(handle, icon: "applets-screenshooter-symbolic", title: title, options: labels)) == "0")
        let item = await agent.prompt(1).items[0]
        let shown = item["title"]?.stringValue ?? ""
        #expect(shown.hasPrefix("Allow xxx") && shown.hasSuffix("…"))
        #expect(shown.unicodeScalars.count == 80)
        #expect(item["grant_label"] == .string("Grant"))
        #expect(item["deny_label"] == .string("No"))
        await portal.end()
    }

    @Test func aDialogIsClosedByItsHandle() async throws {
        let (portal, agent) = try await begin([.wait])
        let handle = try await portal.handle("t")
        agent.answer(await agent.prompt(0), with: .dismiss)
        let asking = Task { try await portal.ask(portal.dialog(handle, icon: "camera-web-symbolic")) }
        _ = await agent.prompt(1)
        #expect(
            try await portal.ask(portal.dialog(handle, icon: "camera-web-symbolic")) == "InvalidArguments final")
        _ = try await portal.connection.call(
            .call(
                destination: BusNames.portalBackend, path: handle, interface: BusNames.portalRequest, member: "Close"))
        #expect(try await asking.value == "2")
        try await agent.withdrawals.wait(for: 1)
        // Closed before it is known who asks: it is answered, and nothing is shown.
        let answers = EventLog<UInt32>()
        portal.connection.call(portal.dialog(handle, icon: "camera-web-symbolic"), timeoutMilliseconds: nil) { reply in
            answers.add((try? reply.get())?.body.first?.uint32Value ?? 99)
        }
        portal.connection.send(
            .call(
                destination: BusNames.portalBackend, path: handle, interface: BusNames.portalRequest, member: "Close",
                noReply: true))
        #expect(try await answers.wait(for: 1) == [2])
        await portal.end()
    }

    @Test func aCallerThatHasLeftIsNotAskedFor() async throws {
        let (portal, agent) = try await begin([])
        let handle = "\(BusNames.portalRequestRoot)/1_9999/t"
        #expect(try await portal.ask(portal.dialog(handle, icon: "camera-web-symbolic")) == "2")
        #expect(
            try await portal.ask(portal.dialog("/a/handle", icon: "camera-web-symbolic")) == "InvalidArguments final")
        #expect(agent.prompts.all.count == 1)
        await portal.end()
    }

    @Test func nobodyElseMayAsk() async throws {
        let (portal, _) = try await begin([])
        let handle = try await portal.handle("t")
        var message = portal.dialog(handle, icon: "camera-web-symbolic")
        #expect(try await refusal(message, portal.stage) == "AccessDenied final")
        message = .call(
            destination: BusNames.portalBackend, path: handle, interface: BusNames.portalRequest, member: "Close")
        #expect(try await refusal(message, portal.stage) == "AccessDenied final")
        // Nor anybody while there is no portal.
        portal.connection.releaseName(BusNames.portal)
        #expect(
            try await portal.ask(portal.dialog(handle, icon: "camera-web-symbolic")) == "AccessDenied final")
        await portal.end()
    }

    private func refusal(_ message: Message, _ stage: Stage) async throws -> String? {
        do throws(BusError) {
            _ = try await stage.desk.call(message)
            return nil
        } catch {
            return Stage.describe(error)
        }
    }

    @Test func wrongOptionsAreErrors() async throws {
        let (portal, _) = try await begin([])
        let handle = try await portal.handle("t")
        let tooMany = Value.array(
            of: "(ssa(ss)s)",
            (0..<17).map { .structure([.string("\($0)"), .string(""), .array(of: "(ss)", []), .string("")]) })
        for (key, value) in [
            ("modal", Value.string("yes")), ("grant_label", .bool(true)), ("choices", .strings(["a"])),
            ("choices", tooMany),
        ] {
            let message = portal.dialog(handle, icon: nil, options: [key: value])
            #expect(try await portal.ask(message) == "InvalidArguments final", "\(key)")
        }
        await portal.end()
    }

    @Test func anAppCannotNagThroughThePortal() async throws {
        let (portal, agent) = try await begin([.dismiss, .dismiss, .dismiss, .grant(.once)])
        let handle = try await portal.handle("t")
        agent.answer(await agent.prompt(0), with: .dismiss)
        for _ in 0..<4 { #expect(try await portal.ask(portal.dialog(handle, icon: nil)) == "2") }
        #expect(agent.prompts.all.count == 4)
        #expect(try await portal.stage.decisions().last == "\(portal.app.id) background pause until")
        _ = try await portal.stage.reset(portal.app.id.description, "background")
        #expect(try await portal.ask(portal.dialog(handle, icon: nil)) == "0")
        await portal.end()
    }

    @Test func withoutACameraNobodyIsAsked() async throws {
        let stage = try await Stage([.microphone, .gnss])
        let agent = try await stage.agent([.wait])
        let portal = try await FakePortal(stage)
        let handle = try await portal.handle("t")
        #expect(try await portal.ask(portal.dialog(handle, icon: "camera-web-symbolic")) == "2")
        #expect(agent.prompts.all.count == 1)
        #expect(try await stage.history().first == "camera unavailable ")
        await portal.end()
    }

    /// It ends with permd, which says so: the portal does not wait for ever.
    @Test func permdStops() async throws {
        let (portal, agent) = try await begin([.wait])
        let handle = try await portal.handle("t")
        agent.answer(await agent.prompt(0), with: .dismiss)
        let asking = Task { try await portal.ask(portal.dialog(handle, icon: "camera-web-symbolic")) }
        _ = await agent.prompt(1)
        await portal.stage.permd.stop()
        #expect(try await asking.value == "2")
        await portal.end()
    }
}
