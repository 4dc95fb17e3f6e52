// The window on a screen: its text, its accessibility, and its reaction to clicks and keys.

import DBus
import Foundation
import PermissionClient
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15)), .serialized)
@LoopActor
struct WindowTests {
    @Test func aPromptIsAnsweredByMouse() async throws {
        let stage = try await AgentStage()
        try await stage.startAgent()
        let app = try await TestApp("video-call", on: stage.permd)
        try await app.request("t", [.camera], "reason=because")
        _ = try await stage.awake("Allow this time")
        let labels = try await stage.labels()
        for text in ["Unknown program “video-call” wants to use your camera", "Front Camera", "“because”"] {
            #expect(labels.contains(text), "\(text) is not in \(labels)")
        }
        // What a machine calls the app is for the details.
        #expect(!labels.contains { $0.contains("exe:") || $0.contains(app.id.name) })
        try await stage.click("Allow this time")
        #expect(try await app.response("t") == "0 refused= statuses=camera=granted")
        #expect(try await stage.decision(of: app, .camera) == .once)
        try await stage.until("the window's end") { try await stage.window() == nil }
        await stage.end()
    }

    /// Each answer says how long it is in force. The less usual ones are shown on request, with the guard armed again.
    @Test(arguments: [
        ("Always allow", Duration.Kind.always), ("Allow until I log out", .session), ("Allow for one hour", .until),
    ])
    func answersSayHowLongTheyHold(_ answer: String, _ duration: Duration.Kind) async throws {
        let stage = try await AgentStage()
        try await stage.startAgent()
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        if duration != .always { try await stage.click("More choices") }
        try await stage.click(answer)
        #expect(try await app.response("t") == "0 refused= statuses=camera=granted")
        #expect(try await stage.decision(of: app, .camera) == duration)
        await stage.end()
    }

    /// The pointer rests on an answer when that begins to count. A press from before that does not, whenever it ends.
    @Test func thePointerNeedNotMove() async throws {
        let stage = try await AgentStage()
        try await stage.startAgent()
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        let answer = try await stage.awake("Always allow")
        // Its prompt goes at once then, and the next one is another.
        let settings = PermissionSettings(bus: .address(stage.permd.bus.address))
        try await settings.set(.deny, app: app.id.description, permission: .camera)
        try await app.request("u", [.microphone])
        let window = try await stage.window() ?? ""
        let place = ["\(answer.place[0] + 20)", "\(answer.place[1] + 9)"]
        try await stage.run("xdotool", "mousemove", "--window", window, place[0], place[1], "mousedown", "1")
        _ = try await stage.awake("Always allow")
        try await stage.run("xdotool", "mouseup", "1")
        // The agent has handled that when it answers assistive technology.
        #expect(try await !stage.labels().isEmpty)
        #expect(!app.events.all.contains { $0.hasPrefix("response u") }, "\(app.events.all)")
        try await stage.run("xdotool", "click", "1")
        #expect(try await app.response("u") == "0 refused= statuses=microphone=granted")
        #expect(try await stage.decision(of: app, .microphone) == .always)
        await stage.end()
    }

    @Test func keysAloneAreEnough() async throws {
        let stage = try await AgentStage()
        try await stage.startAgent()
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        _ = try await stage.awake("Allow this time")
        // The focus is on the question until the person moves it.
        try await stage.key("Return", "KP_Enter", "space", "Return")
        try await stage.focus("Allow this time")
        #expect(!app.events.all.contains { $0.hasPrefix("response") })
        try await stage.key("Return")
        #expect(try await app.response("t") == "0 refused= statuses=camera=granted")
        try await app.request("u", [.microphone])
        _ = try await stage.awake("Not now")
        try await stage.key("Escape")
        #expect(try await app.response("u") == "1 refused=microphone statuses=microphone=undetermined")
        await stage.end()
    }

