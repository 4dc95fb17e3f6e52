// The prompt in GNOME Shell.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)), .serialized)
@LoopActor
struct GnomePromptTests {
    private static let question = "Unknown program “app” wants to use your camera"

    /// Starts a request and waits for its prompt.
    private func ask(_ app: TestApp, _ token: String = "t", on stage: GnomeStage) async throws {
        try await app.request(token, [.camera])
        try await stage.shows(GnomePromptTests.question)
    }

    /// It comes when the person pauses. What is typed at once neither answers nor reaches it later, and the next keys are
    /// the editor's again.
    @Test(arguments: try await GnomeStage.Kind.available())
    func typingAsItComes(_ kind: GnomeStage.Kind) async throws {
        let stage = try await GnomeStage(kind)
        let editor = try await Editor(on: stage)
        let app = try await TestApp("app", on: stage.permd)
        let words = "the quick brown fox jumps over the lazy dog"
        async let typing: Void = stage.type(words)
        try await editor.events.first("some text") { $0.hasPrefix("text \"the") }
        try await stage.pressAtPrompt(.space, .enter, .tab, .escape, .space, .enter, .tab, .escape)
        try await ask(app, on: stage)
        try await typing
        try await editor.text(words)
        let seen = try await stage.seenAtPrompt()
        #expect(seen.first == "asleep" && seen.contains("One moment…"))
        try await stage.awake()
        // The focus is where keys do nothing.
        try await stage.press(.space, .enter)
        #expect(try await stage.focused() == GnomePromptTests.question)
        try await stage.moveFocus()
        #expect(try await stage.hasPrompt())
        try await stage.click("Allow this time")
        #expect(try await app.response("t") == "0 refused= statuses=camera=granted")
        try await stage.promptIsOver()
        try await stage.type("c")
        try await editor.text(words + "c")
        editor.end()
        await app.end()
        await stage.end()
    }

    @Test func aCameraInUse() async throws {
        let stage = try await GnomeStage()
        let details: [String: Value] = ["source": .string("test"), "device_name": .string("Front Camera")]
        _ = try await stage.call(
            BusNames.enforcement, "ReportUse",
            [.variant(.string("flatpak:org.example.Video")), .string("camera"), .properties(details)])
        let app = try await TestApp("app", on: stage.permd)
        try await ask(app, on: stage)
        try await stage.shows("Front Camera · in use by org.example.Video")
        await app.end()
        await stage.end()
    }

    @Test(arguments: try await GnomeStage.Kind.available())
    func aboveAFullScreenWindow(_ kind: GnomeStage.Kind) async throws {
        let stage = try await GnomeStage(kind)
        let editor = try await Editor(on: stage)
        try await editor.fillScreen()
        let before = Editor.paper
        try await stage.until("the window") { try await stage.colour(640, 130) == before }
        let app = try await TestApp("app", on: stage.permd)
        try await ask(app, on: stage)
        try await stage.awake()
        let place: [Double] = try await stage.read("permdTest.place()")
        #expect(place[0] > 0 && place[1] > 0 && place[0] + place[2] < GnomeStage.width && place[1] + place[3] < 800)
        // Inside the dialog, left of its texts; and beside it, where the screen is dimmed.
        let inside = try await stage.colour(place[0] + 8, place[1] + place[3] / 2)
        let beside = try await stage.colour(place[0] - 40, place[1] + place[3] / 2)
        #expect(inside != before && beside != before && inside != beside, "\(before) \(inside) \(beside)")
        try await stage.press(.escape)
        #expect(try await app.response("t").hasPrefix("1 "))
        try await stage.promptIsOver()
        try await stage.until("the window again") { try await stage.colour(640, 130) == before }
        editor.end()
        await app.end()
        await stage.end()
    }

