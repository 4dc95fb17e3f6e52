// The built permd with mock devices, clients of it, and agents.

import DBus
import PermissionClient
import PermissionTestKit

@LoopActor
struct ClientStage {
    let permd: PermdProcess
    let devices: MockDevices
    let center: PermissionCenter
    let settings: PermissionSettings
    var bus: PermissionBus { .address(permd.bus.address) }

    init(settings text: String = "") async throws {
        devices = try await MockDevices()
        for kind in [MockDevices.Kind.camera, .microphone, .gnss] { try await devices.add(kind, 0) }
        permd = try await PermdProcess(settings: text, devices: devices)
        center = PermissionCenter(bus: .address(permd.bus.address))
        settings = PermissionSettings(bus: .address(permd.bus.address))
    }

    func agent(
        _ script: [ScriptedAgent.Reply] = [], otherwise: ScriptedAgent.Reply = .wait, level: AgentLevel? = nil
    ) async throws -> ScriptedAgent {
        let agent = ScriptedAgent(try permd.bus.connect(), script, otherwise: otherwise)
        try await agent.register(level: level)
        return agent
    }

    /// The identity that the daemon gives the test program.
    var app: AppID {
        get async throws {
            _ = try await center.statuses()
            let row = try await settings.requests().first?.app
            return row ?? AppID.executable(BuiltProgram.own.utf8)
        }
    }

    func end() async {
        await permd.end()
        await devices.end()
    }
}

/// Adds the elements of a sequence to a log, so that a test can wait for them.
func follow<Elements: AsyncSequence & Sendable>(
    _ sequence: Elements, into log: EventLog<Elements.Element>
) -> Task<Void, any Error> where Elements.Element: Sendable {
    Task { for try await element in sequence { await log.add(element) } }
}
