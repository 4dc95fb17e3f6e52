// permctl monitor: prints events as they happen, one line each.

import ArgumentParser
import PermissionClient

struct MonitorVerb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "monitor",
        abstract: "Print requests, decisions, devices and their uses as they change, one line each, until Ctrl-C.")

    @Flag(help: "Print one JSON object per line.")
    var json = false

    func run() async throws {
        let settings = PermissionSettings()
        let events = try await settings.events()
        var uses = Dictionary(try await settings.uses().map { ($0.use, $0) }, uniquingKeysWith: { $1 })
        for await event in events {
            switch event {
            case .queueChanged: break
            case .requestChanged(let app, let items, let state):
                let names = items.map(\.name)
                try report(
                    "request", "\(app) for \(names.joined(separator: ", ")): \(state)",
                    ["app": app.description, "permissions": names, "outcome": state])
            case .decisionChanged(let app, let permission, let verdict):
                try await report(app, permission, verdict, settings)
            case .switchChanged(let permission, let isOn):
                let state = isOn ? "on" : "off"
                try report(
                    "switch", "\(permission.rawValue) is \(state) for every app",
                    ["permission": permission.rawValue, "outcome": state])
            case .deviceAdded(let device):
                let state = device.problem.isEmpty ? "" : ", \(device.isUsable ? "" : "unusable: ")\(device.problem)"
                try report(
                    "device", "\(device.permission.rawValue) \(device.name) (\(device.id)) is present\(state)",
                    device.record.with(["outcome": device.isUsable ? "present" : "unusable"]))
            case .deviceRemoved(let permission, let id):
                try report(
                    "device", "\(permission.rawValue) \(id) was removed",
                    ["permission": permission.rawValue, "id": id, "outcome": "removed"])
            case .useStarted(let use):
                uses[use.use] = use
                try report(
                    "use", "\(MonitorVerb.text(use)): begins (\(use.status.rawValue))",
                    use.record.with(["outcome": "began"]))
            case .useEnded(let number, let seconds):
                guard let use = uses.removeValue(forKey: number) else { continue }
                try report(
                    "use", "\(MonitorVerb.text(use)): ended after \(TimeText.span(Int64(clamping: seconds)))",
                    use.record.with(["outcome": "ended", "seconds": seconds]))
            case .missed:
                try report(
                    "monitor", "events were lost: they came faster than they could be printed", ["outcome": "lost"])
            case .daemonLost: try report("daemon", "permd has left the bus", ["outcome": "gone"])
            case .daemonBack:
                uses = [:]
                try report("daemon", "permd is back on the bus", ["outcome": "back"])
            }
        }
    }

    /// - Parameter verdict: Nil after a reset, or at the end of a decision.
    private func report(
        _ app: AppID, _ permission: Permission, _ verdict: Verdict?, _ settings: PermissionSettings
    ) async throws {
        let word = verdict.map { $0 == .grant ? "granted" : "denied" }
        let duration = await MonitorVerb.duration(app, permission, verdict, settings)
        try report(
            "decision",
            "\(permission.rawValue) for \(app): \(word ?? "forgotten or ended")\(duration.map { ", \($0.text)" } ?? "")",
            [
                "app": app.description, "permission": permission.rawValue, "outcome": word ?? "ended",
                "duration": duration?.kind.rawValue, "until": duration?.end,
            ])
    }

    private static func text(_ use: UseRow) -> String {
        "\(use.permission.rawValue) \(use.deviceName) by \(use.app?.description ?? "an unknown program")"
    }

    /// How long a decision holds, which the event does not say; nil if it has been changed since.
    private static func duration(
        _ app: AppID, _ permission: Permission, _ verdict: Verdict?, _ settings: PermissionSettings
    ) async -> Duration? {
        guard let verdict else { return nil }
        let rows = (try? await settings.decisions(app: app.description, item: .permission(permission))) ?? []
        return rows.first { $0.decision.rawValue == verdict.rawValue }?.holds
    }

    private func report(_ kind: String, _ text: String, _ details: Record) throws {
        let now = TimeText.now()
        guard !json else {
            return try Output.json(details.with(["time": now, "kind": kind, "text": text]), pretty: false)
        }
        Output.line("\(TimeText.full(now)) \(kind): \(text)")
    }
}
