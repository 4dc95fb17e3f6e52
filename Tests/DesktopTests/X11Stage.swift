// An X11 desktop with a window manager.

import DBus
import Foundation
import PermissionTestKit
import TestSupport

@LoopActor
final class X11Stage: DesktopStage {
    private let server: XServer
    private var manager: ChildProcess?
    private let managerName: String

    override var desktop: String { managerName == "xfwm4" ? "xfce" : "plasma-x11" }

    /// - Parameters:
    ///   - manager: The window manager.
    ///   - monitors: How many monitors there are, side by side.
    init(_ manager: String, monitors: Int = 1) async throws {
        managerName = manager
        server = try await XServer(screen: "\(1280 * monitors)x720")
        try await super.init()
        environment["DISPLAY"] = server.display
        if monitors > 1 {
            try await run("xrandr", "--setmonitor", "left", "1280/340x720/190+0+0", "screen")
            try await run("xrandr", "--setmonitor", "right", "1280/340x720/190+1280+0", "none")
        }
        // xdotool's keys and clicks are those of another program.
        agentArguments = ["--synthetic-input", "yes"]
        try folder.write("[Compositing]\nEnabled=false\n", to: "kwinrc")
        environment["XDG_CONFIG_HOME"] = folder.path
        self.manager = try ChildProcess(
            manager, environment: environment, standardOutput: .null, standardError: .null)
        try await until("the window manager") {
            try await run("xprop", "-root", "_NET_SUPPORTING_WM_CHECK").contains("window id")
        }
    }

    override func end() async {
        manager?.terminate()
        server.end()
        await super.end()
    }

    override func moveToSecondMonitor() async throws {
        try await super.moveToSecondMonitor()
        try await run("xdotool", "getactivewindow", "windowmove", "--sync", "1500", "150")
    }

    override func unplugSecondMonitor() async throws {
        try await super.unplugSecondMonitor()
        try await run("xrandr", "--delmonitor", "right")
        try await run("xrandr", "--fb", "1280x720")
    }

    // MARK: Input

    override func type(_ text: String) async throws { try await run("xdotool", "type", "--delay", "30", text) }

    override func key(_ name: String) async throws { try await run("xdotool", "key", name) }

    override func click(_ x: Int, _ y: Int) async throws {
        try await run("xdotool", "mousemove", "\(x)", "\(y)", "click", "1")
    }

    /// The window is larger than what can be seen, where it draws its own shadow.
    override func corner(of area: Picture.Area) async throws -> (x: Int, y: Int) {
        let found = try await run("xdotool", "search", "--onlyvisible", "--class", program).split(separator: "\n").last
        let window = String(found ?? "")
        let place = try await run("xdotool", "getwindowgeometry", "--shell", window)
        let shadow = try await run("xprop", "-id", window, "_GTK_FRAME_EXTENTS")
        let numbers = (place + shadow).split { !$0.isNumber }.compactMap { Int($0) }
        // The window, x, y, width, height and screen; left, right, top and bottom.
        guard numbers.count >= 6 else { throw TestKitError("the prompt has no window") }
        return (numbers[1] + (numbers.count > 9 ? numbers[6] : 0), numbers[2] + (numbers.count > 9 ? numbers[8] : 0))
    }

    override func takePicture(_ path: String) async throws {
        try await run("import", "-depth", "8", "-window", "root", path)
    }
}
