// The portal backend, called by a fake portal: every kind of dialog, choices, texts, and invalid calls.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct PortalDialogTests {
    /// A stage with a fake portal, and an app whose own request is shown first.
    @LoopActor
    private struct Bench {
        let stage: Stage
        let portal: FakePortal
        let app: TestApp
        let agent: ScriptedAgent
        /// The handle of a portal request made by the app.
        let handle: String

        init(_ kinds: [MockDevices.Kind], _ script: [ScriptedAgent.Reply]) async throws {
            stage = try await Stage(kinds)
            agent = try await stage.agent([.wait] + script)
            portal = try FakePortal(on: stage.permd.bus)
            app = try await stage.app()
            let path = try await app.request("own", [.location]).dropFirst("ok ".count)
            let sender = path.split(separator: "/").dropLast().last ?? ""
            handle = FakePortal.handle(":" + sender.map { $0 == "_" ? "." : String($0) }.joined())
        }

        init(_ script: [ScriptedAgent.Reply]) async throws {
            try await self.init([.camera, .microphone, .gnss], script)
        }

        /// Dismisses the app's own prompt, so that the portal's is next.
        func dismissOwn() async throws { agent.answer(try await agent.prompt(0), with: .dismiss) }

        func dialog(_ icon: String?, title: String = "A title", options: [String: Value] = [:]) -> Message {
            FakePortal.dialog(handle, icon: icon, title: title, options: options)
        }

        func ask(_ icon: String?, title: String = "A title", options: [String: Value] = [:]) async -> String {
            await portal.ask(dialog(icon, title: title, options: options))
        }

        func end() async {
            portal.end()
            await app.end()
            await stage.end()
        }
    }

    private static let camera = "camera-web-symbolic"
    private static let screenshot = "applets-screenshooter-symbolic"

    @Test(arguments: [
        ("camera-web-symbolic", "camera"), ("audio-input-microphone-symbolic", "microphone"),
        ("find-location-symbolic", "location"), ("applets-screenshooter-symbolic", "screenshot"),
        ("preferences-desktop-wallpaper-symbolic", "wallpaper"), ("audio-speakers-symbolic", "speakers"),
        (nil, "background"), ("face-smile-symbolic", "other"),
    ])
    func everyKindUsesTheQueue(_ icon: String?, _ permission: String) async throws {
        let bench = try await Bench([.grant(.once)])
        let changes = try await bench.stage.signals(BusNames.policy)
        let asking = Task { await bench.ask(icon) }
        // The dialog waits behind the app's own request.
        let own = try await bench.agent.prompt(0)
        try await changes.first("the second request") { $0 == "QueueChanged 2" }
        #expect(bench.agent.prompts.all.count == 1)
        #expect(
            try await bench.stage.rows("ListRequests", nil).map { $0["request"]?.stringValue }.last == bench.handle)
        bench.agent.answer(own, with: .dismiss)
        if permission == "location" {
            // The dismissal answers both requests: they are for the same app and permission.
            #expect(await asking.value == "2")
        } else {
            #expect(await asking.value == "0")
            let prompt = try await bench.agent.prompt(1)
            #expect(prompt.items[0]["permission"]?.stringValue == permission)
            #expect(prompt.app == bench.app.id.description)
            #expect(prompt.items[0]["title"] == .string("A title"))
            #expect(prompt.items[0]["subtitle"] == .string("A subtitle"))
            #expect(prompt.items[0]["body"] == .string("A body"))
            let kept = ["camera", "microphone"].contains(permission)
            #expect(try await bench.stage.decisions().count == (kept ? 1 : 0))
            #expect(prompt.details["durations"]?.strings?.count == (kept ? 4 : 1))
            #expect(try await bench.stage.history().first == "\(permission) granted person")
        }
        await bench.end()
    }

    @Test func responsesAreZeroOneAndTwo() async throws {
        let bench = try await Bench([.grant(.once), .deny(.always), .dismiss])
        try await bench.dismissOwn()
        for answer in ["0", "1", "2"] {
            #expect(await bench.ask(PortalDialogTests.screenshot) == answer)
        }
        // None of this is a decision of permd: the portal stores its own answers, and each of its dialogs is a prompt.
        #expect(try await bench.stage.decisions() == [])
        #expect(
            try await bench.stage.history().prefix(3) == [
                "screenshot dismissed person", "screenshot denied person", "screenshot granted person",
            ])
        await bench.end()
    }

    @Test func choicesAreShownAndReturned() async throws {
        let given: [String: Value] = [
            "choices": FakePortal.choices([
                ("quality", "Quality\nof <b>it</b>", [("lo", "Low"), ("hi", "High")], "lo"),
                ("sound", "With sound", [], "true"), ("bad", "Bad", [("x", "X")], "none of them"),
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
        let bench = try await Bench([
            answer(.stringTable(["quality": "hi", "sound": "false", "bad": "y", "strange": "z"])), .grant(.once),
        ])
        try await bench.dismissOwn()
        let dialog = bench.dialog(PortalDialogTests.screenshot, options: given)
        #expect(await bench.portal.ask(dialog) == "0 quality=hi sound=false bad=x")
        let shown = try #require(bench.agent.prompts.all[1].items[0]["choices"]?.elements)
        #expect(shown.count == 3)
        #expect(shown[0].elements?[1] == .string("Quality of <b>it</b>"))
        // If an agent returns no choices, their initial values are returned.
        #expect(await bench.portal.ask(dialog) == "0 quality=lo sound=true bad=x")
        await bench.end()
    }

    @Test func textsAreSanitized() async throws {
        let bench = try await Bench([.grant(.once)])
        try await bench.dismissOwn()
        let title = "Allow\u{202E} \n\n" + String(repeating: "x", count: 300)
        let labels: [String: Value] = ["grant_label": .string("Gr\u{1B}ant\n"), "deny_label": .string(" No ")]
        #expect(
            await bench.ask(PortalDialogTests.screenshot, title: title, options: labels) == "0")
        let item = try await bench.agent.prompt(1).items[0]
        let shown = item["title"]?.stringValue ?? ""
        #expect(shown.hasPrefix("Allow xxx") && shown.hasSuffix("…"))
        #expect(shown.unicodeScalars.count == 80)
        #expect(item["grant_label"] == .string("Grant"))
        #expect(item["deny_label"] == .string("No"))
        await bench.end()
    }

    @Test func aDialogIsClosedByItsHandle() async throws {
        let bench = try await Bench([.wait])
        try await bench.dismissOwn()
        let asking = Task { await bench.ask(PortalDialogTests.camera) }
        _ = try await bench.agent.prompt(1)
        #expect(
            await bench.ask(PortalDialogTests.camera) == "InvalidArguments")
        _ = try await bench.portal.connection.call(FakePortal.close(bench.handle))
        #expect(await asking.value == "2")
        try await bench.agent.withdrawals.wait(for: 1)
        // A dialog closed before its caller is identified gets a response, and no prompt is shown.
        let answers = EventLog<UInt32>()
        bench.portal.connection.call(bench.dialog(PortalDialogTests.camera), timeoutMilliseconds: nil) { reply in
            answers.add((try? reply.get())?.body.first?.uint32Value ?? 99)
        }
        bench.portal.connection.send(FakePortal.close(bench.handle))
        #expect(try await answers.wait(for: 1) == [2])
        await bench.end()
    }

    @Test func aDialogForADepartedAppIsNotShown() async throws {
        let bench = try await Bench([])
        let gone = FakePortal.dialog(FakePortal.handle(":1.9999"), icon: PortalDialogTests.camera)
        #expect(await bench.portal.ask(gone) == "2")
        let strange = FakePortal.dialog("/a/handle", icon: PortalDialogTests.camera)
        #expect(await bench.portal.ask(strange) == "InvalidArguments")
        // There is only the prompt of the app's own request.
        try await bench.dismissOwn()
        #expect(try await bench.app.response("own").hasPrefix("1 "))
        #expect(bench.agent.prompts.all.count == 1)
        await bench.end()
    }

    @Test func otherCallersAreRefused() async throws {
        let bench = try await Bench([])
        for message in [bench.dialog(PortalDialogTests.camera), FakePortal.close(bench.handle)] {
            let error = await #expect(throws: BusError.self) { try await bench.stage.desk.call(message) }
            #expect(error.map(Stage.describe) == "AccessDenied final")
        }
        // Without an owner of the portal's name, every caller is refused.
        bench.portal.connection.releaseName(BusNames.portal)
        #expect(
            await bench.ask(PortalDialogTests.camera) == "AccessDenied")
        await bench.end()
    }

    @Test func wrongOptionsAreErrors() async throws {
        let bench = try await Bench([])
        let tooMany = FakePortal.choices((0..<17).map { ("\($0)", "", [], "") })
        for (key, value) in [
            ("modal", Value.string("yes")), ("grant_label", .bool(true)), ("choices", .strings(["a"])),
            ("choices", tooMany),
        ] {
            #expect(await bench.ask(nil, options: [key: value]) == "InvalidArguments", "\(key)")
        }
        await bench.end()
    }

    @Test func longAndMalformedTextsAreBounded() async throws {
        let bench = try await Bench([.grant(.always), .grant(.always)])
        try await bench.dismissOwn()
        let long = String(repeating: "x\u{0301}", count: 50_000)
        for (app, answer) in [(long, "InvalidArguments"), ("a/../\n%s \u{202E}", "0"), ("snap.", "0")] {
            let dialog = FakePortal.dialog(
                bench.handle, app: app, icon: PortalDialogTests.camera, title: long, subtitle: long, body: long,
                options: ["grant_label": .string(long)])
            #expect(await bench.portal.ask(dialog) == answer)
        }
        // The app's identity comes from the kernel, whatever the portal calls it.
        #expect(try await bench.stage.decisions() == ["\(bench.app.id) camera grant always"])
        #expect(try await bench.agent.prompt(1).items[0]["body"]?.stringValue?.unicodeScalars.count ?? 999 <= 512)
        await bench.end()
    }

    @Test func anAppCannotNagThroughThePortal() async throws {
        let bench = try await Bench([.dismiss, .dismiss, .dismiss, .grant(.once)])
        try await bench.dismissOwn()
        for _ in 0..<4 { #expect(await bench.ask(nil) == "2") }
        #expect(bench.agent.prompts.all.count == 4)
        #expect(try await bench.stage.decisions().last == "\(bench.app.id) background pause until")
        _ = try await bench.stage.reset(bench.app.id.description, "background")
        #expect(await bench.ask(nil) == "0")
        await bench.end()
    }

    /// A portal that asks has a device at hand which permd may not see: a camera of libcamera, or a headset.
    @Test(arguments: [("camera-web-symbolic", "camera"), ("audio-input-microphone-symbolic", "microphone")])
    func aPortalHasADevice(_ icon: String, _ permission: String) async throws {
        let bench = try await Bench([.gnss], [.grant(.once)])
        let asking = Task { await bench.ask(icon) }
        try await bench.dismissOwn()
        #expect(await asking.value == "0")
        #expect(try await bench.stage.history().first == "\(permission) granted person")
        await bench.end()
    }

    /// permd answers open dialogs when it stops, so that the portal does not wait forever.
    @Test func dialogsEndWhenPermdStops() async throws {
        let bench = try await Bench([.wait])
        try await bench.dismissOwn()
        let asking = Task { await bench.ask(PortalDialogTests.camera) }
        _ = try await bench.agent.prompt(1)
        await bench.stage.permd.stop()
        #expect(await asking.value == "2")
        await bench.end()
    }
}
