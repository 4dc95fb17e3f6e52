// GNOME Shell without a screen, with permd's extension or without. The test has a keyboard, a pointer and a touch screen.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@LoopActor
final class GnomeStage: DesktopStage {
    enum Kind {
        /// With two monitors.
        case wayland
        case x11

        /// The kinds that this shell has.
        static func available() async throws -> [Kind] {
            let help = try ChildProcess("gnome-shell", ["--help"], standardError: .null)
            return await help.output().contains("--x11") ? [.wayland, .x11] : [.wayland]
        }
    }

    enum Key: Int {
        case menu = 0xFF67
        case escape = 0xFF1B
        case tab = 0xFF09
        case enter = 0xFF0D
        case space = 0x20
    }

    static let uuid = "permd@permd.org"
    /// The width of the first monitor; the second one begins there.
    static let width = 1280.0

    /// What stands for the system's bus, which GNOME Shell does not start without.
    private let system: PrivateBus
    private let server: XServer?
    private var desk: Connection?
    private var shell: ChildProcess?
    private let log = EventLog<String>()

    /// - Parameter asks: Whether the shell asks itself, with the extension.
    init(_ kind: Kind = .wayland, asks: Bool = true, hasKeyboard: Bool = true) async throws {
        system = try await PrivateBus()
        server = kind == .x11 ? try await XServer(screen: "1280x800") : nil
        try await super.init()
        desk = try permd.bus.connect()
        try install(asks ? "'\(GnomeStage.uuid)'" : "")
        environment["DBUS_SYSTEM_BUS_ADDRESS"] = system.address
        environment["GSETTINGS_BACKEND"] = "keyfile"
        environment["XDG_SESSION_TYPE"] = kind == .x11 ? "x11" : "wayland"
        environment["XDG_CURRENT_DESKTOP"] = "GNOME"
        environment["DISPLAY"] = server?.display
        // On X11 the test's keys and clicks are those of another program.
        agentArguments = ["--synthetic-input", "yes"]
        // What shows notifications of programs is a process of its own.
        let notifications = "org.gnome.Shell.Notifications"
        try await allowActivation(notifications, ["/usr/bin/gjs", "-m", "/usr/share/gnome-shell/\(notifications)"])
        let wayland = [
            "--headless", "--wayland", "--no-x11", "--wayland-display", "permd-test", "--virtual-monitor", "1280x800",
            "--virtual-monitor", "1024x768",
        ]
        let shell = try ChildProcess(
            "gnome-shell", ["--unsafe-mode"] + (kind == .x11 ? ["--x11"] : wayland), environment: environment,
            standardOutput: .null, standardError: .pipe)
        self.shell = shell
        Task { [log, lines = shell.errorLines] in for await line in lines { log.add(line) } }
        if kind == .wayland { environment["WAYLAND_DISPLAY"] = "permd-test" }
        environment["GDK_BACKEND"] = kind == .x11 ? "x11" : "wayland"
        part.bottom = 800
        try await until("GNOME Shell") { (try? await isTrue("!Main.layoutManager._startingUp")) == true }
        // A session begins in the overview.
        try await eval("Main.overview.hide()")
        try await until("the desktop") { try await isTrue("!Main.overview.visible") }
        // The shell says that there is no display manager.
        try await until("the notification") { try await isTrue("Main.messageTray.getSources().length") }
        try await eval("Main.messageTray.getSources().forEach(source => source.destroy())")
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "gnome.js")
        try await eval(try String(contentsOf: script, encoding: .utf8))
        if hasKeyboard { try await eval("permdTest.addKeyboard() !== null") }
        if asks { try await until("the extension") { try await agents() == 1 } }
    }

    private func install(_ extensionNames: String) throws {
        let files = FileManager.default
        let project = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let extensions = "\(environment["XDG_DATA_HOME"] ?? "")/gnome-shell/extensions"
        try files.createDirectory(atPath: extensions, withIntermediateDirectories: true)
        try files.createSymbolicLink(
            atPath: "\(extensions)/\(GnomeStage.uuid)",
            withDestinationPath: project.appending(path: "gnome-shell/\(GnomeStage.uuid)").path)
        let settings = "\(environment["XDG_CONFIG_HOME"] ?? "")/glib-2.0/settings"
        try files.createDirectory(atPath: settings, withIntermediateDirectories: true)
        // The shell finds the name and the icon of the agent by it.
        let entry = try String(contentsOf: project.appending(path: "desktop/org.permd.Agent.desktop"), encoding: .utf8)
        let applications = "\(environment["XDG_DATA_HOME"] ?? "")/applications"
        try files.createDirectory(atPath: applications, withIntermediateDirectories: true)
        try entry.replacing(/Exec=.*/, with: "Exec=true")
            .write(toFile: "\(applications)/org.permd.Agent.desktop", atomically: false, encoding: .utf8)
        let text = """
            [org/gnome/shell]
            enabled-extensions=@as [\(extensionNames)]
            welcome-dialog-last-shown-version='999'

            [org/gnome/desktop/interface]
            enable-animations=false
            enable-hot-corners=false
            toolkit-accessibility=true

            """
        try text.write(toFile: "\(settings)/keyfile", atomically: false, encoding: .utf8)
    }

    /// Ends everything. Errors that the shell has logged fail the test.
    override func end() async {
        shell?.terminate()
        _ = await shell?.waitForExit()
        server?.end()
        for line in log.all where line.contains("JS ERROR") || line.contains(GnomeStage.uuid) {
            Issue.record("\(line)")
        }
        desk?.close()
        await super.end()
        await system.end()
    }

    // MARK: Looking

    /// Evaluates JavaScript in the shell, and returns its result as JSON.
    @discardableResult
    func eval(_ script: String) async throws -> String {
        guard let desk else { return "" }
        let reply = try await desk.call(
            .call(
                destination: "org.gnome.Shell", path: "/org/gnome/Shell", interface: "org.gnome.Shell", member: "Eval",
                [.string(script)])
        ).body
        guard reply.count == 2, reply[0] == .bool(true), let result = reply[1].stringValue else {
            throw TestKitError("\(script): \(reply)")
        }
        return result
    }

    func isTrue(_ condition: String) async throws -> Bool { try await eval("Boolean(\(condition))") == "true" }

    func read<Result: Decodable>(_ expression: String, as _: Result.Type = Result.self) async throws -> Result {
        try JSONDecoder().decode(Result.self, from: Data(try await eval(expression).utf8))
    }

    /// The texts of the prompt; none without one.
    func texts() async throws -> [String] { try await read("permdTest.texts()") }

    func hasPrompt() async throws -> Bool { try await isTrue("permdTest.prompt()") }

    func promptIsOver() async throws { try await until("the prompt's end") { try await !hasPrompt() } }

    /// Waits until the prompt shows that text.
    func shows(_ text: String) async throws {
        do {
            try await until(text) { try await texts().contains(text) }
        } catch {
            throw TestKitError("waiting for \(text), but the prompt has \(try await texts())")
        }
    }

    /// Waits until the prompt's answers count.
    func awake() async throws { try await until("the guard") { try await isTrue("permdTest.isAwake()") } }

    /// The number of registered agents.
    func agents() async throws -> Int? {
        try await call(BusNames.agentManager, "ListAgents").first?.rows?.count
    }

    func call(_ interface: String, _ member: String, _ body: [Value] = []) async throws -> [Value] {
        guard let desk else { return [] }
        return try await desk.call(
            .call(
                destination: BusNames.service, path: BusNames.root, interface: interface, member: member, body)
        ).body
    }

    func titles() async throws -> [String] { try await read("permdTest.titles()") }

    /// Where the window of that title is, which is above all others: x, y, width and height.
    func top(_ title: String) async throws -> [Int] { try await read("permdTest.top('\(title)')") }

    override func corner(of area: Picture.Area) async throws -> (x: Int, y: Int) {
        let place = try await top("Permission request")
        return (place.first ?? area.left, place.dropFirst().first ?? area.top)
    }

    override func takePicture(_ path: String) async throws {
        let file = folder.file("screen.png")
        try await takeScreenshot(file)
        try await run("convert", "-depth", "8", file, path)
    }

    private func takeScreenshot(_ file: String) async throws {
        guard let desk else { return }
        _ = try await desk.call(
            .call(
                destination: "org.gnome.Shell", path: "/org/gnome/Shell/Screenshot",
                interface: "org.gnome.Shell.Screenshot", member: "Screenshot",
                [.bool(false), .bool(false), .string(file)]))
    }

    /// The colour at a point of the stage: red, green and blue.
    func colour(_ x: Double, _ y: Double) async throws -> [Int] {
        let file = folder.file("screen.png")
        try await takeScreenshot(file)
        let script = """
            import sys, gi; gi.require_version("GdkPixbuf", "2.0")
            from gi.repository import GdkPixbuf
            image = GdkPixbuf.Pixbuf.new_from_file(sys.argv[1])
            start = int(sys.argv[3]) * image.get_rowstride() + int(sys.argv[2]) * image.get_n_channels()
            print(*image.get_pixels()[start:start + 3])
            """
        return try await run("/usr/bin/python3", "-c", script, file, "\(Int(x))", "\(Int(y))")
            .split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
    }

    // MARK: Input

    override func type(_ text: String) async throws {
        try await eval("permdTest.typeOn(\(text.unicodeScalars.map { Int($0.value) }))")
        try await until("the last key") { try await isTrue("!permdTest.isTyping") }
    }

    override func key(_ name: String) async throws {
        if name == "Escape" { try await press(.escape) } else { try await type(name) }
    }

    func press(_ keys: Key...) async throws { try await eval("permdTest.type(\(keys.map(\.rawValue)))") }

    /// Presses keys as soon as the prompt comes.
    func pressAtPrompt(_ keys: Key...) async throws {
        try await eval("permdTest.atPrompt(() => permdTest.type(\(keys.map(\.rawValue))))")
    }

    /// Taps there as soon as the prompt comes.
    func tapAtPrompt(_ x: Int, _ y: Int) async throws {
        try await eval("permdTest.atPrompt(() => permdTest.tap(\(x), \(y)))")
    }

    /// What the prompt showed after that, after "awake" or "asleep".
    func seenAtPrompt() async throws -> [String] {
        var seen: [String] = []
        try await until("the press") {
            seen = try await read("permdTest.seen")
            return !seen.isEmpty
        }
        return seen
    }

    /// Clicks on what has that name, as soon as it can be used.
    func click(_ name: String) async throws {
        var place: [Double] = []
        try await until(name) {
            place = try await read("permdTest.find('\(name)')")
            return place.count == 4
        }
        try await click(at: place[0] + place[2] / 2, place[1] + place[3] / 2)
    }

    func click(at x: Double, _ y: Double) async throws {
        try await eval("permdTest.move(\(x), \(y))")
        try await eval("permdTest.click()")
    }

    override func click(_ x: Int, _ y: Int) async throws { try await click(at: Double(x), Double(y)) }

    func focused() async throws -> String { try await read("permdTest.focused()") }

    /// Moves the focus with Tab to what has that name.
    func focus(_ name: String) async throws {
        for _ in 0..<20 {
            if try await focused() == name { return }
            try await moveFocus()
        }
        throw TestKitError("\(name) never had the focus")
    }

    /// Moves the focus with Tab. The shell has handled all keys before when this returns.
    func moveFocus() async throws {
        let before = try await focused()
        try await press(.tab)
        try await until("the focus after \(before)") { try await focused() != before }
    }
}
