// The environment of every test here: the built permd, an enforcement point that reports uses, and the built indicator,
// which the bus starts.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import TestSupport

@LoopActor
final class IndicatorStage {
    static let video = "flatpak:org.example.Video"

    let permd: PermdProcess
    /// A connection of the test program: the enforcement point, and a settings program.
    let desk: Connection
    /// The owners of the indicator's name; empty when it has none.
    let owners = EventLog<String>()
    private let services: TemporaryFolder
    /// The indicator, where the bus starts nothing: dbus-broker leaves that to systemd.
    private var indicator: ChildProcess?

    /// - Parameters:
    ///   - names: The names of apps in their desktop entries, by flatpak ID.
    ///   - services: More service files, by the name that they start.
    init(
        settings: String = "", rules: [String: String] = [:], kind: PrivateBus.Kind = .daemon,
        devices: MockDevices? = nil,
        names: [String: String] = ["org.example.Video": "Video Call"], services more: [String: [String]] = [:]
    ) async throws {
        services = try TemporaryFolder()
        let programs = [BusNames.indicatorService: [BuiltProgram.path("permd-indicator")]].merging(more) { $1 }
        for (name, command) in programs { try services.write(ServiceFile.text(name, command), to: "\(name).service") }
        let bus = try await PrivateBus(kind, serviceDirectory: services.path)
        permd = try await PermdProcess(bus: bus, settings: settings, rules: rules, devices: devices)
        desk = try bus.connect()
        desk.onOwnerChange(of: BusNames.indicatorService) { [owners] in owners.add($0 ?? "") }
        for (id, name) in names { try nameApp(id, name) }
        if kind == .broker {
            indicator = try ChildProcess(BuiltProgram.path("permd-indicator"), environment: permd.environment)
        }
    }

    /// Writes the desktop entry of a flatpak.
    private func nameApp(_ id: String, _ name: String) throws {
        let folder = "\(permd.bus.directory)/data/flatpak/exports/share/applications"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let entry = "[Desktop Entry]\nType=Application\nName=\(name)\n"
        try entry.write(toFile: "\(folder)/\(id).desktop", atomically: false, encoding: .utf8)
    }

    func call(_ interface: String, _ member: String, _ body: [Value] = []) async throws(BusError) -> [Value] {
        try await desk.call(
            .call(
                destination: BusNames.service, path: BusNames.root, interface: interface, member: member, body)
        ).body
    }

    /// Reports a use, as an enforcement point does, and returns its number.
    @discardableResult
    func use(_ permission: Permission = .camera, by app: String = video) async throws -> UInt32 {
        let details: [String: Value] = ["source": .string("test"), "device_name": .string("A device")]
        let body = try await call(
            BusNames.enforcement, "ReportUse",
            [.variant(.string(app)), .string(permission.rawValue), .properties(details)])
        return body.first?.uint32Value ?? 0
    }

    func end(use: UInt32) async throws { _ = try await call(BusNames.enforcement, "EndUse", [.uint32(use)]) }

    /// Requests a permission for an app, which an agent answers.
    func request(_ permission: Permission, for app: String = video) async throws {
        _ = try await call(
            BusNames.enforcement, "RequestAccessFor",
            [.variant(.string(app)), .strings([permission.rawValue]), .properties([:])])
    }

    func set(
        _ verdict: String, _ permission: Permission = .camera, _ app: String = video, duration: String = "always"
    ) async throws {
        _ = try await call(
            BusNames.policy, "SetDecision",
            [
                .string(app), .string(permission.rawValue), .string(verdict),
                .properties(["duration": .string(duration)]),
            ])
    }

    /// All decisions, each as `app permission decision duration`.
    func decisions() async throws -> [String] {
        let body = try await call(BusNames.policy, "ListDecisions", [.properties([:])])
        return (body.first?.rows ?? []).map { row in
            ["app", "permission", "decision", "duration"].map { row[$0]?.stringValue ?? "?" }.joined(separator: " ")
        }
    }

    /// Subscribes to changes of decisions, and returns them as `app permission verdict`.
    func decisionChanges() async throws -> EventLog<String> {
        let log = EventLog<String>()
        desk.onSignal(path: BusNames.root, interface: BusNames.policy, member: "DecisionChanged", addMatch: false) {
            log.add($0.body.compactMap(\.stringValue).joined(separator: " "))
        }
        _ = try await call(BusNames.policy, "Subscribe")
        return log
    }

    func end() async {
        desk.close()
        await permd.end()
    }
}
