// A virtual screen with a window manager, the built permd and permd-settings, and functions to see and use its window.

import DBus
import Foundation
import PermissionClient
import PermissionTestKit
import TestSupport

@LoopActor
final class SettingsBench {
    /// One widget as assistive technology sees it.
    struct Widget {
        let role: String
        let name: String
        let description: String
        let states: Set<Substring>
        /// Its position in the window: x, y, width, height.
        let place: [Int]
    }

    let permd: PermdProcess
    let devices: MockDevices
    /// What permd stores, read and changed by another program than the window.
    let settings: PermissionSettings
    private let services: TemporaryFolder
    private let display: ChildProcess
    private let manager: ChildProcess
    private var environment: [String: String]
    private var window: ChildProcess?

    init(
        settings text: String = "", rules: [String: String] = [:], environment extra: [String: String] = [:]
    ) async throws {
        services = try TemporaryFolder()
        // The only system-wide service needed is the accessibility bus.
        let accessibility = "/usr/share/dbus-1/services/org.a11y.Bus.service"
        try services.write(try String(contentsOfFile: accessibility, encoding: .utf8), to: "org.a11y.Bus.service")
        devices = try await MockDevices.start()
        try await devices.add(.camera, 0, name: "Front Camera")
        let bus = try await PrivateBus(serviceDirectory: services.path)
        permd = try await PermdProcess(bus: bus, settings: text, rules: rules, devices: devices)
        settings = PermissionSettings(bus: .address(bus.address))
        display = try ChildProcess(
            "Xvfb", ["-displayfd", "1", "-screen", "0", "1000x900x24", "-nolisten", "tcp", "-noreset"],
            environment: [:], standardError: .null)
        // Xvfb prints its display number when it is ready.
        var number = ""
        for await line in display.lines {
            number = line
            break
        }
        // A renderer without OpenGL, which a virtual screen has only in software.
        let own = ["DISPLAY": ":\(number)", "LANGUAGE": "en", "GSK_RENDERER": "cairo"]
        environment = permd.environment.merging(own) { $1 }.merging(extra) { $1 }
        manager = try ChildProcess("openbox", environment: environment, standardError: .null)
        // It gives the focus only to windows that open after it has started; until then, there is no desktop.
        try await until("the window manager") {
            Int(try await run("xdotool", "get_num_desktops").filter(\.isNumber)) ?? 0 > 0
        }
    }

    /// Starts the program and waits for its window.
    func open(_ arguments: String...) async throws {
        window = try start(arguments)
        try await until("the window") { try await windowID() != nil }
    }

    /// Starts another process of the program.
    nonisolated func start(_ arguments: [String], in environment: [String: String]) throws -> ChildProcess {
        try ChildProcess(
            BuiltProgram.path("permd-settings"), arguments, environment: environment, standardError: .pipe)
    }

    func start(_ arguments: [String]) throws -> ChildProcess { try start(arguments, in: environment) }

    /// Lets the bus start permd.
    func allowActivation() async throws {
        try await allowActivation("org.permd", [BuiltProgram.path("permd"), "--root", permd.root.path])
    }

    /// Lets the bus start a program for that name.
    func allowActivation(_ name: String, _ command: [String]) async throws {
        try services.write(ServiceFile.text(name, command), to: "\(name).service")
        let desk = try permd.bus.connect()
        defer { desk.close() }
        _ = try await desk.call(.busCall("ReloadConfig"))
        _ = try await desk.call(
            .busCall("UpdateActivationEnvironment", [.stringTable(environment.merging(devices.environment) { $1 })]))
    }

    /// Ends the program, and returns the lines that it wrote to stderr.
    func complaints() async -> [String] {
        window?.terminate()
        var lines: [String] = []
        if let window { for await line in window.errorLines where !line.isEmpty { lines.append(line) } }
        return lines
    }

    func end() async {
        window?.terminate(SIGKILL)
        manager.terminate()
        display.terminate()
        await permd.end()
        await devices.stop()
    }

    // MARK: Reading the window

    /// Runs a program until it exits; returns its output.
    @discardableResult
    func run(_ program: String, _ arguments: String...) async throws -> String {
        let child = try ChildProcess(program, arguments, environment: environment, standardError: .null)
        let output = await child.output()
        _ = await child.waitForExit()
        return output
    }

