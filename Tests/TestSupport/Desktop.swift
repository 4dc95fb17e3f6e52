// A virtual screen with a window manager and the built permd, and functions to see and use windows on it.

public import DBus
import Foundation
public import PermissionTestKit

/// What the stages of permd's windows have in common.
@LoopActor
open class Desktop {
    /// One widget as assistive technology sees it, without the characters that isolate the direction of names.
    public struct Widget: Sendable {
        public let role: String
        public let name: String
        public let description: String
        public let states: Set<Substring>
        /// Its position in the window: x, y, width, height.
        public let place: [Int]
    }

    public let permd: PermdProcess
    public let devices: MockDevices
    public let folder: TemporaryFolder
    /// Of programs started from now on.
    public var environment: [String: String]
    private let program: String
    private let display: ChildProcess
    private let manager: ChildProcess

    /// - Parameters:
    ///   - program: The program whose windows these are, as window managers know it.
    ///   - settings: The content of `/etc/permd/permd.conf`.
    ///   - rules: The files of `/etc/permd/policy.d/`, by name.
    public init(
        program: String, settings: String, rules: [String: String], environment extra: [String: String],
        screen: String = "1000x900"
    ) async throws {
        self.program = program
        folder = try TemporaryFolder()
        // The only system-wide service needed is the accessibility bus.
        let services = "/usr/share/dbus-1/services/org.a11y.Bus.service"
        try folder.write(try String(contentsOfFile: services, encoding: .utf8), to: "org.a11y.Bus.service")
        devices = try await MockDevices.start()
        try await devices.add(.camera, 0, name: "Front Camera")
        let bus = try await PrivateBus(serviceDirectory: folder.path)
        permd = try await PermdProcess(bus: bus, settings: settings, rules: rules, devices: devices)
        display = try ChildProcess(
            "Xvfb", ["-displayfd", "1", "-screen", "0", "\(screen)x24", "-nolisten", "tcp", "-noreset"],
            environment: [:], standardError: .null)
        // Xvfb prints its display number when it is ready.
        var number = ""
        for await line in display.lines {
            number = line
            break
        }
        environment = permd.environment.merging(["DISPLAY": ":\(number)", "LANGUAGE": "en"]) { $1 }.merging(extra) {
            $1
        }
        manager = try ChildProcess("openbox", environment: environment, standardError: .null)
        // It gives the focus only to windows that open after it has started; until then, there is no desktop.
        try await until("the window manager") {
            Int(try await run("xdotool", "get_num_desktops").filter(\.isNumber)) ?? 0 > 0
        }
    }

    /// Lets the bus start a program for that name.
    public func allowActivation(
        _ name: String, _ command: [String], with variables: [String: String] = [:]
    ) async throws {
        try folder.write(ServiceFile.text(name, command), to: "\(name).service")
        let client = try permd.bus.connect()
        defer { client.close() }
        _ = try await client.call(.busCall("ReloadConfig"))
        // A session sets this for the services it starts.
        _ = try await client.call(
            .busCall("UpdateActivationEnvironment", [.stringTable(environment.merging(variables) { $1 })]))
    }

    /// Ends all but the programs whose windows these are.
    open func end() async {
        manager.terminate()
        display.terminate()
        await permd.end()
        await devices.stop()
    }

    // MARK: Reading windows

    /// Runs a program until it exits; returns its output.
    @discardableResult
    public func run(_ program: String, _ arguments: String...) async throws -> String {
        try await run(program, arguments)
    }

    @discardableResult
    public func run(_ program: String, _ arguments: [String]) async throws -> String {
        let child = try ChildProcess(program, arguments, environment: environment, standardError: .null)
        let output = await child.output()
        _ = await child.waitForExit()
        return output
    }

    private static let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "widgets.py").path

    public func widgets(of program: String? = nil) async throws -> [Widget] {
        let lines = try await run("/usr/bin/python3", Desktop.script, program ?? self.program).split(separator: "\n")
        return lines.compactMap { line in
            let parts = line.split(separator: "|", omittingEmptySubsequences: false)
            guard parts.count == 5 else { return nil }
            return Widget(
                role: String(parts[0]), name: Desktop.plain(parts[1]), description: Desktop.plain(parts[2]),
                states: Set(parts[3].split(separator: " ")),
                place: parts[4].split(separator: " ").compactMap { Int($0) })
        }
    }

    private static func plain(_ text: Substring) -> String { text.filter { !"\u{2068}\u{2069}".contains($0) } }

    public func labels() async throws -> [String] {
        try await widgets().filter { $0.role == "label" }.map(\.name)
    }

    /// The ID of the newest window that is shown; nil if there is none.
    public func window(of program: String? = nil) async throws -> String? {
        try await run("xdotool", "search", "--onlyvisible", "--class", program ?? self.program).split(separator: "\n")
            .last.map(String.init)
    }

    /// Milliseconds after which waiting fails: far more than a busy machine needs.
    private static let patience: Int64 = 45_000

    public func until(_ what: String, _ isTrue: () async throws -> Bool) async throws {
        let end = Loop.uptimeMilliseconds() + Desktop.patience
        repeat {
            if try await isTrue() { return }
            await pause(25)
        } while Loop.uptimeMilliseconds() < end
        let seen = try await widgets().filter { !$0.name.isEmpty && !["filler", "image", "panel"].contains($0.role) }
            .map { "\($0.role) \($0.name)\($0.states.contains("focused") ? " (focused)" : "")" }
        throw TestKitError("timed out waiting for \(what); the widgets are \(seen)")
    }

    public func pause(_ milliseconds: Int64) async {
        await withCheckedContinuation { done in Loop.shared.after(milliseconds: milliseconds) { done.resume() } }
    }

    // MARK: Input

    /// Clicks in the middle of a widget.
    public func click(on widget: Widget) async throws {
        guard let window = try await window(), widget.place.count == 4 else { throw TestKitError("no window") }
        let x = widget.place[0] + widget.place[2] / 2
        let y = widget.place[1] + widget.place[3] / 2
        try await run("xdotool", "mousemove", "--window", window, "\(x)", "\(y)", "click", "1")
    }

    /// Presses a button as a screen reader does, as soon as it is sensitive. The places of small widgets in lists are
    /// wrong in GTK 4.18, which counts the borders around them twice.
    public func press(_ name: String, role: String = "button") async throws {
        try await until("the \(role) \(name)") {
            try await run("/usr/bin/python3", Desktop.script, program, role, name).contains("pressed")
        }
    }

    public func key(_ keys: String...) async throws {
        for key in keys { try await run("xdotool", "key", key) }
    }
}
