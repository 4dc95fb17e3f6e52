// permctl summary: what apps used in the last days.

import ArgumentParser
import PermissionClient

struct SummaryVerb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "summary", abstract: "Show what apps used in the last seven days.",
        discussion: "By app and permission; what was used without a grant comes first. From the history.")

    /// The history has no more days by default.
    private static let mostDays = 90

    @Option(parsing: .unconditional, help: ArgumentHelp("Of so many days, today included.", valueName: "number"))
    var days = 7
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard (1...SummaryVerb.mostDays).contains(days) else {
            throw ValidationError("--days must be from 1 to \(SummaryVerb.mostDays)")
        }
    }

    func run() async throws {
        let settings = PermissionSettings()
        let rows = try await settings.summary(days: days, now: TimeText.now())
        let statuses = Dictionary(
            try await settings.statuses().map { (AppPermission(app: $0.app, permission: $0.permission), $0) }
        ) { $1 }
        let names = try await output.shortNames(settings)
        try output.list(
            rows,
            [
                "app", "permission", "uses", "time", "last", Column("without a grant", usual: "-"),
                Column("decided", isDetail: true, usual: "-"),
            ],
            empty: days == 1 ? "Nothing was used today." : "Nothing was used in the last \(days) days.",
            json: rows.map { $0.record(statuses[$0.key]) }
        ) { row in
            [
                Cell(row.key.app, names), Cell(row.key.permission.rawValue), Cell(String(row.count)),
                Cell(TimeText.span(row.seconds)), SummaryVerb.last(row), SummaryVerb.ungranted(row),
                Cell(SummaryVerb.decided(statuses[row.key])),
            ]
        }
    }

    private static func last(_ row: UseSummary) -> Cell {
        row.isInUse ? Cell("now", .good) : Cell(TimeText.short(row.last))
    }

    private static func ungranted(_ row: UseSummary) -> Cell {
        row.ungranted == 0 ? "-" : Cell(String(row.ungranted), .bad)
    }

    /// What was decided, and when; nobody was asked about the rest.
    private static func decided(_ row: StatusRow?) -> String {
        if let decision = row?.decision, decision.decision != .pause {
            return "\(decision.decision == .grant ? "granted" : "denied") \(TimeText.short(decision.decided))"
        }
        return row?.rule != nil ? "by rule" : "-"
    }
}

extension UseSummary {
    /// - Parameter status: If there is a decision or a rule.
    fileprivate func record(_ status: StatusRow?) -> Record {
        [
            "app": key.app.description, "permission": key.permission.rawValue, "count": count, "seconds": seconds,
            "last": last, "in_use": isInUse, "ungranted": ungranted, "days": days,
            "status": status?.status.rawValue, "decided": status?.decision?.decided,
            "by": status?.decision?.by.rawValue,
        ]
    }
}
