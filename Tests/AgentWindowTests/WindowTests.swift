// The window on a screen: its text, its accessibility, and its reaction to clicks and keys.

import DBus
import Foundation
import PermissionClient
import PermissionModel
import PermissionTestKit
import Testing

@Suite(.timeLimit(.minutes(5)), .serialized)
@LoopActor
struct WindowTests {
    @Test func aPromptIsAnsweredByMouse() async throws {
        let bench = try await WindowBench()
        try await bench.startAgent()
        let app = try await TestApp("video-call", on: bench.permd)
        try await app.request("t", [.camera], "reason=because")
        _ = try await bench.awake("Only This Time")
        let labels = try await bench.labels()
        for text in [
            "video-call would like to use the camera", "Device: Front Camera", "The app says: “because”",
            "Unknown program: \(app.id.name)",
        ] { #expect(labels.contains(text), "\(text) is not in \(labels)") }
        try await bench.click("Only This Time")
        #expect(try await app.response("t") == "0 refused= statuses=camera=granted")
        try await bench.until("the window's end") { try await bench.window() == nil }
        await bench.end()
    }

    @Test func keysAloneAreEnough() async throws {
        let bench = try await WindowBench()
        try await bench.startAgent()
        let app = try await TestApp("app", on: bench.permd)
        try await app.request("t", [.camera])
        try await bench.focus("Always Allow")
        // Return never grants, even with the focus on a button.
        try await bench.key("Return", "KP_Enter", "Return")
        #expect(!app.events.all.contains { $0.hasPrefix("response") })
        try await bench.key("space")
        #expect(try await app.response("t") == "0 refused= statuses=camera=granted")
        // Escape is Not Now, and works at once.
        try await app.request("u", [.microphone])
        try await bench.until("the window") { try await bench.window() != nil }
        try await bench.until("the answer") {
            try await bench.key("Escape")
            return app.events.all.contains { $0.hasPrefix("response u") }
        }
        #expect(try await app.response("u") == "1 refused=microphone statuses=microphone=undetermined")
        await bench.end()
    }

    @Test func clickingWildlyNeverGrants() async throws {
        let bench = try await WindowBench()
        try await bench.startAgent()
        let app = try await TestApp("app", on: bench.permd)
        var isProven = false
        for trial in 0..<40 where !isProven {
            try await app.request("t\(trial)", [.camera])
            isProven = try await clickEverywhere(bench)
            let isAnswered = app.events.all.contains { $0.hasPrefix("response t\(trial) ") }
            if isProven {
                #expect(!isAnswered, "\(app.events.all)")
                try await bench.click("Don't Allow")
                #expect(try await app.response("t\(trial)") == "0 refused=camera statuses=camera=denied")
            } else {
                // On a busy machine the clicks were too far apart: this trial proves nothing.
                if !isAnswered { _ = try await app.ask("close t\(trial)") }
                _ = try await PermissionSettings(bus: .address(bench.permd.bus.address)).reset()
                try await bench.until("the window's end") { try await bench.window() == nil }
            }
        }
        #expect(isProven, "the machine is too busy for quick clicks")
        await bench.end()
    }

    /// Clicks from the window's top to its bottom. Returns false as soon as two clicks, or the window's appearance and
    /// the first click, may have been 400 ms apart.
    private func clickEverywhere(_ bench: WindowBench) async throws -> Bool {
        var last = Loop.uptimeMilliseconds()
        var window = ""
        try await bench.until("the window") {
            // The last time that no window was found.
            let look = Loop.uptimeMilliseconds()
            guard let found = try await bench.window() else {
                last = look
                return false
            }
            window = found
            return true
        }
        let lines = try await bench.run("xdotool", "getwindowgeometry", "--shell", window).split(separator: "\n")
        let height = lines.first { $0.hasPrefix("HEIGHT=") }.flatMap { Int($0.dropFirst(7)) } ?? 0
        for row in stride(from: 10, to: height - 10, by: 14) {
            let start = Loop.uptimeMilliseconds()
            // The X server has received the click when this program has exited.
            try await bench.run("xdotool", "mousemove", "--window", window, "210", "\(row)", "click", "1")
            if Loop.uptimeMilliseconds() - last > 400 { return false }
            last = start
            await bench.pause(50)
        }
        return height > 0
    }

    @Test func severalPermissionsArePagesOfOneWindow() async throws {
        let bench = try await WindowBench()
        try await bench.startAgent()
        let app = try await TestApp("app", on: bench.permd)
        try await app.request("t", [.camera, .microphone], "explain")
        _ = try await bench.awake("Continue")
        #expect(try await bench.labels().contains("A body"))
        try await bench.click("Continue")
        _ = try await bench.awake("Only This Time")
        #expect(try await bench.labels().contains("1 of 2"))
        // Allow All is offered only after each question was seen.
        #expect(try await !bench.widgets().contains { $0.name == "Allow All, Only This Time" })
        try await bench.click("Next")
        _ = try await bench.awake("Allow All, Only This Time")
        #expect(try await bench.labels().contains("2 of 2"))
        try await bench.click("Allow All, Only This Time")
        #expect(try await app.response("t") == "0 refused= statuses=camera=granted microphone=granted")
        try await app.request("u", [.camera, .microphone], "interactive=no")
        #expect(try await app.response("u") == "0 refused= statuses=camera=granted microphone=granted")
        await bench.end()
    }

    @Test func withdrawnPromptsClose() async throws {
        let bench = try await WindowBench()
        try await bench.startAgent()
        let app = try await TestApp("app", on: bench.permd)
        try await app.request("t", [.camera], "explain")
        try await bench.until("the window") { try await bench.window() != nil }
        _ = try await app.ask("close t")
        try await bench.until("the window's end") { try await bench.window() == nil }
        await bench.end()
    }

    @Test(arguments: [
        String(repeating: "W", count: 300), "%n%s%@%d", "<b>bold</b><span size='99999'>x</span>&amp;",
        "\u{202E}evil\u{2066}\u{200F}", String(repeating: "مرحبا", count: 60), "Allow\u{2028}\u{2028}\u{2028}Always",
    ])
    func hostileTextsHideNothing(_ text: String) async throws {
        let bench = try await WindowBench()
        try await bench.startAgent()
        let desk = try bench.permd.bus.connect()
        let responses = EventLog<UInt32>()
        desk.onSignal(interface: BusNames.request, member: "Response", addMatch: false) { message in
            responses.add(message.body.first?.uint32Value ?? 99)
        }
        let options: [String: Value] = [
            "reasons": .stringTable(["camera": text]), "explanation": .structure([.string(text), .string(text)]),
        ]
        _ = try await desk.call(
            .call(
                destination: BusNames.service, path: BusNames.root, interface: BusNames.access,
                member: "RequestAccess", [.strings(["camera"]), .properties(options)]))
        try await bench.click("Continue")
        _ = try await bench.awake("Don't Allow")
        let widgets = try await bench.widgets()
        let frame = try #require(widgets.first { $0.role == "frame" })
        #expect(frame.place[2] <= 1000 && frame.place[3] <= 880, "\(frame.place)")
        for button in widgets where button.role == "button" {
            #expect(button.place[0] >= 0 && button.place[0] + button.place[2] <= frame.place[2], "\(button)")
            #expect(button.place[1] >= 0 && button.place[1] + button.place[3] <= frame.place[3], "\(button)")
        }
        if text.contains("<b>") { #expect(widgets.contains { $0.name.contains("<b>bold</b>") }) }
        try await bench.click("Don't Allow")
        #expect(try await responses.wait(for: 1) == [0])
        desk.close()
        await bench.end()
    }

    /// A phone's screen, and larger text.
    @Test(arguments: [("360x640", "1"), ("400x560", "1.5"), ("1000x900", "2")])
    func smallScreensAndLargeText(_ screen: String, _ scale: String) async throws {
        let bench = try await WindowBench(environment: ["GDK_DPI_SCALE": scale], screen: screen)
        try await bench.startAgent()
        let app = try await TestApp("app", on: bench.permd)
        try await app.request("t", [.camera, .microphone], "reason=" + String(repeating: "word,", count: 60))
        _ = try await bench.awake("Don't Allow")
        let size = screen.split(separator: "x").compactMap { Int($0) }
        let widgets = try await bench.widgets()
        let frame = try #require(widgets.first { $0.role == "frame" }).place
        #expect(frame[2] <= size[0] && frame[3] <= size[1], "\(frame)")
        for button in widgets where button.role == "button" {
            #expect(button.place[0] >= 0 && button.place[0] + button.place[2] <= frame[2], "\(button)")
            #expect(button.place[1] >= 0 && button.place[1] + button.place[3] <= frame[3], "\(button)")
        }
        try await bench.click("Don't Allow")
        try await bench.click("Don't Allow")
        #expect(try await app.response("t") == "0 refused=camera statuses=camera=denied microphone=denied")
        await bench.end()
    }

    @Test func assistiveTechnologySeesEverything() async throws {
        let bench = try await WindowBench()
        try await bench.startAgent()
        let app = try await TestApp("app", on: bench.permd)
        try await app.request("t", [.camera])
        _ = try await bench.awake("Not Now")
        let buttons = try await bench.widgets().filter { $0.role == "button" }
        #expect(buttons.map(\.name) == ["Don't Allow", "Only This Time", "Until I Log Out", "Always Allow", "Not Now"])
        #expect(buttons.allSatisfy { !$0.description.isEmpty })
        #expect(try await bench.widgets().contains { $0.role == "frame" && $0.name == "Permission request" })
        await bench.end()
    }

    @Test(arguments: [("de", "DE", "Nicht erlauben"), ("ja", "JP", "許可しない")])
    func otherLanguages(_ language: String, _ country: String, _ deny: String) async throws {
        let folder = try TemporaryFolder([language, "\(language)/LC_MESSAGES"])
        let catalog = CatalogTests.project.appending(path: "po/\(language).po").path
        let compiler = try ChildProcess(
            "msgfmt", ["--check", "-o", folder.file("\(language)/LC_MESSAGES/permd.mo"), catalog])
        #expect(await compiler.waitForExit() == .exited(0))
        // A minimal system has only C.UTF-8, under which nothing is translated.
        let locale = "\(language)_\(country)"
        let maker = try ChildProcess(
            "localedef", ["--no-archive", "-i", locale, "-f", "UTF-8", folder.file("\(locale).UTF-8")],
            standardError: .null)
        #expect(await maker.waitForExit() == .exited(0))
        let bench = try await WindowBench(environment: [
            "LANGUAGE": language, "LC_ALL": "\(locale).UTF-8", "LOCPATH": folder.path,
            "PERMD_LOCALE_DIR": folder.path,
        ])
        try await bench.startAgent()
        let app = try await TestApp("app", on: bench.permd)
        try await app.request("t", [.camera])
        try await bench.click(deny)
        #expect(try await app.response("t") == "0 refused=camera statuses=camera=denied")
        await bench.end()
    }

    @Test func killedWhileItShowsAPrompt() async throws {
        let bench = try await WindowBench(settings: "[Prompts]\nAgentWaitSec=1\n")
        try await bench.startAgent()
        let app = try await TestApp("app", on: bench.permd)
        try await app.request("t", [.camera])
        try await bench.until("the window") { try await bench.window() != nil }
        _ = await bench.endAgent(SIGKILL)
        #expect(try await app.response("t").hasPrefix("2 error=org.permd.Error.NoAgent"))
        await bench.end()
    }

    @Test func exitsWhenIdleOrTerminated() async throws {
        let bench = try await WindowBench()
        try await bench.startAgent(["--idle", "1"])
        #expect(await bench.waitForAgentsEnd() == .exited(0))
        try await bench.startAgent()
        #expect(await bench.endAgent(SIGTERM) == .exited(0))
        await bench.end()
    }

    /// While idle there is no agent process: the bus starts it for each prompt, and it exits afterwards.
    @Test func startedWhenAPromptIsDue() async throws {
        let bench = try await WindowBench()
        try await bench.allowActivation()
        let app = try await TestApp("app", on: bench.permd)
        for (token, permission) in [("a", Permission.camera), ("b", .microphone)] {
            #expect(try await !bench.hasAgent())
            try await app.request(token, [permission])
            try await bench.click("Don't Allow")
            #expect(try await app.response(token).hasPrefix("0 refused=\(permission.rawValue)"))
            try await bench.until("the agent's end") { try await !bench.hasAgent() }
        }
        await bench.end()
    }

    @Test func withoutADisplay() async throws {
        let child = try ChildProcess(BuiltProgram.path("permd-agent"), environment: [:], standardError: .pipe)
        var errors = ""
        for await line in child.errorLines { errors += line }
        #expect(await child.waitForExit() == .exited(69))
        #expect(errors.contains("no display"))
    }
}
