// A headless desktop on which a person types into an editor while permd asks, and functions to see what is there.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import TestSupport

/// A text editor, in which the test types.
@LoopActor
final class Editor {
    private let process: ChildProcess
    private let events = EventLog<String>()

    init(_ arguments: [String] = [], on stage: Session) async throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "editor.py").path
        process = try ChildProcess(
            "/usr/bin/python3", [script] + arguments + ["Text editor"], environment: stage.environment,
            standardInput: .pipe, standardError: .null)
        Task { [events, lines = process.lines] in for await line in lines { events.add(line) } }
        try await events.first("the editor") { $0.hasPrefix("state active") }
    }

    /// Waits until that is all its text.
    func text(_ wanted: String) async throws {
        try await events.first("the text \(wanted)") { $0 == "text \"\(wanted)\"" }
    }

    /// Makes its window full-screen.
    func fillScreen() async throws {
        process.write("fullscreen\n")
        try await events.first("the full screen") { $0.hasPrefix("state") && $0.hasSuffix("fullscreen") }
    }

    /// Requests the camera as the editor itself.
    func ask() { process.write("ask\n") }

    func end() { process.terminate() }
}

/// What all headless desktops have in common.
@LoopActor
class DesktopStage: Session {
    private var agent: ChildProcess?

    init() async throws {
        try await super.init(program: "org.permd.Agent")
        try await devices.add(.microphone, 0, name: "Headset")
    }

    func startAgent(_ arguments: [String] = []) throws {
        agent = try ChildProcess(
            BuiltProgram.path("permd-agent"), ["--idle", "0"] + arguments, environment: environment)
    }

    override func end() async {
        agent?.terminate(SIGKILL)
        _ = await agent?.waitForExit()
        await super.end()
    }
}
