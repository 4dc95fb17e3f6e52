// A headless desktop on which a person types into an editor while permd asks, and functions to see what is there.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

/// A text editor, in which the test types.
@LoopActor
final class Editor {
    /// The color of its background: red, green and blue.
    nonisolated static let paper = [0x26, 0xA2, 0x69]
    /// The height of what it has at its top, in pixels: a title bar, if it does not fill the screen, and its text.
    nonisolated static let textHeight = 100

    private let process: ChildProcess
    let events = EventLog<String>()

    init(_ arguments: [String] = [], on stage: Session) async throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "editor.py").path
        process = try ChildProcess(
            "/usr/bin/python3", [script] + arguments + ["Text editor"], environment: stage.environment,
            standardInput: .pipe, standardError: .null)
        Task { [events, lines = process.lines] in for await line in lines { events.add(line) } }
        try await events.first("the editor") { $0.hasPrefix("state active") }
    }

    /// Waits until that is all its text.
    func text(_ wanted: String) async throws {
        try await events.first("the text \(wanted)") { $0 == "text \"\(wanted)\"" }
    }

    var hasKeyboard: Bool { events.all.last { $0.hasPrefix("state") }?.contains("active") == true }

    /// Makes its window full-screen.
    func fillScreen() async throws {
        process.write("fullscreen\n")
        try await events.first("the full screen") { $0.hasPrefix("state") && $0.hasSuffix("fullscreen") }
    }

    func maximize() async throws {
        process.write("maximize\n")
        try await events.first("the large window") { $0.hasPrefix("state") && $0.contains("maximized") }
    }

    /// Requests the camera as the editor itself.
    func ask() { process.write("ask\n") }

    func end() { process.terminate() }
}

/// A pointer or touch screen that a script here is.
@LoopActor
final class ScriptedDevice {
    private let process: ChildProcess
    private let answers = EventLog<String>()

    init(_ script: String, _ environment: [String: String]) async throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: script).path
        process = try ChildProcess("/usr/bin/python3", [path], environment: environment, standardInput: .pipe)
        Task { [answers, lines = process.lines] in for await line in lines { answers.add(line) } }
        try await answers.wait(for: 1)
    }

    /// Does what the line says.
    func send(_ line: String) async throws {
        let count = answers.all.count
        process.write(line + "\n")
        try await answers.wait(for: count + 1)
    }

    func end() { process.terminate() }
}

/// What all headless desktops have in common.
@LoopActor
class DesktopStage: Session {
    private var agent: ChildProcess?
    var agentArguments: [String] = []
    /// Its name in pictures.
    var desktop: String { "" }
    private static let firstMonitor = Picture.Area(left: 0, top: 0, right: 1280, bottom: 720)
    /// The part of the screen in which the editor is alone when it fills its monitor.
    var part = DesktopStage.firstMonitor

    init() async throws {
        try await super.init(program: "org.permd.Agent")
        try await devices.add(.microphone, 0, name: "Headset")
    }

    /// Installs the agent's desktop entry and icon, as desktops find them.
    func installEntry() throws {
        let files = FileManager.default
        let project = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        for (file, folder) in [("desktop", "applications"), ("svg", "icons/hicolor/scalable/apps")] {
            let target = "\(environment["XDG_DATA_HOME"] ?? "")/\(folder)"
            try files.createDirectory(atPath: target, withIntermediateDirectories: true)
            try files.copyItem(
                atPath: project.appending(path: "desktop/org.permd.Agent.\(file)").path,
                toPath: "\(target)/org.permd.Agent.\(file)")
        }
    }

    func startAgent() throws {
        agent = try ChildProcess(
            BuiltProgram.path("permd-agent"), ["--idle", "0"] + agentArguments, environment: environment)
    }

    override func end() async {
        agent?.terminate(SIGKILL)
        _ = await agent?.waitForExit()
        await super.end()
    }

    /// KWin, without the capabilities that its file has, which a sandbox refuses.
    func kwinProgram() async throws -> String {
        let program = folder.file("kwin_wayland")
        // By another process: one that this process starts meanwhile would have the file open for writing.
        try await run("cp", "/usr/bin/kwin_wayland", program)
        return program
    }

    /// Makes a picture for docs/pictures/desktops, if the environment says where they go.
    func picture(_ name: String) async throws {
        guard let folder = ChildProcess.ownEnvironment["PERMD_PICTURES"] else { return }
        try await takePicture("\(folder)/\(desktop)-\(name).png")
    }

    // MARK: What each desktop has its own way for

    /// Types into the window that has the keyboard, as a person does.
    func type(_ text: String) async throws {}

    /// Presses a key, by its name in X11.
    func key(_ name: String) async throws {}

    func click(_ x: Int, _ y: Int) async throws {}

    /// Opens the menu of an icon in a tray.
    func openMenu(_ x: Int, _ y: Int) async throws { try await click(x, y) }

    /// Moves the window in use to the second monitor, on which the person works from now on.
    func moveToSecondMonitor() async throws { part = Picture.Area(left: 1280, top: 0, right: 2560, bottom: 720) }

    func unplugSecondMonitor() async throws { part = DesktopStage.firstMonitor }

    /// Makes a picture of all monitors, in the format that the end of the path says.
    func takePicture(_ path: String) async throws {}

    /// Whether a window is as large as the desktop lets it be, without being told to.
    var tiles: Bool { false }

    /// Where the prompt's window begins, of which the area can be seen.
    func corner(of area: Picture.Area) async throws -> (x: Int, y: Int) { (area.left, area.top) }

    // MARK: The prompt

    /// The area of the prompt, which is above the editor that fills the part of the screen.
    func prompt() async throws -> Picture.Area {
        let path = folder.file("screen.ppm")
        var area: Picture.Area?
        do {
            try await until("a prompt that can be seen") {
                try await takePicture(path)
                area = try Picture(path).prompt(in: part)
                return area != nil
            }
        } catch {
            try await picture("failure")
            throw error
        }
        return area!
    }

    func isAwake(_ answer: String) async throws -> Bool {
        try await button(answer)?.states.contains("sensitive") == true
    }

    private func button(_ answer: String) async throws -> Widget? {
        try await widgets().first { $0.role == "button" && $0.name == answer }
    }

    /// Clicks on an answer, if it is there.
    func click(answer name: String) async throws {
        guard let place = try await button(name)?.place, place.count == 4 else { return }
        let area = try await prompt()
        let corner = try await corner(of: area)
        try await click(corner.x + place[0] + place[2] / 2, corner.y + place[1] + place[3] / 2)
    }
}
