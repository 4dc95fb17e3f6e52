// Runs the built permctl against the built permd.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import Testing

@LoopActor
struct CommandStage {
    let permd: PermdProcess
    let devices: MockDevices

    struct Outcome {
        let status: Int32
        let output: String
        let errors: String
        var lines: [String] { output.split(separator: "\n").map(String.init) }
    }

    init(
        settings: String = "", rules: [String: String] = [:], bus: PrivateBus? = nil,
        environment: [String: String] = [:]
    ) async throws {
        devices = try await MockDevices()
        for kind in [MockDevices.Kind.camera, .microphone, .gnss] { try await devices.add(kind, 0) }
        permd = try await PermdProcess(
            bus: bus, settings: settings, rules: rules, devices: devices, environment: environment)
    }

    /// Runs permctl until it exits.
    func run(_ arguments: String..., environment: [String: String] = [:]) async throws -> Outcome {
        let child = try start(arguments, environment: environment)
        async let output = child.output()
        var errors = ""
        for await line in child.errorLines { errors += line + "\n" }
        let text = await output
        guard case .exited(let status) = await child.waitForExit() else {
            throw TestKitError("permctl \(arguments) was killed: \(text)\(errors)")
        }
        return Outcome(status: status, output: text, errors: errors)
    }

    nonisolated func start(
        _ arguments: [String], environment: [String: String] = [:]
    ) throws(TestKitError) -> ChildProcess {
        try ChildProcess(
            BuiltProgram.path("permctl"), arguments, environment: permd.environment.merging(environment) { $1 },
            standardError: .pipe)
    }

    func agent(_ script: [ScriptedAgent.Reply] = [], otherwise: ScriptedAgent.Reply = .wait) async throws
        -> ScriptedAgent
    {
        let agent = ScriptedAgent(try permd.bus.connect(), script, otherwise: otherwise)
        try await agent.register()
        return agent
    }

    func end() async {
        await permd.end()
        await devices.end()
    }
}

/// What `--json` prints.
func json(_ text: String) throws -> Any { try JSONSerialization.jsonObject(with: Data(text.utf8)) }

func objects(_ text: String) throws -> [[String: Any]] { try #require(json(text) as? [[String: Any]]) }
