// PipeWire, WirePlumber and pipewire-pulse without hardware: a tone as the microphone, a test picture as the camera, and a
// speaker.

package import DBus
import Glibc
package import PermissionTestKit

/// A private sound server with permd and permd-pipewire.
@LoopActor
package final class SoundServer {
    package enum Part: String, CaseIterable, Sendable {
        case pipewire, wireplumber
        case pulse = "pipewire-pulse"
    }

    package let permd: PermdProcess
    package let folder: TemporaryFolder
    /// What permd-pipewire wrote.
    package let log = EventLog<String>()
    private var parts: [Part: ChildProcess] = [:]
    private var point: ChildProcess?

    nonisolated package static let scripts =
        "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/") + "/scripts/test-sound"

    /// A script that runs a program with as many descriptors as are allowed: PipeWire needs some for each stream.
    nonisolated package static let manyDescriptors = "ulimit -S -n \"$(ulimit -H -n)\" && exec \"$@\""

    /// - Parameters:
    ///   - settings: The content of `/etc/permd/permd.conf`.
    ///   - isConfigured: Whether WirePlumber has permd's script.
    ///   - isEnforced: Whether permd-pipewire runs.
    package init(settings: String = "", isConfigured: Bool = true, isEnforced: Bool = true) async throws {
        permd = try await PermdProcess(settings: settings)
        folder = try TemporaryFolder()
        try await run("\(SoundServer.scripts)/configure \(isConfigured ? "" : "--without-permd")")
        try await start(.pipewire)
        async let manager: Void = start(.wireplumber)
        async let pulse: Void = start(.pulse)
        _ = try await (manager, pulse)
        if isEnforced { try await enforce() }
    }

    package var environment: [String: String] { permd.environment }

    // MARK: Parts

    /// Starts a part, which serves when this returns.
    package func start(_ part: Part) async throws {
        parts[part] = try ChildProcess(
            "sh", ["-c", SoundServer.manyDescriptors, "sh", part.rawValue], environment: environment,
            standardOutput: .null,
            standardError: .file(folder.file("\(part.rawValue).log")))
        let isServed =
            switch part {
            case .pipewire: "pw-cli info 0"
            case .wireplumber: "wpctl inspect @DEFAULT_AUDIO_SOURCE@ && \(SoundServer.scripts)/drive"
            case .pulse: "pactl info"
            }
        // A program that connects while the server starts may wait for ever.
        do { try await until("\(part)", "timeout 5 sh -c '\(isServed)' 2>&1") } catch {
            let state = parts[part]?.isRunning == true ? "runs" : "has exited"
            let said = try await run("tail -n 20 \(folder.file("\(part.rawValue).log"))")
            throw TestKitError("\(part.rawValue) \(state), but does not serve: \(said)")
        }
    }

    @discardableResult
    package func stop(_ part: Part, _ signal: Int32 = SIGKILL) async -> ChildProcess.Exit? {
        parts[part]?.terminate(signal)
        return await parts.removeValue(forKey: part)?.waitForExit()
    }

    /// Suspends a part or lets it go on, as a busy machine does.
    package func send(_ signal: Int32, to part: Part) { parts[part]?.terminate(signal) }

    /// Starts permd-pipewire, which has dealt with the present clients when this returns.
    package func enforce() async throws {
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

    @discardableResult
    package func stopEnforcing(_ signal: Int32 = SIGKILL) async -> ChildProcess.Exit? {
        point?.terminate(signal)
        let exit = await point?.waitForExit()
        point = nil
        return exit
    }

    package var isEnforcing: Bool { point?.isRunning == true }

    @discardableResult
    package func run(_ script: String) async throws -> String {
        let child = try ChildProcess("sh", ["-c", script], environment: environment)
        let output = await child.output()
        _ = await child.waitForExit()
        return output
    }

    /// Runs a script until it succeeds; returns its output.
    @discardableResult
    package func until(_ what: String, _ script: String) async throws -> String {
        var output = ""
        try await waitUntil(what) {
            let child = try ChildProcess("sh", ["-c", script], environment: environment)
            output = await child.output()
            return await child.waitForExit() == .exited(0)
        }
        return output
    }

    package func permctl(_ words: String...) async throws {
        let child = try ChildProcess(BuiltProgram.path("permctl"), words, environment: environment)
        guard await child.waitForExit() == .exited(0) else { throw TestKitError("permctl \(words) failed") }
    }

    package func end() async {
        await stopEnforcing()
        for part in Part.allCases { await stop(part) }
        await permd.end()
    }
}
