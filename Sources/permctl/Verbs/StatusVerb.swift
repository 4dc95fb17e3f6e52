// permctl status: prints the table of apps and permissions, or one app in detail.

import ArgumentParser
import DesktopServices
import PermissionClient

struct StatusVerb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show what apps may use, and for how long.",
        discussion: "permctl reset forgets what portals remember, too: permctl reset APP screencast.")

    @Argument(help: "Show only this app, with the reason and the end of each decision.", completion: Completions.apps)
    var app: AppName?
    @Flag(help: "Also what portals remember: who may record or control the screen, run in the background and the like.")
    var all = false
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let settings = PermissionSettings()
        let app = try await app?.resolve(settings)
        let rows = try await settings.statuses(app: app?.description)
        let off = Set(try await settings.switches().filter { !$0.value }.keys)
        let remembered = all ? try await settings.portalRows().filter { row in app == nil || row.app == app } : []
        if let app {
            try printOne(rows, off, remembered, used: try await StatusVerb.lastUses(app, settings))
        } else {
            try printAll(rows, off, remembered, try await output.shortNames(settings))
        }
        guard !output.json, !remembered.isEmpty else { return }
        if !output.noLegend { Output.line("\nWhat portals remember:") }
        try output.list(
            remembered, ["app", "what", "status", Column("entry", usual: "-")], empty: "", json: [Record]()
        ) {
            [
                Cell($0.appID.isEmpty ? "(programs without an ID)" : $0.appID), Cell($0.table.rawValue),
                $0.verdict == .grant ? Cell("granted", .good) : Cell("denied", .bad),
                Cell($0.entry == $0.table.rawValue ? "-" : $0.entry),
            ]
        }
    }

    private func printAll(
        _ rows: [StatusRow], _ off: Set<Permission>, _ remembered: [PortalRow], _ names: ShortNames?
    ) throws {
        let apps = Dictionary(grouping: rows, by: \.app).sorted { $0.key < $1.key }
        let columns = ["app"] + Permission.allCases.map { Column($0.rawValue) }
        let records = rows.map { $0.record() } + remembered.map(\.record)
        try output.list(apps, columns, empty: "Nothing was decided yet.", json: records) { app, row in
            [Cell(app, names)]
                + Permission.allCases.map { permission in StatusVerb.cell(row.first { $0.permission == permission }) }
        }
        guard !output.json else { return }
        for permission in Permission.allCases where off.contains(permission) {
            Output.line("\(permission.rawValue) \(OffVerb.isOff(permission))")
        }
    }

    /// When the app last used each permission; now, while it does.
    private static func lastUses(
        _ app: AppID, _ settings: PermissionSettings
    ) async throws -> [Permission: (time: EpochSeconds, isNow: Bool)] {
        var uses: [Permission: (EpochSeconds, Bool)] = [:]
        for permission in Permission.allCases {
            let last = try await settings.history(
                app: app.description, item: .permission(permission), outcome: .used, limit: 1)
            if let row = last.first { uses[permission] = (row.time, false) }
        }
        for use in try await settings.uses() where use.app == app { uses[use.permission] = (TimeText.now(), true) }
        return uses
    }

    private func printOne(
        _ rows: [StatusRow], _ off: Set<Permission>, _ remembered: [PortalRow],
        used: [Permission: (time: EpochSeconds, isNow: Bool)]
    ) throws {
        let columns =
            ["permission", "status"]
            + ["holds", "decided", "by", "last used", "why"].map { Column($0, usual: "-") }
        let records = rows.map { $0.record(used: used[$0.permission]?.time) } + remembered.map(\.record)
        try output.list(rows, columns, empty: "", json: records) { row in
            [
                Cell(row.permission.rawValue), StatusVerb.status(row), Cell(StatusVerb.end(row.decision)),
                Cell(row.decision.map { TimeText.short($0.decided) } ?? "-"), Cell(StatusVerb.author(row)),
                Cell(used[row.permission].map { $0.isNow ? "now" : TimeText.short($0.time) } ?? "-"),
                Cell(StatusVerb.reason(row, isOff: off.contains(row.permission))),
            ]
        }
    }

    /// The decision and its end. A missing device is mentioned only next to a grant: it is not a decision, and it is
    /// the same for every app.
    private static func cell(_ row: StatusRow?) -> Cell {
        guard let row else { return "-" }
        if row.status == .restricted { return status(row) }
        guard let decision = row.decision else {
            return row.rule == nil ? Cell("-", .faint) : Cell("granted, by rule", .good)
        }
        switch decision.decision {
        case .pause: return Cell("paused \(end(decision))", .waiting)
        case .deny: return Cell(decided("denied", decision), .bad)
        case .grant where row.status == .unavailable:
            return Cell(decided("granted", decision) + " (no device)", .waiting)
        case .grant: return Cell(decided("granted", decision), .good)
        case .unknown: return Cell(decided("unknown", decision), .waiting)
        }
    }

    private static func decided(_ word: String, _ decision: DecisionRow) -> String {
        decision.duration == .always ? word : "\(word), \(end(decision))"
    }

    /// The status; `paused` where the dismissal throttle answers requests without a prompt.
    private static func status(_ row: StatusRow) -> Cell {
        if row.decision?.decision == .pause, row.status == .undetermined { return Cell("paused", .waiting) }
        return switch row.status {
        case .granted: Cell("granted", .good)
        case .denied, .restricted: Cell(row.status.rawValue, .bad)
        case .unavailable: Cell("unavailable", .waiting)
        case .undetermined: Cell("undetermined", .faint)
        }
    }

    private static func end(_ decision: DecisionRow?) -> String { decision?.holds?.text ?? "-" }

    private static func author(_ row: StatusRow) -> String {
        if row.status == .restricted || row.decision == nil && row.rule != nil { return "administrator" }
        return row.decision?.by.rawValue ?? "-"
    }

    private static func reason(_ row: StatusRow, isOff: Bool) -> String {
        if isOff, row.status == .denied { return "off for every app" }
        if let rule = row.rule { return "rule \(rule)" }
        if row.decision?.decision == .pause {
            return "dismissed or not answered too often: no prompt is shown until then; permctl reset lifts the pause"
        }
        switch row.status {
        case .unavailable where row.decision?.decision == .grant: return "granted, but \(row.problem)"
        case .unavailable: return row.problem
        case .undetermined: return "no prompt was shown, or none was answered"
        default: return row.decision?.duration == .once ? "only for the process that asked" : ""
        }
    }
}

extension DecisionRow {
    var holds: Duration? { duration.flatMap { Duration($0, until: until ?? 0) } }
}
