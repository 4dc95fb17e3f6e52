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
            case .requestChanged(let app, let questions, let state):
                let what = questions.map(\.name).joined(separator: ", ")
                try report("request", "\(app) for \(what): \(state)")
            case .decisionChanged(let app, let permission, let verdict):
                let word = verdict.map { $0 == .grant ? "granted" : "denied" } ?? "forgotten or ended"
                let duration = await MonitorVerb.duration(app, permission, verdict, settings)
                try report(
                    "decision", "\(permission.rawValue) for \(app): \(word)\(duration.map { ", \($0.text)" } ?? "")",
                    duration)
            case .switchChanged(let permission, let isOn):
                try report("switch", "\(permission.rawValue) is \(isOn ? "on" : "off") for every app")
            case .deviceAdded(let device):
                let state = device.isUsable ? "" : ", unusable: \(device.problem)"
                try report("device", "\(device.permission.rawValue) \(device.name) (\(device.id)) is present\(state)")
            case .deviceRemoved(let permission, let id):
                try report("device", "\(permission.rawValue) \(id) was removed")
            case .useStarted(let use):
                uses[use.use] = use
                try report("use", "\(MonitorVerb.text(use)): begins (\(use.status.rawValue))")
            case .useEnded(let number, let seconds):
                guard let use = uses.removeValue(forKey: number) else { continue }
                try report("use", "\(MonitorVerb.text(use)): ended after \(TimeText.span(Int64(clamping: seconds)))")
            case .missed: try report("monitor", "events were lost: they came faster than they could be printed")
            case .daemonLost: try report("daemon", "permd has left the bus")
            case .daemonBack:
                uses = [:]
                try report("daemon", "permd is back on the bus")
            }
        }
    }

    private static func text(_ use: UseRow) -> String {
        "\(use.permission.rawValue) \(use.deviceName) by \(use.app?.description ?? "an unknown program")"
    }

    /// How long a decision holds, which the event does not say; nil if it has been changed since.
    private static func duration(
        _ app: AppID, _ permission: Permission, _ verdict: Verdict?, _ settings: PermissionSettings
    ) async -> Duration? {
        guard let verdict else { return nil }
        let rows = (try? await settings.decisions(app: app.description, question: .permission(permission))) ?? []
        return rows.first { $0.decision.rawValue == verdict.rawValue }?.holds
    }

    private func report(_ kind: String, _ text: String, _ duration: Duration? = nil) throws {
        let now = TimeText.now()
        guard !json else {
            let record: Record = [
                "time": now, "kind": kind, "text": text, "duration": duration?.kind.rawValue, "until": duration?.end,
            ]
            return try Output.json(record, pretty: false)
        }
        Output.line("\(TimeText.full(now)) \(kind): \(text)")
    }
}
