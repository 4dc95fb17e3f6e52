// permctl reset: forgets decisions, and lifts pauses.

import ArgumentParser
import Glibc
import PermissionClient

struct ResetVerb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset", abstract: "Forget decisions and lift pauses; later requests prompt again.",
        discussion: "Name an app, a permission or both; --all forgets everything. Prints what was forgotten.")

    @Argument(help: "The app; or a permission, for every app.", completion: Completions.appsAndPermissions)
    var app: AppName?
    @Argument(help: "The permission; all of them by default.")
    var permission: PromptItem?
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
        var chosen: AppID?
        var item = permission
        if let app {
            if item == nil, let named = PromptItem(name: app.text) {
                item = named
            } else {
                chosen = try await app.resolve(settings)
            }
        }
        let rows = try await settings.decisions(app: chosen?.description, item: item)
        if all, !rows.isEmpty { try confirm(rows.count) }
        let removed = try await settings.reset(app: chosen?.description, item: item)
        if json { try Output.json(rows.map(DecisionRecord.init)) } else { say(rows, removed) }
        if rows.isEmpty { throw Failure(.no, json ? "" : "there was nothing to forget") }
    }

    private func say(_ rows: [DecisionRow], _ removed: Int) {
        for row in rows {
            let what = row.decision == .pause ? "lifted the pause on" : "forgot"
            let verdict =
                switch row.decision {
                case .grant: " (granted)"
                case .deny: " (denied)"
                case .pause, .unknown: ""
                }
            Output.line("\(what) \(row.item.name) for \(row.app)\(verdict)")
        }
        let shown = rows.filter { $0.decision != .pause }.count
        // Decisions may have been made, or have ended, since they were listed.
        if removed != shown { Output.line("decisions forgotten in total: \(removed)") }
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
