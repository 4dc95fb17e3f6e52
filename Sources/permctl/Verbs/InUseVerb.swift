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
        try await print(try await rows(settings), settings)
        for await event in events {
            switch event {
            case .useStarted, .useEnded, .missed, .daemonBack: try await print(try await rows(settings), settings)
            case .daemonLost: try await print([], settings)
            default: break
            }
        }
    }

    private func rows(_ settings: PermissionSettings) async throws -> [UseRow] {
        try await settings.uses().filter { permission == nil || $0.permission == permission }
    }

    private func print(_ rows: [UseRow], _ settings: PermissionSettings) async throws {
        if output.json { return try Output.json(rows.map(\.record), pretty: !watch) }
        if watch { Output.clearScreen() }
        let names = try await output.shortNames(settings)
        try output.list(
            rows,
            [
                "permission", "app", "device", "since", "status", Column("source", isDetail: true),
                Column("pid", isDetail: true),
            ], empty: "Nothing is in use.", json: rows.map(\.record)
        ) { row in
            [
                Cell(row.permission.rawValue), row.app.map { Cell($0, names) } ?? "(unknown)", Cell(row.deviceName),
                Cell(TimeText.short(row.since)), Cell(row.status.rawValue, row.status == .granted ? .good : .bad),
                Cell(row.source), Cell(row.pid == 0 ? "-" : String(row.pid)),
            ]
        }
    }
}
