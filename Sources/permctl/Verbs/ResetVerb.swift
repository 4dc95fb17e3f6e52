// permctl reset: forgets decisions, and lifts pauses.

import ArgumentParser
import DesktopServices
import Glibc
import PermissionClient

/// What is forgotten. A name may be of both: a portal asks, and remembers the answer itself.
struct ResetItem: ExpressibleByArgument {
    let item: PromptItem?
    let table: PortalTable?

    init?(argument: String) {
        (item, table) = (PromptItem(name: argument), PortalTable(rawValue: argument))
        if item == nil, table == nil { return nil }
    }

    static var allValueStrings: [String] { PromptItem.allValueStrings + PortalTable.allCases.map(\.rawValue) }
}

struct ResetVerb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset", abstract: "Forget decisions and lift pauses; later requests prompt again.",
        discussion: """
            Name an app, a permission or both; --all forgets everything. What portals remember, which permctl status --all \
            shows, is forgotten only by its name, such as screencast. Prints what was forgotten.
            """)

    @Argument(help: "The app; or a permission, for every app.", completion: Completions.appsAndPermissions)
    var app: AppName?
    @Argument(help: "The permission; all of them by default.")
    var permission: ResetItem?
    @Flag(help: "Everything, of every app; asks first on a terminal.")
    var all = false
    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        if all, app != nil { throw ValidationError("--all cannot be combined with an app or a permission") }
        if !all, app == nil { throw ValidationError("name an app or a permission, or use --all") }
    }

    func run() async throws {
        let settings = PermissionSettings()
        var (app, what) = (app, permission)
        if what == nil, let name = app?.text, let named = ResetItem(argument: name) { (app, what) = (nil, named) }
        let portalRows = try await forgetPortalRows(what?.table, of: app, settings)
        var (rows, removed): ([DecisionRow], Int) = ([], 0)
        if what == nil || what?.item != nil {
            do {
                (rows, removed) = try await forgetDecisions(of: app, what?.item, settings)
            } catch is Failure where !portalRows.isEmpty {
                // A portal may know an app that permd does not.
            }
        }
        if json {
            try Output.json(
                rows.map { Encoded(value: DecisionRecord($0)) } + portalRows.map { Encoded(value: $0.record) })
        } else {
            say(rows, removed)
            for row in portalRows {
                say(row.table.rawValue, row.appID.isEmpty ? "programs without an ID" : row.appID, row.verdict)
            }
        }
        if rows.isEmpty, portalRows.isEmpty { throw Failure(.no, json ? "" : "there was nothing to forget") }
    }

    private func forgetDecisions(
        of app: AppName?, _ item: PromptItem?, _ settings: PermissionSettings
    ) async throws -> ([DecisionRow], Int) {
        let chosen = try await app?.resolve(settings)
        let rows = try await settings.decisions(app: chosen?.description, item: item)
        if all, !rows.isEmpty { try confirm(rows.count) }
        return (rows, try await settings.reset(app: chosen?.description, item: item))
    }

    /// The app is named as the portal knows it, or as everywhere else.
    private func forgetPortalRows(
        _ table: PortalTable?, of app: AppName?, _ settings: PermissionSettings
    ) async throws -> [PortalRow] {
        guard let table else { return [] }
        var rows = try await settings.portalRows().filter { $0.table == table }
        if let app {
            let named = rows.filter { $0.appID == app.text }
            let chosen = named.isEmpty ? try? await app.resolve(settings) : nil
            rows = chosen.map { chosen in rows.filter { $0.app == chosen } } ?? named
        }
        for row in rows { try await settings.forget(row) }
        return rows
    }

    private func say(_ rows: [DecisionRow], _ removed: Int) {
        for row in rows {
            switch row.decision {
            case .pause: Output.line("lifted the pause on \(row.item.name) for \(row.app)")
            case .grant: say(row.item.name, "\(row.app)", .grant)
            case .deny: say(row.item.name, "\(row.app)", .deny)
            case .unknown: Output.line("forgot \(row.item.name) for \(row.app)")
            }
        }
        let shown = rows.filter { $0.decision != .pause }.count
        // Decisions may have been made, or have ended, since they were listed.
        if removed != shown { Output.line("decisions forgotten in total: \(removed)") }
    }

    private func say(_ what: String, _ app: String, _ verdict: Verdict) {
        Output.line("forgot \(what) for \(app) (\(verdict == .grant ? "granted" : "denied"))")
    }

    /// Asks for confirmation if stdin is a terminal; scripts are not asked.
    private func confirm(_ count: Int) throws {
        guard isatty(STDIN_FILENO) == 1 else { return }
        let what = count == 1 ? "the only decision" : "all \(count) decisions"
        Output.ask("Forget \(what) of every app? [y/N] ")
        let answer = readLine()?.lowercased() ?? ""
        guard ["y", "yes"].contains(answer) else { throw Failure(.no, "nothing was forgotten") }
    }
}
