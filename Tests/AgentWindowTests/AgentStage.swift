// The stage of permd-agent: a desktop on which it shows prompts, and functions to see and use its window.

import DBus
import Foundation
import PermissionClient
import PermissionModel
import PermissionTestKit
import TestSupport

@LoopActor
final class AgentStage: Desktop {
    private var agent: ChildProcess?
    private var compositor: ChildProcess?

    init(settings: String = "", environment: [String: String] = [:], screen: String = "1000x900") async throws {
        try await super.init(
            program: "org.permd.Agent", settings: settings, rules: [:], environment: environment, screen: screen)
        try await devices.add(.microphone, 0, name: "Headset")
    }

    /// Sets the size of text, in percent, for programs started from now on.
    func setTextSize(_ percent: Int) async throws {
        let resources = "Xft.dpi:\t\(96 * percent / 100)"
        try await run("xprop", "-root", "-f", "RESOURCE_MANAGER", "8s", "-set", "RESOURCE_MANAGER", resources)
    }

    /// Starts the agent and waits until it is registered. By default it reacts to keys and clicks of other programs: xdotool
    /// has no others.
    func startAgent(_ arguments: [String] = ["--idle", "0", "--synthetic-input", "yes"]) async throws {
        agent = try ChildProcess(
            BuiltProgram.path("permd-agent"), arguments, environment: environment, standardError: .pipe)
        try await until("the agent") { try await hasAgent() }
    }

    /// Starts a Wayland compositor, which programs started from now on use instead of the X server. The size of its screen
    /// is in logical pixels, that of text in percent.
    func startCompositor(width: Int = 1000, height: Int = 900, scale: Int = 1, text: Int = 100) async throws {
        compositor = try ChildProcess(
            "weston",
            [
                "--backend=headless-backend.so", "--use-pixman", "--socket=wayland-test", "--idle-time=0",
                "--width=\(width)", "--height=\(height)", "--scale=\(scale)",
            ], environment: environment, standardOutput: .null, standardError: .null)
        // Where GTK reads the size of text without a portal: a file instead of dconf.
        let settings = folder.file("config/glib-2.0/settings")
        try FileManager.default.createDirectory(atPath: settings, withIntermediateDirectories: true)
        try folder.write(
            "[org/gnome/desktop/interface]\ntext-scaling-factor=\(Double(text) / 100)\n",
            to: "config/glib-2.0/settings/keyfile")
        environment["GSETTINGS_BACKEND"] = "keyfile"
        environment["XDG_CONFIG_HOME"] = folder.file("config")
        let socket = "\(environment["XDG_RUNTIME_DIR"] ?? "")/wayland-test"
        try await until("the compositor") { FileManager.default.fileExists(atPath: socket) }
        environment["WAYLAND_DISPLAY"] = "wayland-test"
        environment["GDK_BACKEND"] = "wayland"
        environment["DISPLAY"] = nil
    }

    /// A daemon in the place of the stage's own, which sends what that never would.
    func hostileDaemon() async throws -> FakeDaemon {
        await permd.stop()
        return try FakeDaemon(permd.bus)
    }

    /// Lets the bus start the agent when the daemon needs one.
    func allowActivation() async throws {
        try await allowActivation(
            "org.permd.Agent", [BuiltProgram.path("permd-agent"), "--idle", "1", "--synthetic-input", "yes"])
    }

    /// How long the decision that the store has is in force; nil if there is none.
    func decision(of app: TestApp, _ permission: Permission) async throws -> Duration.Kind? {
        let settings = PermissionSettings(bus: .address(permd.bus.address))
        return try await settings.decisions(app: app.id.description, item: .permission(permission)).first?.duration
    }

    /// Whether an agent is registered.
    func hasAgent() async throws -> Bool {
        let desk = try permd.bus.connect()
        defer { desk.close() }
        let call = Message.call(
            destination: BusNames.service, path: BusNames.root, interface: BusNames.agentManager, member: "ListAgents")
        return try await desk.call(call).body.first?.rows?.isEmpty == false
    }

    func endAgent(_ signal: Int32) async -> ChildProcess.Exit? {
        agent?.terminate(signal)
        return await agent?.waitForExit()
    }

    func signalAgent(_ signal: Int32) { agent?.terminate(signal) }

    /// Ends the agent, and returns the lines it wrote to stderr.
    func complaints() async -> [String] {
        _ = await endAgent(SIGTERM)
        return await agent?.complaints() ?? []
    }