    private static let look = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "look.py").path

    func widgets() async throws -> [Widget] {
        try await run("/usr/bin/python3", SettingsBench.look).split(separator: "\n").compactMap { line in
            let parts = line.split(separator: "|", omittingEmptySubsequences: false)
            guard parts.count == 5 else { return nil }
            return Widget(
                role: String(parts[0]), name: SettingsBench.plain(parts[1]), description: SettingsBench.plain(parts[2]),
                states: Set(parts[3].split(separator: " ")),
                place: parts[4].split(separator: " ").compactMap { Int($0) })
        }
    }

    /// The text without the characters that isolate the direction of names.
    private static func plain(_ text: Substring) -> String { text.filter { !"\u{2068}\u{2069}".contains($0) } }

    func labels() async throws -> [String] {
        try await widgets().filter { $0.role == "label" }.map(\.name)
    }

    /// Waits for a label with that text, or that the closure accepts.
    func awaitLabel(_ text: String) async throws {
        try await until("the label \(text)") { try await labels().contains(text) }
    }

    func awaitLabel(_ what: String, _ isRight: (String) -> Bool) async throws {
        try await until(what) { try await labels().contains(where: isRight) }
    }

    func awaitNoLabel(_ text: String) async throws {
        try await until("the end of the label \(text)") { try await !labels().contains(text) }
    }

    /// Whether the row of that name, which has a list of choices, has the focus.
    func hasFocus(_ name: String) async throws -> Bool {
        try await widgets().contains { $0.role == "combo box" && $0.name == name && $0.states.contains("focused") }
    }

    /// The label of the focused item of an open list of choices. Its items have no name, unlike other rows.
    func focusedItem() async throws -> String? {
        let widgets = try await widgets()
        let place = widgets.lastIndex {
            $0.role == "list item" && $0.name.isEmpty && $0.states.contains("focused")
        }
        guard let place else { return nil }
        return widgets[place...].first { $0.role == "label" }?.name
    }

    /// Chooses from the list that has just been opened. By keys, because GTK 4.8 reports wrong places of popovers.
    func choose(_ item: String) async throws {
        try await until("the open list") { try await focusedItem() != nil }
        try await key("Home")
        try await until("the item \(item) with the focus") {
            if try await focusedItem() == item { return true }
            try await key("Down")
            return false
        }
        try await key("Return")
    }

    func windowID() async throws -> String? {
        try await run("xdotool", "search", "--onlyvisible", "--class", "org.permd.Settings").split(separator: "\n")
            .last.map(String.init)
    }

    /// Milliseconds after which waiting fails: far more than a busy machine needs.
    private static let patience: Int64 = 45_000

    func until(_ what: String, _ isTrue: () async throws -> Bool) async throws {
        let end = Loop.uptimeMilliseconds() + SettingsBench.patience
        repeat {
            if try await isTrue() { return }
            await pause(25)
        } while Loop.uptimeMilliseconds() < end
        let seen = try await widgets().filter { !$0.name.isEmpty && !["filler", "image", "panel"].contains($0.role) }
            .map {
                "\($0.role) \($0.name)\($0.states.contains("focused") ? " (focused)" : "")"
            }
        throw TestKitError("timed out waiting for \(what); the widgets are \(seen)")
    }

    private func pause(_ milliseconds: Int64) async {
        await withCheckedContinuation { done in Loop.shared.after(milliseconds: milliseconds) { done.resume() } }
    }

    // MARK: Input

    /// Presses a button as a screen reader does, as soon as it is sensitive. The places of small widgets in lists are
    /// wrong in GTK 4.18, which counts the borders around them twice.
    func press(_ name: String, role: String = "button") async throws {
        try await until("the \(role) \(name)") {
            let output = try await run("/usr/bin/python3", SettingsBench.look, "press", role, name)
            return output.contains("pressed")
        }
    }

    /// Clicks the first widget of that role and name that has a size, as soon as it is sensitive.
    func click(_ name: String, role: String = "label") async throws {
        var found: Widget?
        try await until("the \(role) \(name)") {
            found = try await widgets().first {
                $0.role == role && $0.name == name && $0.states.contains("sensitive") && $0.place.count == 4
            }
            return found != nil
        }
        guard let found, let window = try await windowID() else { throw TestKitError("no window") }
        let x = found.place[0] + found.place[2] / 2
        let y = found.place[1] + found.place[3] / 2
        try await run("xdotool", "mousemove", "--window", window, "\(x)", "\(y)", "click", "1")
    }

    func type(_ text: String) async throws { try await run("xdotool", "type", text) }

    func key(_ keys: String...) async throws {
        for key in keys { try await run("xdotool", "key", key) }
    }

    // MARK: permd

    /// The decision about a permission of an app, as `grant always`; nil if there is none.
    func decision(_ app: String, _ permission: Permission) async throws -> String? {
        try await settings.decisions(app: app, question: .permission(permission)).first.map {
            "\($0.decision.rawValue) \($0.duration?.rawValue ?? "")"
        }
    }

    func awaitDecision(_ app: String, _ permission: Permission, _ wanted: String?) async throws {
        try await until("the decision \(wanted ?? "none")") { try await decision(app, permission) == wanted }
    }
}