    /// The question with the app's reason first, then everything that can be operated, each with its name.
    @Test func aScreenReaderHearsEverythingInOrder() async throws {
        let stage = try await AgentStage()
        try await stage.startAgent()
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera, .microphone], "reason=because")
        _ = try await stage.awake("Allow this time")
        let question = "Unknown program “app” wants to use your camera and microphone"
        let frame = try #require(try await stage.frame())
        #expect(frame.description == question)
        var heard: [String] = []
        repeat {
            try await stage.until("another focus") {
                guard let focused = try await stage.widgets().first(where: { $0.states.contains("focused") }) else {
                    return false
                }
                let words = "\(focused.name) (\(focused.description))"
                guard words != heard.last else { return false }
                heard.append(words)
                return true
            }
            try await stage.key("Tab")
        } while heard.last?.hasPrefix("More choices") == false
        #expect(
            heard == [
                "\(question) (“because”)", "Camera, Front Camera ()", "Microphone, Headset ()",
                "Details ()", "Allow this time (Holds until the app is closed)",
                "Always allow (Holds until you change it in Permissions)",
                "Never allow (Holds until you change it in Permissions)",
                "Not now (Decides nothing; the app may ask again)", "More choices ()",
            ])
        await stage.end()
    }

    /// The details open the app's page in Permissions, which outlives the agent.
    @Test func theDetailsLeadToPermissions() async throws {
        let stage = try await AgentStage()
        try await stage.allowActivation(
            "org.permd.Settings", [BuiltProgram.path("permd-settings"), "--gapplication-service"])
        try await stage.startAgent()
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        _ = try await stage.awake("Allow this time")
        try await stage.focus("Details")
        try await stage.key("space")
        try await stage.focus("Open Permissions")
        try await stage.key("space")
        let window = "org.permd.Settings"
        try await stage.until("the window") { try await stage.window(of: window) != nil }
        _ = await stage.endAgent(SIGKILL)
        try await stage.until("the app's page") {
            try await stage.widgets(of: window).contains { $0.name == app.id.description }
        }
        // The program is not a child of the test, which ends it by its key.
        let id = try await stage.window(of: window) ?? ""
        try await stage.run("xdotool", "windowactivate", "--sync", id, "key", "ctrl+q")
        try await stage.until("the end of the window") { try await stage.window(of: window) == nil }
        await stage.end()
    }

    /// The window asks for attention, and leaves the keyboard where it is. Without the focus nothing answers, the
    /// window's close button included.
    @Test func theKeyboardIsNotTaken() async throws {
        let stage = try await AgentStage()
        try await stage.startAgent()
        // The window takes the keyboard when the pointer rests.
        let moves = (0..<100).flatMap { ["mousemove", "\($0)", "5", "sleep", "0.5"] }
        let hand = try ChildProcess("xdotool", moves, environment: stage.environment)
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        try await stage.until("the window") { try await stage.window() != nil }
        let window = try await stage.window() ?? ""
        try await stage.run("xdotool", "windowquit", window)
        #expect(try await !stage.hasFocus())
        let properties = try await stage.run("xprop", "-id", window, "_NET_WM_WINDOW_TYPE", "_NET_WM_USER_TIME")
        #expect(properties.contains("_NET_WM_WINDOW_TYPE_DIALOG") && properties.contains("USER_TIME(CARDINAL) = 0"))
        // It waits for the focus, and so does not wake up.
        #expect(try await stage.labels().contains("Click here to answer."))
        let buttons = try await stage.widgets().filter { $0.role == "button" && $0.states.contains("sensitive") }
        #expect(buttons.map(\.name) == ["Details"])
        #expect(try await stage.window() == window && !app.events.all.contains { $0.hasPrefix("response") })
        hand.terminate()
        try await stage.click("Never allow")
        #expect(try await app.response("t") == "0 refused=camera statuses=camera=denied")
        await stage.end()
    }

    /// However slowly the agent gets clicks and wherever they are, none answers that was made before the guard woke up:
    /// it gets all of them together, the one first that gives the window the focus.
    @Test func clickingWildlyNeverGrants() async throws {
        let stage = try await AgentStage()
        try await stage.startAgent()
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        try await stage.until("the window") { try await stage.window() != nil }
        stage.signalAgent(SIGSTOP)
        try await stage.clickEverywhere()
        stage.signalAgent(SIGCONT)
        _ = try await stage.awake("Never allow")
        #expect(!app.events.all.contains { $0.hasPrefix("response") }, "\(app.events.all)")
        try await stage.click("Never allow")
        #expect(try await app.response("t") == "0 refused=camera statuses=camera=denied")
        await stage.end()
    }

    @Test func severalPermissionsAreRowsOfOnePage() async throws {
        let stage = try await AgentStage()
        try await stage.startAgent()
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera, .microphone], "explain")
        _ = try await stage.awake("Allow this time")
        let labels = try await stage.labels()
        for text in [
            "A title", "A body", "Unknown program “app” wants to use your camera and microphone", "Front Camera",
            "Headset",
        ] { #expect(labels.contains(text), "\(text) is not in \(labels)") }
        // An explanation is why.
        #expect(!labels.contains("The app does not say why."))
        // GTK 4.8 calls a switch a check box.
        let onOff = try #require(try await stage.widgets().first { $0.name == "Microphone, Headset" })
        try await stage.click("Microphone, Headset", role: onOff.role)
        try await stage.click("Allow this time")
        #expect(try await app.response("t") == "0 refused=microphone statuses=camera=granted microphone=undetermined")
        // Nothing switched on is nothing to allow.
        try await app.request("u", [.microphone, .bluetooth, .location])
        _ = try await stage.awake("Never allow")
        await stage.end()
    }

    /// The next prompt comes into the same window, whose guard starts anew.
    @Test func oneWindowForTheWholeQueue() async throws {
        let stage = try await AgentStage()
        try await stage.startAgent()
        let first = try await TestApp("first", on: stage.permd)
        let second = try await TestApp("second", on: stage.permd)
        try await first.request("t", [.camera])
        try await stage.until("the window") { try await stage.window() != nil }
        let window = try await stage.window()
        #expect(try await !stage.labels().contains { $0.hasPrefix("Asking next: ") })
        try await second.request("u", [.camera])
        try await stage.until("the line") { try await stage.labels().contains("Asking next: second") }
        try await stage.click("Never allow")
        #expect(try await first.response("t") == "0 refused=camera statuses=camera=denied")
        try await stage.until("the next question") {
            try await stage.labels().contains("Unknown program “second” wants to use your camera")
        }
        #expect(try await stage.window() == window)
        #expect(try await !stage.labels().contains { $0.hasPrefix("Asking next: ") })
        try await stage.click("Never allow")
        #expect(try await second.response("u") == "0 refused=camera statuses=camera=denied")
        try await stage.until("the window's end") { try await stage.window() == nil }
        await stage.end()
    }

    @Test func theThirdNotNowSaysWhatItDoes() async throws {
        let stage = try await AgentStage()
        try await stage.startAgent()
        let app = try await TestApp("app", on: stage.permd)
        let note = "After Not now, the app cannot ask again for 10 minutes."
        for number in 0..<3 {
            try await app.request("t\(number)", [.camera])
            _ = try await stage.awake("Not now")
            #expect(try await stage.labels().contains(note) == (number == 2))
            try await stage.click("Not now")
            let pause = number == 2 ? "paused " : ""
            #expect(try await app.response("t\(number)") == "1 \(pause)refused=camera statuses=camera=undetermined")
        }
        await stage.end()
    }

    @Test func detailsOnRequest() async throws {
        let stage = try await AgentStage()
        try await stage.startAgent()
        let app = try await TestApp("app", on: stage.permd)
        let settings = PermissionSettings(bus: .address(stage.permd.bus.address))
        try await settings.set(.deny, app: app.id.description, permission: .location)
        try await app.request("t", [.camera])
        try await stage.click("Details")
        try await stage.until("the details") {
            try await stage.labels().contains("Nothing was decided about this before.")
        }
        let labels = try await stage.labels()
        for text in ["Program: \(app.id.name)", "Not in a sandbox: it can open devices without asking."] {
            #expect(labels.contains(text), "\(text) is not in \(labels)")
        }
        #expect(labels.contains { $0.hasPrefix("Asked at ") && $0.count > 20 })
        try await stage.click("Never allow")
        #expect(try await app.response("t") == "0 refused=camera statuses=camera=denied")
        await stage.end()
    }

    @Test func withdrawnPromptsClose() async throws {
        let stage = try await AgentStage()
        try await stage.startAgent()
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera], "explain")
        try await stage.until("the window") { try await stage.window() != nil }
        _ = try await app.ask("close t")
        try await stage.until("the window's end") { try await stage.window() == nil }
        await stage.end()
    }

    @Test(arguments: [
        String(repeating: "W", count: 300), "%n%s%@%d", "<b>bold</b><span size='99999'>x</span>&amp;",
        "\u{202E}evil\u{2066}\u{200F}", String(repeating: "مرحبا", count: 60), "Allow\u{2028}\u{2028}\u{2028}Always",
    ])
    func hostileTextsHideNothing(_ text: String) async throws {
        let stage = try await AgentStage()
        try await stage.startAgent()
        let responses = try await stage.ask(
            .camera,
            ["reasons": .stringTable(["camera": text]), "explanation": .structure([.string(text), .string(text)])])
        _ = try await stage.awake("Never allow")
        let widgets = try await stage.widgets()
        try await stage.expectWhole(screen: (1000, 900))
        if text.contains("<b>") { #expect(widgets.contains { $0.name.contains("<b>bold</b>") }) }
        try await stage.click("Never allow")
        #expect(try await responses.wait(for: 1) == [0])
        await stage.end()
    }

    /// An alert whose description is the question; the focus is on the question, where no key answers.
    @Test func assistiveTechnologySeesEverything() async throws {
        let stage = try await AgentStage()
        try await stage.startAgent()
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera, .microphone])
        _ = try await stage.awake("Allow this time")
        let widgets = try await stage.widgets()
        let frame = try #require(try await stage.frame())
        let question = "Unknown program “app” wants to use your camera and microphone"
        #expect(frame.role != "frame" && frame.name == "Permission request" && frame.description == question)
        #expect(widgets.filter { $0.states.contains("focused") }.map(\.name) == [question])
        let named = widgets.filter { !$0.name.isEmpty && $0.role != "label" && !$0.name.hasPrefix("Gtk") }.map(\.name)
        #expect(
            named == [
                "Permission request", "app", "Camera, Front Camera", "Microphone, Headset", "Details",
                "Allow this time", "Always allow", "Never allow", "Not now", "More choices",
            ])
        for name in ["Allow this time", "Always allow", "Never allow", "Not now"] {
            #expect(widgets.contains { $0.name == name && !$0.description.isEmpty }, "\(name)")
        }
        await stage.end()
    }

    @Test func killedWhileItShowsAPrompt() async throws {
        let stage = try await AgentStage(settings: "[Prompts]\nAgentWaitSec=1\n")
        try await stage.startAgent()
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        try await stage.until("the window") { try await stage.window() != nil }
        _ = await stage.endAgent(SIGKILL)
        #expect(try await app.response("t").hasPrefix("2 error=org.permd.Error.NoAgent"))
        await stage.end()
    }

    @Test func exitsWhenIdleOrTerminated() async throws {
        let stage = try await AgentStage()
        try await stage.startAgent(["--idle", "1"])
        #expect(await stage.waitForAgentsEnd() == .exited(0))
        try await stage.startAgent()
        #expect(await stage.endAgent(SIGTERM) == .exited(0))
        await stage.end()
    }

    /// While idle there is no agent process: the bus starts it for each prompt, and it exits afterwards.
    @Test func startedWhenAPromptIsDue() async throws {
        let stage = try await AgentStage()
        try await stage.allowActivation()
        let app = try await TestApp("app", on: stage.permd)
        for (token, permission) in [("a", Permission.camera), ("b", .microphone)] {
            #expect(try await !stage.hasAgent())
            try await app.request(token, [permission])
            try await stage.click("Never allow")
            #expect(try await app.response(token).hasPrefix("0 refused=\(permission.rawValue)"))
            try await stage.until("the agent's end") { try await !stage.hasAgent() }
        }
        await stage.end()
    }

    @Test func withoutADisplay() async throws {
        let child = try ChildProcess(BuiltProgram.path("permd-agent"), environment: [:], standardError: .pipe)
        var errors = ""
        for await line in child.errorLines { errors += line }
        #expect(await child.waitForExit() == .exited(69))
        #expect(errors.contains("no display"))
    }
}