    /// The agent's peak memory in KB (VmHWM of proc(5)).
    func agentsPeak() throws -> Int? {
        guard let agent else { return nil }
        let status = try String(contentsOfFile: "/proc/\(agent.pid)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line.flatMap { Int($0.filter(\.isNumber)) }
    }

    func waitForAgentsEnd() async -> ChildProcess.Exit? { await agent?.waitForExit() }

    override func end() async {
        _ = await endAgent(SIGKILL)
        compositor?.terminate()
        await super.end()
    }

    // MARK: Reading the window

    /// The window as a widget.
    func frame() async throws -> Widget? {
        try await widgets().first { ["frame", "dialog", "alert"].contains($0.role) }
    }

    /// Waits until the button exists and is sensitive. Gives its window the focus, as a person does who clicks on it.
    func awake(_ name: String, role: String = "button") async throws -> Widget {
        var found: Widget?
        try await until("the button \(name)") {
            let fitting = try await widgets().first { $0.role == role && $0.name == name }
            found = fitting?.states.contains("sensitive") == true ? fitting : nil
            if fitting != nil, try await !hasFocus() {
                found = nil
                try await activate()
            }
            return found != nil
        }
        return found!
    }

    func activate() async throws {
        if let window = try await window() { try await run("xdotool", "windowactivate", window) }
    }

    func hasFocus() async throws -> Bool {
        guard let window = try await window() else { return false }
        return try await run("xdotool", "getwindowfocus").filter(\.isNumber) == window
    }

    /// The color at the top of a widget, above its text: red, green and blue.
    func color(of name: String) async throws -> [Int] {
        guard let window = try await window(),
            let place = try await widgets().first(where: { $0.role != "application" && $0.name == name })?.place
        else { return [] }
        let corner = try await self.place(of: window)
        guard corner.count == 4 else { return [] }
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "color.py").path
        let point = ["\(corner[0] + place[0] + place[2] / 2)", "\(corner[1] + place[1] + 3)"]
        return try await run("/usr/bin/python3", [script] + point).split(whereSeparator: \.isWhitespace)
            .compactMap { Int($0) }
    }

    /// Moves the focus to the agent's window, and waits until its guard is awake.
    func inputCounts() async throws { _ = try await awake("Never allow") }

    /// The place of a window on the screen: x, y, width, height.
    func place(of window: String) async throws -> [Int] {
        let lines = try await run("xdotool", "getwindowgeometry", "--shell", window).split(separator: "\n")
        return ["X=", "Y=", "WIDTH=", "HEIGHT="].compactMap { key in
            lines.first { $0.hasPrefix(key) }.flatMap { Int($0.dropFirst(key.count)) }
        }
    }

    /// Sends a request with any options as a program outside a sandbox.
    func ask(_ permission: Permission, _ options: [String: Value]) async throws -> EventLog<UInt32> {
        let desk = try permd.bus.connect()
        let responses = EventLog<UInt32>()
        desk.onSignal(interface: BusNames.request, member: "Response", addMatch: false) { message in
            responses.add(message.body.first?.uint32Value ?? 99)
        }
        _ = try await desk.call(
            .call(
                destination: BusNames.service, path: BusNames.root, interface: BusNames.access,
                member: "RequestAccess", [.strings([permission.rawValue]), .properties(options)]))
        return responses
    }

    // MARK: Input

    func click(_ name: String, role: String = "button") async throws {
        try await click(on: try await awake(name, role: role))
    }

    /// Clicks all over the window, also on each of its buttons. The X server has the clicks when this returns.
    func clickEverywhere() async throws {
        guard let window = try await window() else { throw TestKitError("no window") }
        let height = try await place(of: window).last ?? 0
        let rows = stride(from: 10, to: height - 10, by: 14)
        let clicks = rows.flatMap { row in
            [60, 210, 290, 385].flatMap { ["mousemove", "--window", window, "\($0)", "\(row)", "click", "1"] }
        }
        try await run("xdotool", clicks)
    }

    /// Moves the focus with Tab to the button.
    func focus(_ name: String) async throws {
        _ = try await awake(name)
        for _ in 0..<20 {
            try await key("Tab")
            if try await widgets().contains(where: { $0.name == name && $0.states.contains("focused") }) { return }
        }
        throw TestKitError("\(name) never had the focus")
    }
}