    /// On a touch screen, the first tap that counts answers.
    @Test func touch() async throws {
        let stage = try await GnomeStage()
        let app = try await TestApp("app", on: stage.permd)
        try await stage.tapAtPrompt(640, 400)
        try await ask(app, on: stage)
        #expect(try await stage.seenAtPrompt().first == "asleep")
        try await stage.awake()
        let button: [Double] = try await stage.read("permdTest.find('Allow this time')")
        try await stage.eval("permdTest.tap(\(button[0] + 9), \(button[1] + 9))")
        #expect(try await app.response("t") == "0 refused= statuses=camera=granted")
        await app.end()
        await stage.end()
    }

    @Test func onTheMonitorOfTheAppsWindow() async throws {
        let stage = try await GnomeStage()
        let editor = try await Editor(on: stage)
        try await stage.eval("permdTest.move(10, 400)")
        for monitor in [1, 0] {
            try await stage.eval("global.display.focus_window.move_to_monitor(\(monitor))")
            editor.ask()
            try await stage.until("the prompt") { try await stage.hasPrompt() }
            try await stage.awake()
            let place: [Double] = try await stage.read("permdTest.place()")
            #expect(monitor == 1 ? place[0] > GnomeStage.width : place[0] + place[2] < GnomeStage.width, "\(place)")
            try await stage.press(.escape)
            try await stage.promptIsOver()
        }
        editor.end()
        await stage.end()
    }

