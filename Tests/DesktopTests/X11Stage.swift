// An X11 desktop with a window manager.

import DBus
import Foundation
import PermissionTestKit
import TestSupport

@LoopActor
final class X11Stage: DesktopStage {
    private let server: XServer
    private let files: TemporaryFolder
    private var manager: ChildProcess?
    private let managerName: String

    override var desktop: String { managerName == "xfwm4" ? "xfce" : "plasma-x11" }

    /// - Parameters:
    ///   - manager: The window manager.
    ///   - monitors: How many monitors there are, side by side.
    init(_ manager: String, monitors: Int = 1) async throws {
        managerName = manager
        files = try TemporaryFolder()
        server = try await monitors > 1 ? XServer(outputsIn: files) : XServer(screen: "1280x720")
        try await super.init()
        environment["DISPLAY"] = server.display
        if monitors > 1 { try await plugIn(monitors) }
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
        // The window manager may place the window only now.
        try await until("the window's move") {
            try await run("xdotool", "getactivewindow", "windowmove", "1500", "150")
            return try await run("xdotool", "getactivewindow", "getwindowgeometry", "--shell").contains("X=15")
        }
    }

    private func plugIn(_ monitors: Int) async throws {
        let timings = ["74.5", "1280", "1344", "1472", "1664", "720", "723", "728", "748"]
        try await run("xrandr", ["--newmode", "test"] + timings)
        for index in 0..<monitors {
            try await run("xrandr", "--addmode", "DUMMY\(index)", "test")
            try await run("xrandr", "--output", "DUMMY\(index)", "--mode", "test", "--pos", "\(1280 * index)x0")
        }
    }

    override func unplugSecondMonitor() async throws {
        try await super.unplugSecondMonitor()
        try await run("xrandr", "--output", "DUMMY1", "--off")
    }

    // MARK: Input

    override func type(_ text: String) async throws { try await run("xdotool", "type", "--delay", "30", text) }

    override func key(_ name: String) async throws { try await run("xdotool", "key", name) }

    override func click(_ x: Int, _ y: Int) async throws {
        try await run("xdotool", "mousemove", "\(x)", "\(y)", "click", "1")
    }

    /// In Xfce, the first button opens what the icon stands for.
    override func openMenu(_ x: Int, _ y: Int) async throws {
        try await run("xdotool", "mousemove", "\(x)", "\(y)", "click", "3")
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
