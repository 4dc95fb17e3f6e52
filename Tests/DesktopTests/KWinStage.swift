// KWin as the Wayland compositor of Plasma, in a window of a virtual X screen for each of its monitors.

import DBus
import Foundation
import PermissionTestKit
import TestSupport

@LoopActor
final class KWinStage: DesktopStage {
    private let server: XServer
    /// The windows of the monitors.
    private var windows: [Substring] = []
    private var kwin: ChildProcess?

    override var desktop: String { "plasma" }

    /// Touched instead of clicks.
    private var screen: ScriptedDevice?

    /// - Parameters:
    ///   - monitors: How many monitors there are, side by side.
    ///   - isTouched: Whether the person has only a touch screen.
    init(monitors: Int = 1, isTouched: Bool = false) async throws {
        server = try await XServer(screen: "\(1280 * monitors)x720")
        try await super.init()
        let runtime = environment["XDG_RUNTIME_DIR"] ?? ""
        environment["KWIN_COMPOSE"] = "Q"
        // For touch.py.
        environment["KWIN_WAYLAND_NO_PERMISSION_CHECKS"] = "1"
        kwin = try ChildProcess(
            try await kwinProgram(),
            [
                "--x11-display", server.display, "--width", "1280", "--height", "720", "--output-count",
                "\(monitors)", "--socket", "wayland-1", "--no-lockscreen", "--no-global-shortcuts",
            ], environment: environment, standardOutput: .null, standardError: .null)
        try await until("KWin") { FileManager.default.fileExists(atPath: "\(runtime)/wayland-1") }
        try await arrange(monitors)
        environment["WAYLAND_DISPLAY"] = "wayland-1"
        environment["GDK_BACKEND"] = "wayland"
        if isTouched { screen = try await ScriptedDevice("touch.py", environment) }
    }

    override func end() async {
        screen?.end()
        kwin?.terminate(SIGKILL)
        server.end()
        await super.end()
    }

    /// Puts the windows of the monitors side by side, as KWin has them.
    private func arrange(_ monitors: Int) async throws {
        try await until("the monitors") {
            windows = try await onServer("xwininfo", "-root", "-tree").split(separator: "\n")
                .filter { $0.contains("KDE Wayland Compositor") }.compactMap { $0.split(separator: " ").first }.sorted()
            return windows.count == monitors
        }
        for (index, window) in windows.enumerated() {
            try await onServer("xdotool", "windowmove", String(window), "\(1280 * index)", "0")
        }
        // Its keys go to the window under the pointer.
        try await onServer("xdotool", "mousemove", "20", "20")
    }

    /// Runs a program on the X server around KWin.
    @discardableResult
    private func onServer(_ program: String, _ arguments: String...) async throws -> String {
        let around = ["DISPLAY": server.display, "WAYLAND_DISPLAY": "", "GDK_BACKEND": ""]
        let child = try ChildProcess(
            program, arguments, environment: environment.merging(around) { $1 }, standardError: .null)
        let output = await child.output()
        _ = await child.waitForExit()
        return output
    }

    /// Drags the window, which is in the middle of the first monitor.
    override func moveToSecondMonitor() async throws {
        try await super.moveToSecondMonitor()
        try await onServer("xdotool", "mousemove", "450", "250", "keydown", "super", "mousedown", "1")
        for x in stride(from: 460, through: 1740, by: 160) {
            try await onServer("xdotool", "mousemove", "\(x)", "260")
        }
        try await onServer("xdotool", "mouseup", "1", "keyup", "super")
    }

    override func unplugSecondMonitor() async throws {
        try await super.unplugSecondMonitor()
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "close.py").path
        try await onServer("/usr/bin/python3", script, String(windows[1]))
    }

    // MARK: Input

    override func type(_ text: String) async throws {
        try await onServer("xdotool", "type", "--delay", "30", text)
    }

    override func key(_ name: String) async throws { try await onServer("xdotool", "key", name) }

    override func click(_ x: Int, _ y: Int) async throws {
        if let screen { return try await screen.send("\(x) \(y)") }
        try await onServer("xdotool", "mousemove", "\(x)", "\(y)", "click", "1")
    }

    override func takePicture(_ path: String) async throws {
        try await onServer("import", "-depth", "8", "-window", "root", path)
    }
}
