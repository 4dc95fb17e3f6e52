// permctl monitor: what happens, one line each.

import ArgumentParser
import PermissionClient

struct MonitorVerb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "monitor",
        abstract: "Requests, decisions and devices as they come, one line each; ends with Ctrl-C.")

    @Flag(help: "Print one JSON object a line.")
    var json = false

    func run() async throws {
        let settings = PermissionSettings()
        let events = try await settings.events()
        var queue = RequestDifference()
        try report(queue.update(try await settings.requests()))
        for await event in events {
            switch event {
            case .queueChanged: try report(queue.update(await settings.currentRequests()))
            case .daemonBack:
                try report([Line("daemon", "permd is back")])
                try report(queue.update(await settings.currentRequests()))
            case .daemonLost: try report([Line("daemon", "permd has gone")])
            case .decisionChanged(let app, let permission, let verdict):
                let word = verdict.map { $0 == .grant ? "granted" : "denied" } ?? "forgotten or over"
                try report([Line("decision", "\(permission.rawValue) for \(app): \(word)")])
            case .deviceAdded(let device):
                let state = device.isUsable ? "" : ", unusable: \(device.problem)"
                try report([
                    Line("device", "\(device.permission.rawValue) \(device.name) (\(device.id)) is there\(state)")
                ])
            case .deviceRemoved(let permission, let id):
                try report([Line("device", "\(permission.rawValue) \(id) has gone")])
            }
        }
    }

    private func report(_ lines: [Line]) throws {
        for line in lines {
            if json {
                try Output.json(line, pretty: false)
            } else {
                Output.line("\(TimeText.full(line.time)) \(line.kind): \(line.text)")
            }
        }
    }
}

struct Line: Encodable, Equatable {
    let time: EpochSeconds
    let kind: String
    let text: String

    init(_ kind: String, _ text: String) {
        time = TimeText.now()
        self.kind = kind
        self.text = text
    }
}

/// Tells which requests came, moved to the screen and went, from one look at the queue to the next.
struct RequestDifference {
    private var known: [String: QueuedRequest] = [:]

    mutating func update(_ requests: [QueuedRequest]) -> [Line] {
        var lines: [Line] = []
        let now = Dictionary(uniqueKeysWithValues: requests.map { ($0.request, $0) })
        for (path, request) in known.sorted(by: { $0.value.since < $1.value.since }) where now[path] == nil {
            lines.append(Line("request", "\(RequestDifference.text(request)) is over"))
        }
        for request in requests {
            let before = known[request.request]
            if before == nil {
                lines.append(Line("request", "\(RequestDifference.text(request)) waits at \(request.position)"))
            }
            if request.isShowing, before?.isShowing != true {
                lines.append(Line("request", "\(RequestDifference.text(request)) is on screen"))
            }
        }
        known = now
        return lines
    }

    private static func text(_ request: QueuedRequest) -> String {
        "\(request.app) for \(request.permissions.map(\.rawValue).joined(separator: ", "))"
    }
}

extension PermissionSettings {
    /// The queue; none when the daemon has gone meanwhile, which is an event of its own.
    fileprivate func currentRequests() async -> [QueuedRequest] { (try? await requests()) ?? [] }
}