    /// With the keyboard alone: switches, and a button that the person has moved to.
    @Test func severalPermissions() async throws {
        let stage = try await GnomeStage()
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera, .microphone], "explain")
        try await stage.shows("Unknown program “app” wants to use your camera and microphone")
        let texts = try await stage.texts()
        for text in ["The app says:", "A title", "A body", "Camera", "Front Camera", "Microphone", "Headset"] {
            #expect(texts.contains(text), "\(text) is not in \(texts)")
        }
        try await stage.awake()
        try await stage.focus("Microphone, Headset")
        try await stage.press(.space)
        try await stage.focus("Always allow")
        try await stage.press(.enter)
        #expect(try await app.response("t") == "0 refused=microphone statuses=camera=granted microphone=undetermined")
        await app.end()
        await stage.end()
    }

    @Test func moreChoices() async throws {
        let stage = try await GnomeStage()
        let app = try await TestApp("app", on: stage.permd)
        try await ask(app, on: stage)
        #expect(try await !stage.texts().contains("Allow until I log out"))
        try await stage.awake()
        // The second click of a double click comes where an answer is by then.
        try await stage.click("More choices")
        try await stage.eval("permdTest.click()")
        try await stage.shows("Allow until I log out")
        try await stage.focus("Allow for one hour")
        try await stage.press(.space)
        #expect(try await app.response("t") == "0 refused= statuses=camera=granted")
        let rows = try await stage.call(BusNames.policy, "ListDecisions", [.properties([:])]).first?.rows
        #expect(rows?.first?["duration"] == .string("until"))
        await app.end()
        await stage.end()
    }

    @Test func details() async throws {
        let stage = try await GnomeStage()
        let app = try await TestApp("app", on: stage.permd)
        try await ask(app, on: stage)
        try await stage.awake()
        try await stage.click("Details")
        try await stage.shows("Nothing was decided about this before.")
        try await stage.shows("Program: \(app.id.description.dropFirst("exe:".count))")
        await app.end()
        try await stage.promptIsOver()
        await stage.end()
    }

    @Test func oneAfterTheOther() async throws {
        let stage = try await GnomeStage()
        let first = try await TestApp("app", on: stage.permd)
        let second = try await TestApp("other", on: stage.permd)
        try await ask(first, on: stage)
        try await second.request("t", [.camera])
        try await stage.shows("Asking next: other")
        try await stage.awake()
        try await stage.click("Never allow")
        #expect(try await first.response("t") == "0 refused=camera statuses=camera=denied")
        try await stage.shows("Unknown program “other” wants to use your camera")
        // It goes with its app.
        await second.end()
        try await stage.promptIsOver()
        await first.end()
        await stage.end()
    }

    @Test func theDaemonIsKilled() async throws {
        let stage = try await GnomeStage()
        let app = try await TestApp("app", on: stage.permd)
        try await ask(app, on: stage)
        await stage.permd.stop(SIGKILL)
        try await stage.promptIsOver()
        try await stage.permd.start()
        try await stage.until("the extension's return") { try await stage.agents() == 1 }
        try await ask(app, "again", on: stage)
        await app.end()
        try await stage.promptIsOver()
        await stage.end()
    }

    /// Nothing is shown above the lock screen; afterwards it shows prompts again.
    @Test func theScreenIsLocked() async throws {
        let stage = try await GnomeStage()
        let other = ScriptedAgent(try stage.permd.bus.connect(), otherwise: .wait)
        try await other.register()
        let app = try await TestApp("app", on: stage.permd)
        try await ask(app, on: stage)
        try await stage.eval("Main.sessionMode.pushMode('unlock-dialog')")
        let prompt = try await other.prompts.wait(for: 1)[0]
        #expect(try await !stage.hasPrompt())
        #expect(try await stage.isTrue("Main.modalCount === 0"))
        try await stage.eval("Main.sessionMode.popMode('unlock-dialog')")
        try await stage.until("the extension's return") { try await stage.agents() == 2 }
        other.answer(prompt, with: .dismiss)
        #expect(try await app.response("t").hasPrefix("1 "))
        try await ask(app, "again", on: stage)
        await app.end()
        try await stage.promptIsOver()
        await stage.end()
    }

    /// Where presses cannot be kept from the prompt, none is shown any more, and another agent asks.
    @Test func aShellThatCannotDelayAnswers() async throws {
        let stage = try await GnomeStage()
        let other = ScriptedAgent(try stage.permd.bus.connect(), otherwise: .wait)
        try await other.register()
        let app = try await TestApp("app", on: stage.permd)
        try await ask(app, on: stage)
        try await stage.eval(
            "(permdTest.prompt()._inputDelay.stops = () => { throw new Error('it is gone'); }, true)")
        try await stage.press(.space)
        let prompt = try await other.prompts.wait(for: 1)[0]
        #expect(try await !stage.hasPrompt())
        #expect(try await stage.agents() == 1)
        other.answer(prompt, with: .dismiss)
        #expect(try await app.response("t").hasPrefix("1 "))
        await app.end()
        await stage.end()
    }

    /// What a screen reader finds.
    @Test func accessibleNames() async throws {
        let stage = try await GnomeStage()
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera, .microphone], "reason=why")
        try await stage.awake()
        let widgets = try await stage.widgets(of: "gnome-shell")
        func widget(_ role: String, _ name: String) throws -> Session.Widget {
            try #require(widgets.first { $0.role == role && $0.name == name }, "\(role) \(name)")
        }
        _ = try widget("dialog", "Permission request")
        let question = try widget("label", "Unknown program “app” wants to use your camera and microphone")
        #expect(question.states.contains("focused") && question.description.contains("why"))
        #expect(try widget("button", "Allow this time").description == "Holds until the app is closed")
        #expect(try widget("button", "Not now").description == "Decides nothing; the app may ask again")
        _ = try widget("toggle button", "Camera, Front Camera")
        _ = try widget("toggle button", "Details")
        _ = try widget("toggle button", "More choices")
        await app.end()
        try await stage.promptIsOver()
        await stage.end()
    }

    /// A program of the session that is not permd.
    @Test func aStrangerIsRefused() async throws {
        let stage = try await GnomeStage()
        let desk = try stage.permd.bus.connect()
        let agent = try #require(try await stage.call(BusNames.agentManager, "ListAgents").first?.rows?.first)
        let owner = try #require(agent["owner"]?.stringValue ?? agent["sender"]?.stringValue)
        for member in ["Prompt", "Update", "Withdraw"] {
            let last: Value = member == "Withdraw" ? .string("why") : .properties(["app": .string("exe:/bin/sh")])
            let call = Message.call(
                destination: owner, path: "/org/permd/agent/GnomeShell", interface: BusNames.agent, member: member,
                [.objectPath("/org/permd/prompt/1"), last])
            await #expect(throws: BusError.self) { _ = try await desk.call(call) }
        }
        #expect(try await !stage.hasPrompt())
        desk.close()
        await stage.end()
    }
}
