// PipeWire, WirePlumber and pipewire-pulse for one test, without hardware: a tone as the microphone, a test picture as the
// camera, and a speaker.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit

@LoopActor
final class SoundServer {
    enum Part: String, CaseIterable {
        case pipewire, wireplumber
        case pulse = "pipewire-pulse"
    }

    let permd: PermdProcess
    let folder: TemporaryFolder
    /// What permd-pipewire wrote.
    let log = EventLog<String>()
    private var parts: [Part: ChildProcess] = [:]
    private var point: ChildProcess?

    nonisolated private static let scripts =
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path + "/scripts/test-sound"

    /// - Parameter isConfigured: Whether WirePlumber has permd's script.
    init(settings: String = "", isConfigured: Bool = true, isEnforced: Bool = true) async throws {
        permd = try await PermdProcess(settings: settings)
        folder = try TemporaryFolder()
        try await run("\(SoundServer.scripts)/configure \(isConfigured ? "" : "--without-permd")")
        for part in Part.allCases { try await start(part) }
        if isEnforced { try await enforce() }
    }

    var environment: [String: String] { permd.environment }

    // MARK: Parts

    /// Starts a part, which serves when this returns.
    func start(_ part: Part) async throws {
        parts[part] = try ChildProcess(
            part.rawValue, environment: environment, standardOutput: .null, standardError: .null)
        let isServed =
            switch part {
            case .pipewire: "pw-cli info 0"
            case .wireplumber: "wpctl inspect @DEFAULT_AUDIO_SOURCE@ && \(SoundServer.scripts)/drive"
            case .pulse: "pactl info"
            }
        let started = try await run(
            "timeout 40 sh -c 'until { \(isServed); } >/dev/null 2>&1; do sleep 0.05; done' && echo ok")
        guard started == "ok\n" else { throw TestKitError("\(part.rawValue) did not start") }
    }

    func stop(_ part: Part, _ signal: Int32 = SIGKILL) async {
        parts[part]?.terminate(signal)
        _ = await parts.removeValue(forKey: part)?.waitForExit()
    }

    /// Starts permd-pipewire, which has dealt with the present clients when this returns.
    func enforce() async throws {
        let ready = EventLog<String>()
        let child = try ChildProcess(
            BuiltProgram.path("permd-pipewire"), environment: environment, standardError: .pipe)
        point = child
        Task { [log, lines = child.errorLines] in
            for await line in lines {
                log.add(line)
                if line.contains("ready:") { ready.add(line) }
            }
        }
        try await ready.wait(for: 1)
    }

    func stopEnforcing(_ signal: Int32 = SIGKILL) async {
        point?.terminate(signal)
        _ = await point?.waitForExit()
        point = nil
    }

    var isEnforcing: Bool { point?.isRunning == true }

    @discardableResult
    func run(_ script: String) async throws -> String {
        let child = try ChildProcess("sh", ["-c", script], environment: environment)
        let output = await child.output()
        _ = await child.waitForExit()
        return output
    }

    func permctl(_ words: String...) async throws {
        let child = try ChildProcess(BuiltProgram.path("permctl"), words, environment: environment)
        guard await child.waitForExit() == .exited(0) else { throw TestKitError("permctl \(words) failed") }
    }

    func end() async {
        await stopEnforcing()
        for part in Part.allCases { await stop(part) }
        await permd.end()
    }
}
