// permctl queue, devices, restrictions and history: the verbs that only print lists. An empty list is a success, unless
// the command line says which rows it should have.

import ArgumentParser
import PermissionClient

struct QueueVerb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queue", abstract: "List the waiting requests, in the order of the queue.")

    @OptionGroup var output: OutputOptions

    func run() async throws {
        let settings = PermissionSettings()
        let rows = try await settings.requests()
        let names = try await output.shortNames(settings)
        try output.list(
            rows, ["position", "state", "app", "permissions", "since"], empty: "No requests are waiting.",
            json: rows.map(\.record)
        ) { row in
            [
                Cell(String(row.position)), Cell(row.state, row.isShowing ? .good : nil), Cell(row.app, names),
                Cell(row.items.map(\.name).joined(separator: ", ")), Cell(TimeText.short(row.since)),
            ]
        }
    }
}

struct DevicesVerb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices",
        abstract: "List the devices behind the permissions, and what keeps any from being of use.")

    @Argument(help: "Only the devices of this permission; all by default.")
    var permission: Permission?
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let rows = try await PermissionSettings().devices(of: permission)
        try output.list(
            rows,
            [
                "permission", "name", Column("node", usual: "-"), "usable", Column("id", isDetail: true),
                Column("problem", usual: "-"),
            ],
            empty: permission.map { "No \($0.rawValue) device was found." } ?? "No device was found.",
            isChosen: permission != nil, json: rows.map(\.record)
        ) { row in
            [
                Cell(row.permission.rawValue), Cell(row.name), Cell(row.node.isEmpty ? "-" : row.node),
                row.isUsable ? Cell("yes", .good) : Cell("no", .bad), Cell(row.id), Cell(row.problem),
            ]
        }
    }
}

struct RestrictionsVerb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restrictions", abstract: "List the administrator's rules, including those that grant.")

    @OptionGroup var output: OutputOptions

    func run() async throws {
        let rows = try await PermissionSettings().restrictions()
        try output.list(
            rows, ["action", "permissions", "apps", "rule", "file"], empty: "There are no rules.",
            json: rows.map(\.record)
        ) { row in
            [
                Cell(row.action.rawValue, row.action == .restrict ? .bad : .good),
                Cell(row.permissions.map(\.rawValue).joined(separator: " ")), Cell(row.apps), Cell(row.rule),
                Cell("\(row.file):\(row.line)"),
            ]
        }
    }
}

struct HistoryVerb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history", abstract: "List past requests and decisions with their outcomes, newest first.")

    @Option(parsing: .unconditional, help: "Only this app.", completion: Completions.apps)
    var app: AppName?
    @Option(parsing: .unconditional, help: "Of one permission.")
    var permission: PromptItem?
    @Option(parsing: .unconditional, help: "With this outcome.")
    var outcome: Outcome?
    @Option(
        parsing: .unconditional, help: ArgumentHelp("Since then: 2d, 18:00, 2026-12-24.", valueName: "time"),
        completion: Completions.starts)
    var since: String?
    @Option(parsing: .unconditional, help: ArgumentHelp("At most this many rows.", valueName: "number"))
    var limit: Int?
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if let since, TimeText.past(since) == nil {
            throw ValidationError("“\(since)” is not a time; use a form such as 2d, 18:00 or 2026-12-24")
        }
        if let limit, limit < 1 { throw ValidationError("--limit must be at least 1") }
    }

    func run() async throws {
        let settings = PermissionSettings()
        let app = try await app?.resolve(settings)
        let rows = try await settings.history(
            app: app?.description, item: permission, outcome: outcome,
            since: since.flatMap { TimeText.past($0) }, limit: limit ?? 0)
        let isFiltered = app != nil || permission != nil || outcome != nil || since != nil
        let names = try await output.shortNames(settings)
        try output.list(
            rows,
            [
                "time", "app", "permission", "outcome", Column("by", isDetail: true, usual: "-"),
                Column("count", usual: "1"), Column("details", usual: "-"),
            ],
            empty: isFiltered ? "The history has no such entries." : "The history is empty.", isChosen: isFiltered,
            json: rows.map(\.record)
        ) { row in
            [
                Cell(TimeText.full(row.time), brief: TimeText.short(row.time, withSeconds: true)),
                row.app.map { Cell($0, names) } ?? Cell("every app", .faint),
                Cell(row.item.name), Cell(row.outcome.rawValue, HistoryVerb.colour(row.outcome)),
                Cell(row.by == .nobody ? "-" : row.by.rawValue), Cell(String(row.count)),
                Cell(HistoryVerb.details(row)),
            ]
        }
    }

    private static func colour(_ outcome: Outcome) -> Colour {
        switch outcome {
        case .granted, .on: .good
        case .denied, .restricted, .failed, .bypassed, .off: .bad
        case .dismissed, .unavailable, .withdrawn, .reset, .used, .unknown: .waiting
        }
    }

    /// How long a use lasted, and the app's status when it began.
    private static func details(_ row: HistoryRow) -> String {
        [row.seconds.map { TimeText.span(Int64($0)) }, row.status?.rawValue].compactMap { $0 }.joined(separator: ", ")
    }
}
