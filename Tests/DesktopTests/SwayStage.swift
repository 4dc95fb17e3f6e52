// sway without a screen and without devices: the test brings its own keyboard and pointer.

import DBus
import Foundation
import PermissionTestKit
import TestSupport

@LoopActor
final class SwayStage: DesktopStage {
    private var sway: ChildProcess?
    private var keyboard: ChildProcess?
    private var pointer: ScriptedDevice?

    override var desktop: String { "sway" }
    override var tiles: Bool { true }

    /// - Parameters:
    ///   - keyboard: Whether the seat has a keyboard.
    ///   - monitors: How many monitors there are, side by side.
    init(keyboard: Bool = true, monitors: Int = 1) async throws {
        try await super.init()
        let configuration = try folder.write(
            """
            output * bg #224466 solid_color
            output HEADLESS-1 position 0 0
            output HEADLESS-2 mode --custom 1280x720 position 1280 0
            default_border none

            """, to: "sway.conf")
        let runtime = environment["XDG_RUNTIME_DIR"] ?? ""
        environment["SWAYSOCK"] = "\(runtime)/sway"
        environment["WLR_BACKENDS"] = "headless"
        environment["WLR_RENDERER"] = "pixman"
        environment["WLR_LIBINPUT_NO_DEVICES"] = "1"
        sway = try ChildProcess(
            "sway", ["--config", configuration], environment: environment, standardOutput: .null,
            standardError: .null)
        try await until("sway") {
            FileManager.default.fileExists(atPath: "\(runtime)/sway")
                && FileManager.default.fileExists(atPath: "\(runtime)/wayland-1")
        }
        environment["WAYLAND_DISPLAY"] = "wayland-1"
        environment["GDK_BACKEND"] = "wayland"
        for _ in 1..<monitors { try await command("create_output") }
        if keyboard { try await plugInKeyboard() }
    }

    override func end() async {
        pointer?.end()
        keyboard?.terminate()
        sway?.terminate(SIGKILL)
        await super.end()
    }

    /// The rest of what sway says about its seat.
    func seat() async throws -> String { try await run("swaymsg", "--raw", "-t", "get_seats") }

    @discardableResult
    func command(_ words: String...) async throws -> String { try await run("swaymsg", words) }

    override func moveToSecondMonitor() async throws {
        try await super.moveToSecondMonitor()
        try await command("move container to output HEADLESS-2; focus output HEADLESS-2")
    }

    override func unplugSecondMonitor() async throws {
        try await super.unplugSecondMonitor()
        try await command("output", "HEADLESS-2", "unplug")
    }

    // MARK: Input

    private func plugInKeyboard() async throws {
        // A keyboard with which nobody types.
        keyboard = try ChildProcess("wtype", ["-s", "600000"], environment: environment)
        try await until("the keyboard") { try await seat().contains("keyboard") }
    }

    override func type(_ text: String) async throws { try await run("wtype", "-d", "30", text) }

    override func key(_ name: String) async throws { try await run("wtype", "-k", name) }

    override func click(_ x: Int, _ y: Int) async throws {
        if pointer == nil {
            pointer = try await ScriptedDevice("pointer.py", environment)
            // The pointer comes to a window before its first click does.
            try await pointer?.send("\(x) \(y) \(part.right) \(part.bottom) move")
        }
        try await pointer?.send("\(x) \(y) \(part.right) \(part.bottom)")
    }

    override func takePicture(_ path: String) async throws {
        try await run("grim", "-t", path.hasSuffix("png") ? "png" : "ppm", path)
    }
}
