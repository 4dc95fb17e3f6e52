// What other programs on the display can do with the window of a prompt: nothing that answers or hides it.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15)), .serialized)
@LoopActor
struct OtherProgramsTests {
    /// A window of another program, which a request names as its own.
    private func window(on stage: AgentStage) async throws -> (program: ChildProcess, id: String) {
        let program = try ChildProcess(
            BuiltProgram.path("permd-settings"), environment: stage.environment, standardError: .null)
        let name = "org.permd.Settings"
        try await stage.until("the other window") { try await stage.window(of: name) != nil }
        return (program, try #require(try await stage.window(of: name)))
    }

    private static func middle(_ place: [Int]) -> (x: Int, y: Int) {
        guard place.count == 4 else { return (0, 0) }
        return (place[0] + place[2] / 2, place[1] + place[3] / 2)
    }

    /// The prompt appears on the app's window, and stays where the person is when that is minimized or moved away.
    @Test(arguments: [["windowminimize"], ["set_desktop_for_window", "1"]])
    func theAppsWindowGoesWithoutThePrompt(_ command: [String]) async throws {
        let stage = try await AgentStage(screen: "1600x1200")
        try await stage.startAgent()
        let (program, id) = try await window(on: stage)
        try await stage.run("xdotool", "windowsize", "--sync", id, "600", "500", "windowmove", id, "900", "600")
        var other: [Int] = []
        try await stage.until("the other window's place") {
            other = try await stage.place(of: id)
            return other.prefix(2).allSatisfy { $0 > 500 }
        }
        let number = String(try #require(Int(id)), radix: 16)
        let responses = try await stage.ask(.camera, ["parent_window": .string("x11:\(number)")])
        try await stage.until("the prompt") { try await stage.window() != nil }
        let prompt = try #require(try await stage.window())
        try await stage.until("the prompt's place") {
            let own = OtherProgramsTests.middle(try await stage.place(of: prompt))
            // The other window may still become larger.
            other = try await stage.place(of: id)
            guard other.count == 4 else { return false }
            let its = OtherProgramsTests.middle(other)
            return abs(own.x - its.x) < other[2] / 2 && abs(own.y - its.y) < other[3] / 2
        }
        let arguments = command.count > 1 ? [command[0], id, command[1]] : [command[0], id]
        try await stage.run("xdotool", arguments)
        try await stage.until("the other window's end") { try await stage.window(of: "org.permd.Settings") == nil }
        let properties = try await stage.run("xprop", "-id", prompt, "WM_TRANSIENT_FOR", "_NET_WM_STATE")
        #expect(properties.contains("WM_TRANSIENT_FOR:  not found") && properties.contains("_NET_WM_STATE_ABOVE"))
        #expect(try await stage.window() == prompt)
        try await stage.click("Never allow")
        #expect(try await responses.wait(for: 1) == [0])
        program.terminate()
        await stage.end()
    }

    /// Any client of the X server may hide any window.
    @Test(arguments: ["windowminimize", "windowunmap", "windowreparent"])
    func aHiddenPromptAppearsAgain(_ command: String) async throws {
        let stage = try await AgentStage()
        try await stage.startAgent()
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        let (program, id) = try await window(on: stage)
        try await stage.run("xdotool", "windowunmap", "--sync", id)
        for _ in 0..<3 {
            try await stage.until("the prompt") { try await stage.window() != nil }
            let prompt = try #require(try await stage.window())
            try await stage.until("another window") {
                let shown = try await stage.window()
                guard shown == prompt else { return shown != nil }
                // Until it is hidden: the window manager shows a minimized window that is given the keyboard.
                try await stage.run("xdotool", [command, prompt] + (command == "windowreparent" ? [id] : []))
                return false
            }
        }
        let prompt = try #require(try await stage.window())
        try await stage.until("its place above others") {
            try await stage.run("xprop", "-id", prompt, "_NET_WM_STATE").contains("_NET_WM_STATE_ABOVE")
        }
        try await stage.click("Never allow")
        #expect(try await app.response("t") == "0 refused=camera statuses=camera=denied")
        program.terminate()
        await stage.end()
    }

    /// Who cannot see the question cannot answer it: a click could only be meant for what is above.
    @Test func aCoveredPromptSleeps() async throws {
        let stage = try await AgentStage()
        try await stage.startAgent()
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        try await stage.inputCounts()
        let cover = try await stage.cover("unmanaged")
        try await stage.until("a page that sleeps") {
            try await stage.labels().contains("Click here to answer.")
        }
        let buttons = try await stage.widgets().filter { $0.role == "button" && $0.states.contains("sensitive") }
        #expect(buttons.map(\.name) == ["Details"])
        cover.terminate()
        _ = await cover.waitForExit()
        try await stage.click("Never allow")
        #expect(try await app.response("t") == "0 refused=camera statuses=camera=denied")
        await stage.end()
    }

    /// The person goes to another desktop.
    @Test func thePromptIsOnEveryDesktop() async throws {
        let stage = try await AgentStage()
        try await stage.startAgent()
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        try await stage.until("the window") { try await stage.window() != nil }
        try await stage.run("xdotool", "set_desktop", "2")
        try await stage.until("the other desktop") {
            try await stage.run("xdotool", "get_desktop").contains("2")
        }
        try await stage.click("Never allow")
        #expect(try await app.response("t") == "0 refused=camera statuses=camera=denied")
        await stage.end()
    }

    /// xdotool types and clicks with XTEST: nothing is answered, and the page says why, once.
    @Test func keysAndClicksOfOtherProgramsAnswerNothing() async throws {
        let stage = try await AgentStage()
        try await stage.startAgent(["--idle", "0"])
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        try await stage.inputCounts()
        let refusal = "Other programs cannot type or click here (see permd-agent(1))."
        #expect(try await !stage.labels().contains(refusal))
        try await stage.click("Allow this time")
        try await stage.until("the refusal") { try await stage.labels().contains(refusal) }
        try await stage.inputCounts()
        try await stage.clickEverywhere()
        for key in ["Tab", "space", "Tab", "space", "Tab", "space", "Return", "Escape"] { try await stage.key(key) }
        // The agent has handled all of that when it has answered assistive technology.
        try await stage.inputCounts()
        #expect(try await stage.labels().contains(refusal))
        #expect(!app.events.all.contains { $0.hasPrefix("response") }, "\(app.events.all)")
        // A screen reader's press is no input of the X server.
        try await stage.press("Never allow")
        #expect(try await app.response("t") == "0 refused=camera statuses=camera=denied")
        await stage.end()
    }
}
