// permctl in-use: lists which apps use cameras and microphones now.

import ArgumentParser
import PermissionClient

struct InUseVerb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "in-use", abstract: "List the apps that use a camera or a microphone now.",
        discussion: "With a permission, exits with 1 if nothing uses it.")

    @Argument(help: "Only the devices of this permission; all by default.")
    var permission: Permission?
    @Flag(help: "Print the list again whenever it changes, until Ctrl-C; as JSON, one line each time.")
    var watch = false
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let settings = PermissionSettings()
        guard watch else {
            let rows = try await self.rows(settings)
            try await print(rows, settings)
            if rows.isEmpty, permission != nil { throw Failure(.no) }
            return
        }
        // Subscribed first, so that no change is missed.
        let events = try await settings.events()
        var rows = try await rows(settings)
        try await print(rows, settings)
        for await event in events {
            switch event {
            case .useStarted, .useEnded, .missed, .daemonBack: rows = try await self.rows(settings)
            case .decisionChanged(let app, _, _) where rows.contains { $0.use.app == app }:
                rows = try await self.rows(settings)
            case .daemonLost: rows = []
            default: continue
            }
            try await print(rows, settings)
        }
    }

    /// A use, and the app's status now, which may be another than when it began.
    private typealias Row = (use: UseRow, now: Status)

    private func rows(_ settings: PermissionSettings) async throws -> [Row] {
        let uses = try await settings.uses().filter { permission == nil || $0.permission == permission }
        var statuses: [AppID: [StatusRow]] = [:]
        for app in Set(uses.compactMap(\.app)) {
            statuses[app] = try await settings.statuses(app: app.description)
        }
        return uses.map { use in
            let row = use.app.flatMap { statuses[$0] }?.first { $0.permission == use.permission }
            return (use, row?.status ?? use.status)
        }
    }

    /// What an app that uses a device may do now; what it might when it began is in the history.
    private static func text(_ now: Status, _ use: UseRow) -> String {
        switch now {
        case .undetermined: "not asked"
        case .denied, .restricted: use.isCut ? now.rawValue : "\(now.rawValue), but still open"
        case .granted, .unavailable: now.rawValue
        }
    }

    private func print(_ rows: [Row], _ settings: PermissionSettings) async throws {
        let records = rows.map { $0.use.record.with(["status_now": $0.now.rawValue]) }
        if output.json { return try Output.json(records, pretty: !watch) }
        if watch { Output.clearScreen() }
        let names = try await output.shortNames(settings)
        try output.list(
            rows,
            [
                "permission", "app", "device", "since", "status", Column("if denied", isDetail: true),
                Column("source", isDetail: true), Column("pid", isDetail: true),
            ], empty: "Nothing is in use.", isFollowed: watch, json: records
        ) { use, now in
            [
                Cell(use.permission.rawValue), use.app.map { Cell($0, names) } ?? "(unknown)", Cell(use.deviceName),
                Cell(TimeText.short(use.since)), Cell(InUseVerb.text(now, use), now == .granted ? .good : .bad),
                use.isCut ? "ends" : "stays open", Cell(use.source), Cell(use.pid == 0 ? "-" : String(use.pid)),
            ]
        }
    }
}
