// A session with the built permd, and functions to see its programs' windows as assistive technology does.

public import DBus
import Foundation
package import PermissionTestKit

/// What all stages of permd's windows have in common, whatever shows them.
@LoopActor
open class Session {
    /// One widget as assistive technology sees it, without the characters that isolate the direction of names.
    package struct Widget: Sendable {
        package let role: String
        package let name: String
        package let description: String
        package let states: Set<Substring>
        /// Its position in the window: x, y, width, height.
        package let place: [Int]
    }

    package let permd: PermdProcess
    package let devices: MockDevices
    package let folder: TemporaryFolder
    /// Of programs started from now on.
    package var environment: [String: String]
    package let program: String
    private var reader: WidgetReader?

    /// - Parameters:
    ///   - program: The program whose windows these are, as assistive technology and window managers know it.
    ///   - settings: The content of `/etc/permd/permd.conf`.
    ///   - rules: The files of `/etc/permd/policy.d/`, by name.
    package init(
        program: String, settings: String = "", rules: [String: String] = [:], environment extra: [String: String] = [:]
    ) async throws {
        self.program = program
        folder = try TemporaryFolder()
        // The only system-wide service needed is the accessibility bus.
        let services = "/usr/share/dbus-1/services/org.a11y.Bus.service"
        try folder.write(try String(contentsOfFile: services, encoding: .utf8), to: "org.a11y.Bus.service")
        devices = try await MockDevices()
        try await devices.add(.camera, 0, name: "Front Camera")
        let bus = try await PrivateBus(serviceDirectory: folder.path)
        permd = try await PermdProcess(bus: bus, settings: settings, rules: rules, devices: devices)
        environment = permd.environment.merging(["LANGUAGE": "en"]) { $1 }.merging(extra) { $1 }
    }

    /// Lets the bus start a program for that name.
    package func allowActivation(
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
        await reader?.end()
        await permd.end()
        await devices.end()
    }

    /// Covers an X screen with a window until the program ends. Its arguments are those of cover.py.
    package func cover(_ arguments: String...) async throws -> ChildProcess {
        let child = try ChildProcess(
            "/usr/bin/python3", [Session.script("cover.py")] + arguments, environment: environment)
        for await line in child.lines where line == "ready" { break }
        return child
    }

    // MARK: Reading windows

    /// Runs a program until it exits; returns its output.
    @discardableResult
    package func run(_ program: String, _ arguments: String...) async throws -> String {
        try await run(program, arguments)
    }

    @discardableResult
    package func run(_ program: String, _ arguments: [String]) async throws -> String {
        let child = try ChildProcess(program, arguments, environment: environment, standardError: .null)
        let output = await child.output()
        _ = await child.waitForExit()
        return output
    }

    private static func script(_ name: String) -> String {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: name).path
    }

    private func read(_ words: String...) async throws -> [String] {
        let reader = try self.reader ?? WidgetReader(environment)
        self.reader = reader
        return await reader.ask(words)
    }

    package func widgets(of program: String? = nil) async throws -> [Widget] {
        try await read(program ?? self.program).compactMap { line in
            let parts = line.split(separator: "|", omittingEmptySubsequences: false)
            guard parts.count == 5 else { return nil }
            return Widget(
                role: String(parts[0]), name: Session.plain(parts[1]), description: Session.plain(parts[2]),
                states: Set(parts[3].split(separator: " ")),
                place: parts[4].split(separator: " ").compactMap { Int($0) })
        }
    }

    private static func plain(_ text: Substring) -> String { text.filter { !"\u{2068}\u{2069}".contains($0) } }

    package func labels() async throws -> [String] {
        try await widgets().filter { $0.role == "label" }.map(\.name)
    }

    /// As ``waitUntil(_:_:)``; the error lists the widgets.
    package func until(
        _ what: String, of program: String? = nil, _ isTrue: () async throws -> Bool
    ) async throws {
        do { return try await waitUntil(what, pause: .milliseconds(100), isTrue) } catch let error as TestKitError {
            let seen = try await widgets(of: program).filter {
                !$0.name.isEmpty && !["filler", "image", "panel"].contains($0.role)
            }.map { "\($0.role) \($0.name)\($0.states.contains("focused") ? " (focused)" : "")" }
            throw TestKitError("\(error); the widgets are \(seen)")
        }
    }

    /// Presses a button as a screen reader does, as soon as it is sensitive. The places of small widgets in lists are
    /// wrong in GTK 4.18, which counts the borders around them twice.
    package func press(_ name: String, role: String = "button", of program: String? = nil) async throws {
        try await until("the \(role) \(name)", of: program) {
            try await read(program ?? self.program, role, name).contains("pressed")
        }
    }
}

extension ChildProcess {
    /// What a window's program wrote to stderr until its end, without what GTK 4.22 says of its own frame clock on X11
    /// without a compositor.
    package func complaints() async -> [String] {
        var lines: [String] = []
        for await line in errorLines where !line.isEmpty && !line.contains("gdk_frame_timings_") { lines.append(line) }
        return lines
    }
}
