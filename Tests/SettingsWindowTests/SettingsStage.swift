// The stage of permd-settings: a desktop on which it opens, and functions to see and use its window.

import DBus
import Glibc
import PermissionClient
import PermissionTestKit
import TestSupport

@LoopActor
final class SettingsStage: Desktop {
    /// What permd stores, read and changed by another program than the window.
    private(set) lazy var settings = PermissionSettings(bus: .address(permd.bus.address))
    private var child: ChildProcess?

    init(
        settings text: String = "", rules: [String: String] = [:], environment: [String: String] = [:]
    ) async throws {
        // A renderer without OpenGL, which a virtual screen has only in software.
        try await super.init(
            program: "org.permd.Settings", settings: text, rules: rules,
            environment: ["GSK_RENDERER": "cairo", "GDK_DISABLE": "gl,vulkan"].merging(environment) { $1 })
    }

    /// Starts the program and waits for its window.
    func open(_ arguments: String...) async throws {
        child = try start(arguments)
        try await until("the window") { try await window() != nil }
    }

    /// Starts another process of the program.
    nonisolated func start(_ arguments: [String], in environment: [String: String]) throws -> ChildProcess {
        try ChildProcess(
            BuiltProgram.path("permd-settings"), arguments, environment: environment, standardError: .pipe)
    }

    func start(_ arguments: [String]) throws -> ChildProcess { try start(arguments, in: environment) }

    /// Lets the bus start permd.
    func allowActivation() async throws {
        try await allowActivation(
            "org.permd", [BuiltProgram.path("permd"), "--root", permd.root.path], with: devices.environment)
    }

    /// Ends the program, and returns the lines that it wrote to stderr.
    func complaints() async -> [String] {
        child?.terminate()
        return await child?.complaints() ?? []
    }

    override func end() async {
        child?.terminate(SIGKILL)
        await super.end()
    }

    // MARK: Reading the window

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

    // MARK: Input

    /// Clicks the first widget of that role and name that has a size, as soon as it is sensitive.
    func click(_ name: String, role: String = "label") async throws {
        var found: Widget?
        try await until("the \(role) \(name)") {
            found = try await widgets().first {
                $0.role == role && $0.name == name && $0.states.contains("sensitive") && $0.place.count == 4
            }
            return found != nil
        }
        if let found { try await click(on: found) }
    }

    func type(_ text: String) async throws { try await run("xdotool", "type", text) }

    // MARK: permd

    /// The decision about a permission of an app, as `grant always`; nil if there is none.
    func decision(_ app: String, _ permission: Permission) async throws -> String? {
        try await settings.decisions(app: app, item: .permission(permission)).first.map {
            "\($0.decision.rawValue) \($0.duration?.rawValue ?? "")"
        }
    }

    func awaitDecision(_ app: String, _ permission: Permission, _ wanted: String?) async throws {
        try await until("the decision \(wanted ?? "none")") { try await decision(app, permission) == wanted }
    }
}
