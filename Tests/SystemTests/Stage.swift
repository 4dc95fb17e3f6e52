// The environment of every test here: the built permd on a bus of its own, mock devices, and apps as processes.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport

@LoopActor
struct Stage {
    let permd: PermdProcess
    let devices: MockDevices
    /// A connection of the test program, which is unsandboxed: for calls as a settings program, and for signals.
    let desk: Connection

    /// - Parameter kinds: The mock devices; by default a camera, a microphone and a satellite receiver.
    init(
        _ kinds: [MockDevices.Kind] = [.camera, .microphone, .gnss], settings: String = "",
        rules: [String: String] = [:], bus: PrivateBus? = nil, environment: [String: String] = [:],
        through wrapper: [String] = []
    ) async throws {
        devices = try await MockDevices()
        for kind in kinds { try await devices.add(kind, 0) }
        permd = try await PermdProcess(
            bus: bus, settings: settings, rules: rules, devices: devices, environment: environment,
            through: wrapper)
        desk = try permd.bus.connect()
    }

    func app(_ name: String = "app") async throws -> TestApp { try await TestApp(name, on: permd) }

    /// Registers an agent on a connection of its own.
    func agent(
        _ script: [ScriptedAgent.Reply] = [], otherwise: ScriptedAgent.Reply = .wait, level: AgentLevel? = nil
    ) async throws -> ScriptedAgent {
        let agent = ScriptedAgent(try permd.bus.connect(), script, otherwise: otherwise)
        try await agent.register(level: level)
        return agent
    }

    /// The folder of the decisions and the history.
    var stateFolder: String { "\(permd.bus.directory)/state/permd" }

    // MARK: Calls from the desk

    func call(
        _ interface: String, _ member: String, _ body: [Value] = [], path: String = BusNames.root
    ) async throws(BusError) -> [Value] {
        try await desk.call(
            .call(destination: BusNames.service, path: path, interface: interface, member: member, body)
        ).body
    }

    /// Returns the error of a call, as `Name retryable` or `Name final`; nil if it succeeds.
    func refusal(
        _ interface: String, _ member: String, _ body: [Value] = [], path: String = BusNames.root
    ) async -> String? {
        do throws(BusError) {
            _ = try await call(interface, member, body, path: path)
            return nil
        } catch {
            return Stage.describe(error)
        }
    }

    static func describe(_ error: BusError) -> String {
        guard error.name.hasPrefix("org.permd.Error."), error.body.count == 2, error.body[0].stringValue != nil,
            let flag = error.body[1].boolValue
        else { return error.name }
        return "\(error.name.dropFirst("org.permd.Error.".count)) \(flag ? "retryable" : "final")"
    }

    func rows(_ member: String, _ filter: [String: Value]? = [:], _ interface: String = BusNames.policy)
        async throws -> [[String: Value]]
    {
        let body = try await call(interface, member, filter.map { [.properties($0)] } ?? [])
        return body.first?.rows ?? []
    }

    /// Returns all decisions, each as `app permission decision duration`.
    func decisions() async throws -> [String] {
        try await rows("ListDecisions").map { row in
            ["app", "permission", "decision", "duration"].map { row[$0]?.stringValue ?? "?" }.joined(separator: " ")
        }
    }

    /// Returns the history, newest first, each row as `permission outcome by`.
    func history(_ app: AppID? = nil) async throws -> [String] {
        let filter: [String: Value] = app.map { ["app": .string($0.description)] } ?? [:]
        return try await rows("ListHistory", filter).map { row in
            ["permission", "outcome", "by"].map { row[$0]?.stringValue ?? "?" }.joined(separator: " ")
        }
    }

    func set(
        _ decision: String, _ app: AppID, _ permission: Permission, _ options: [String: Value] = [:]
    ) async throws {
        _ = try await call(
            BusNames.policy, "SetDecision",
            [.string(app.description), .string(permission.rawValue), .string(decision), .properties(options)])
    }

    func reset(_ app: String = "", _ permission: String = "") async throws -> UInt32 {
        try await call(BusNames.policy, "Reset", [.string(app), .string(permission)]).first?.uint32Value ?? 0
    }

    /// Subscribes the desk, and returns a log of the signals it receives, as `Member argument argument …`.
    func signals(_ interface: String) async throws -> EventLog<String> {
        let log = EventLog<String>()
        desk.onSignal(path: BusNames.root, interface: interface, addMatch: false) { message in
            let texts = message.body.map { value in
                value.stringValue ?? value.uint32Value.map(String.init) ?? value.properties?["id"]?.stringValue ?? "?"
            }
            log.add(([message.member ?? ""] + texts).joined(separator: " "))
        }
        _ = try await call(interface, "Subscribe")
        return log
    }

    func end() async {
        desk.close()
        await permd.end()
        await devices.end()
    }
}
